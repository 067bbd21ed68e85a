"""Every setting of the bot, read once from the environment: its type, default, bounds and
meaning.

`Settings.read` reports all problems at once, one line each, and no line repeats a value: a secret
pasted into the wrong variable stays out of the log too. A variable that is empty counts as unset.
Whatever is zero here means none or is refused; nothing ever means unlimited. A rule over several
variables stands at the last of them, where pydantic has the others at hand, and is left out when
one of those is wrong already.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self
from urllib.parse import unquote_plus, urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from bot.errors import SettingsError
from bot.settings.mcp import McpServers
from bot.settings.personas import Personas
from bot.settings.values import (
    SHARED_IDS,
    Address,
    DatabaseName,
    IpAddress,
    Level,
    ModelName,
    ModelNames,
    MongoUri,
    TextFile,
    Token,
    UserIds,
    WebhookSecret,
    WebhookUrl,
)
from bot.settings.wording import line, listed

__all__ = ["SHARED_IDS", "Settings"]

ANTHROPIC_URL = "https://api.anthropic.com"
TELEGRAM_URL = "https://api.telegram.org"

FIXED_PROMPT_TOKENS = 3000
SUMMARY_TOKENS = 900
AVERAGE_MESSAGE_TOKENS = 140

_PLACEHOLDER = "put-your-"
_UNASKED = "default_factory_not_called"
"""Pydantic's remark on a computed default that it left out because something else was wrong."""

LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - where Telegram, or its proxy, has to come in

_DAY = 86_400
_YEAR = 365 * _DAY
_PASSWORD = re.compile(r"://[^/@]*?:(?P<password>.*)@")


def _access(known: Mapping[str, Any]) -> Literal["open", "list"]:
    return "list" if known.get("allowed_user_ids") else "open"


def _host(known: Mapping[str, Any]) -> str:
    return EVERYWHERE if known.get("webhook_url") else LOOPBACK


