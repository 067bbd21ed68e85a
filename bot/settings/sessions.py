"""The database, how long a Session lives in it, and when it is compacted."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from bot.settings.group import Group
from bot.settings.values import DatabaseName, MongoUri
from bot.settings.wording import listed

FIXED_PROMPT_TOKENS = 3000
SUMMARY_TOKENS = 900
AVERAGE_MESSAGE_TOKENS = 140

_DAY = 86_400
_YEAR = 365 * _DAY


class SessionSettings(Group):
    """Where Sessions are kept, for how long, and how large they grow."""

    mongodb_uri: MongoUri = Field(description="Connection string of MongoDB")
    mongodb_database: DatabaseName = Field(
        "bot", description="Name of the database: letters, digits, `_` and `-`"
    )
    mongodb_driver: Literal["motor", "pymongo"] = Field(
        "motor", description="Motor, or PyMongo's own async driver"
    )
    session_ttl_seconds: int = Field(
        1800, ge=1, le=_YEAR, description="Idle time after which a Session ends"
    )
    session_resume_seconds: int = Field(
        604_800,
        ge=0,
        le=_YEAR,
        description="How long an ended Session is kept to be continued; 0 = not at all",
    )
    session_max_age_seconds: int = Field(
        2_592_000, ge=1, le=_YEAR, description="Greatest age of a Session"
    )
    archive_days: int = Field(
        40,
        ge=1,
        le=3650,
        description="How long compacted messages are kept; at least age + idle + resume time",
    )
    context_trigger_tokens: int = Field(
        16_000, ge=1, le=1_000_000, description="Prompt size that starts compaction"
    )
    context_trigger_messages: int = Field(
        40, ge=3, le=300, description="Number of messages that starts compaction"
    )
    context_keep_messages: int = Field(
        12, ge=2, le=299, description="Latest messages that compaction leaves verbatim"
    )
    compaction_notice: Literal["off", "on"] = Field(
        "off", description="One line after an answer that a summary was made"
    )

    topic_after_expiry: Literal["on", "off"] = Field(
        "on", description="After a Session ended by itself, tell the model what it was about"
    )

    @field_validator("archive_days")
    @classmethod
    def _archive_outlives_sessions(cls, value: int, known: ValidationInfo) -> int:
        names = ("session_max_age_seconds", "session_ttl_seconds", "session_resume_seconds")
        days = math.ceil(sum(known.data.get(name, 0) for name in names) / _DAY)
        if value < days:
            raise ValueError(
                f"must be at least {days}: {listed(names)} together, or a living Session loses "
                f"messages"
            )
        return value

    @field_validator("context_keep_messages")
    @classmethod
    def _compaction_makes_room(cls, value: int, known: ValidationInfo) -> int:
        if value >= known.data.get("context_trigger_messages", math.inf):
            raise ValueError(
                "must be less than CONTEXT_TRIGGER_MESSAGES, or compaction would never end"
            )
        minimum = FIXED_PROMPT_TOKENS + SUMMARY_TOKENS + value * AVERAGE_MESSAGE_TOKENS
        if minimum > known.data.get("context_trigger_tokens", math.inf):
            raise ValueError(
                f"is too many, or CONTEXT_TRIGGER_TOKENS too few: the fixed prompt, a summary "
                f"and {value} messages"
                f" take about {minimum} tokens, so every turn would compact again"
            )
        return value
