"""How one process of the bot runs: how updates reach it, its ports, its workers and limits, its
log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from bot.settings.group import Group
from bot.settings.values import IpAddress, Level, WebhookSecret, WebhookUrl

LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - where Telegram, or its proxy, has to come in


def _host(known: Mapping[str, object]) -> str:
    return EVERYWHERE if known.get("webhook_url") else LOOPBACK


class ProcessSettings(Group):
    """Ports, workers, time limits, logs."""

    webhook_url: WebhookUrl | None = Field(
        None,
        description="Public https address under which Telegram delivers updates; unset: long "
        "polling",
    )
    webhook_secret: WebhookSecret | None = Field(
        None,
        description="Shared secret of the webhook: at least 32 letters, digits, `_` and `-`; "
        "required with "
        "`WEBHOOK_URL`",
    )
    host: IpAddress = Field(
        default_factory=_host,
        description="Address that `PORT` is opened on; unset: 127.0.0.1, or 0.0.0.0 where "
        "`WEBHOOK_URL` is set",
    )
    port: int = Field(
        8080,
        ge=0,
        le=65_535,
        description="Port of the webhook, `/healthz`, `/readyz` and `/metrics`; 0 = any free one",
    )
    metrics_host: IpAddress = Field(
        LOOPBACK, description="Address that `METRICS_PORT` is opened on"
    )
    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65_535,
        description="Port of `/metrics` alone; unset: it is on `PORT` beside the rest",
    )
    workers: int = Field(
        32, ge=1, le=1000, description="Turns that run side by side in one process"
    )
    owner_lanes: int = Field(
        4,
        ge=1,
        le=1000,
        description="Turns of one person that run side by side in one process, in several topics",
    )
    lease_seconds: int = Field(
        15, ge=3, le=300, description="How long a lane stays with a process that has died"
    )
    grace_seconds: int = Field(
        25, ge=0, le=600, description="Time that running turns get to finish at SIGTERM"
    )
    turn_seconds: int = Field(120, ge=1, le=3600, description="Longest turn")
    tool_seconds: int = Field(20, ge=1, le=3600, description="Longest run of one tool")
    silence_seconds: int = Field(
        60, ge=1, le=3600, description="Longest silence of the model inside an answer"
    )
    model_calls: int = Field(8, ge=1, le=100, description="Most model calls of one turn")
    tool_calls: int = Field(16, ge=1, le=1000, description="Most tool calls of one turn")
    log_level: Level = Field("INFO", description="Least level of the bot's own log lines")
    log_format: Literal["console", "json"] = Field(
        "console", description="Lines for people, or one JSON object a line"
    )

    @field_validator("webhook_secret")
    @classmethod
    def _a_secret_where_there_is_a_webhook(
        cls, value: SecretStr | None, known: ValidationInfo
    ) -> SecretStr | None:
        if value is None and known.data.get("webhook_url") is not None:
            raise ValueError("is not set, and WEBHOOK_URL is: anybody could send updates")
        return value
