"""Who may talk to the bot, and how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from bot.settings.group import Group
from bot.settings.values import UserIds


def _access(known: Mapping[str, object]) -> Literal["open", "list"]:
    return "list" if known.get("allowed_user_ids") else "open"


class AccessSettings(Group):
    """The people who are let in, and what each of them may use."""

    allowed_user_ids: UserIds = Field(
        frozenset(), description="Telegram user ids that may talk when `ACCESS` is list"
    )
    admin_user_ids: UserIds = Field(
        frozenset(), description="Telegram user ids of the bot's admins, who may talk, too"
    )
    access: Literal["open", "list"] = Field(
        default_factory=_access,
        description="Who may talk; unset: list where `ALLOWED_USER_IDS` is set, else open",
    )
    messages_per_minute: int = Field(
        20,
        ge=1,
        le=10_000,
        description="Messages a minute that each person may send, and twice that at once;"
        " commands, presses and edits count a quarter",
    )
    daily_token_budget: int | None = Field(
        None,
        ge=0,
        le=10**12,
        description="Tokens that each person may use in a day (UTC); 0 = none, unset = no limit",
    )

    @field_validator("access")
    @classmethod
    def _list_names_somebody(cls, value: str, known: ValidationInfo) -> str:
        ids = ("allowed_user_ids", "admin_user_ids")
        if value == "list" and not any(known.data.get(name, True) for name in ids):
            raise ValueError(
                "is list, but neither ALLOWED_USER_IDS nor ADMIN_USER_IDS names anybody"
            )
        return value