class Settings(BaseModel):
    """The settings of one process. Each field is named like its variable, in lower case."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="ignore", validate_default=True
    )

    telegram_bot_token: Token = Field(description="The bot's token from @BotFather")
    telegram_api_url: Address = Field(TELEGRAM_URL, description="Root of the Bot API")
    anthropic_base_url: Address = Field(
        ANTHROPIC_URL, description="Root of a server that speaks `/v1/messages`"
    )
    anthropic_api_key: SecretStr | None = Field(
        None,
        description="Key of the model's provider; optional when `ANTHROPIC_BASE_URL` names "
        "another host",
    )
    anthropic_credential: Literal["bearer", "x-api-key"] = Field(
        "bearer",
        description="The header that carries the key, for a gateway that reads the other one",
    )
    model: ModelName = Field("claude-sonnet-5-5", description="The model that answers")
    models: ModelNames = Field(
        (), description="Further models that people may choose with /model, by commas"
    )
    summary_model: ModelName = Field(
        "claude-haiku-5-5", description="The model that writes summaries"
    )
    max_tokens: int = Field(
        4096, ge=1, le=128_000, description="Longest answer of one model call, in tokens"
    )
    thinking: Literal["auto", "adaptive", "between_tools", "disabled"] = Field(
        "auto", description="When the model that answers thinks first; auto: as it does by itself"
    )
    effort: Literal["auto", "low", "medium", "high", "xhigh", "max"] = Field(
        "auto", description="How hard the model that answers tries; auto: as it does by itself"
    )
    prompt_cache: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Marks for the provider's prompt cache; auto: where the host is Anthropic's "
        "own",
    )
    web_search: Literal["off", "on"] = Field(
        "off",
        description="Let the provider search and read the web, where it has the tools for it; it "
        "bills them",
    )
    mcp_servers: McpServers = Field(
        (),
        description="MCP servers that the provider asks for people, as a JSON list "
        "(`deploy/TOOLS.md`)",
    )
    transcribe_url: Address | None = Field(
        None,
        description="Root of a server that speaks `/v1/audio/transcriptions`; unset: voice "
        "messages are not heard",
    )
    transcribe_key: SecretStr | None = Field(
        None, description="Key of that server, where it wants one"
    )
    transcribe_model: ModelName = Field(
        "whisper-1", description="The model that writes down what is spoken"
    )
    transcribe_tokens_per_minute: int = Field(
        1000,
        ge=0,
        le=10**9,
        description="Tokens that a begun minute of a recording counts in `DAILY_TOKEN_BUDGET`",
    )
    system_prompt_file: TextFile | None = Field(
        None, description="A text file that replaces the built-in system prompt"
    )

    personas_file: Personas = Field(
        default_factory=dict,
        description="A TOML file of roles that people may choose with /persona",
    )

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

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """The settings in `environ`.

        Raises SettingsError with a line for every missing or wrong value.
        """
        given = {name: environ.get(name.upper(), "").strip() for name in cls.model_fields}
        try:
            return cls.model_validate({name: value for name, value in given.items() if value})
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
        # Outside the except block: pydantic's text, which may quote a value, must not follow as the
        # cause.
        raise SettingsError(
            "\n".join(
                dict.fromkeys(
                    line(cls, problem) for problem in problems if problem["type"] != _UNASKED
                )
            )
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that must never be printed, in each form in which a vendor might print it."""
        token, uri = self.telegram_bot_token.get_secret_value(), self.mongodb_uri.get_secret_value()
        found = _PASSWORD.search(uri)
        password = found["password"] if found else ""
        key = self.anthropic_api_key.get_secret_value() if self.anthropic_api_key else ""
        hook = self.webhook_secret.get_secret_value() if self.webhook_secret else ""
        asked = (secret for server in self.mcp_servers for secret in server.secrets)
        ears = self.transcribe_key.get_secret_value() if self.transcribe_key else ""
        forms = (
            token,
            token.partition(":")[2],
            key,
            uri,
            password,
            unquote_plus(password),
            hook,
            ears,
            *asked,
        )
        return tuple(dict.fromkeys(form for form in forms if form))

    @field_validator("*", mode="before")
    @classmethod
    def _no_placeholder(cls, value: object) -> object:
        if isinstance(value, str) and _PLACEHOLDER in value:
            raise ValueError("still holds the placeholder of .env.example")
        return value

    @field_validator("anthropic_api_key")
    @classmethod
    def _a_key_where_one_is_asked(
        cls, value: SecretStr | None, known: ValidationInfo
    ) -> SecretStr | None:
        host = urlsplit(known.data.get("anthropic_base_url", "")).hostname
        if value is None and host == urlsplit(ANTHROPIC_URL).hostname:
            raise ValueError(f"is not set, and {host} wants a key")
        return value

    @field_validator("mcp_servers")
    @classmethod
    def _a_provider_that_asks_them(cls, value: McpServers, known: ValidationInfo) -> McpServers:
        host = urlsplit(known.data.get("anthropic_base_url", ANTHROPIC_URL)).hostname
        if (
            value
            and host != urlsplit(ANTHROPIC_URL).hostname
            and known.data.get("prompt_cache") != "on"
        ):
            raise ValueError(
                "is set, but ANTHROPIC_BASE_URL names a host that is not known to ask MCP "
                "servers; where it passes"
                " requests on to Anthropic, say so by PROMPT_CACHE=on"
            )
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _a_secret_where_there_is_a_webhook(
        cls, value: SecretStr | None, known: ValidationInfo
    ) -> SecretStr | None:
        if value is None and known.data.get("webhook_url") is not None:
            raise ValueError("is not set, and WEBHOOK_URL is: anybody could send updates")
        return value

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

    @field_validator("access")
    @classmethod
    def _list_names_somebody(cls, value: str, known: ValidationInfo) -> str:
        ids = ("allowed_user_ids", "admin_user_ids")
        if value == "list" and not any(known.data.get(name, True) for name in ids):
            raise ValueError(
                "is list, but neither ALLOWED_USER_IDS nor ADMIN_USER_IDS names anybody"
            )
        return value
