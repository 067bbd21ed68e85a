"""Every setting of the bot, read once from the environment: its type, default, bounds and meaning.

`Settings.read` reports all problems at once, one line each, and no line repeats a value: a secret pasted into the wrong
variable stays out of the log too. A variable that is empty counts as unset. Whatever is zero here means none or is
refused; nothing ever means unlimited. A rule over several variables stands at the last of them, where pydantic has the
others at hand, and is left out when one of those is wrong already.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import unquote_plus, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails

from bot.errors import SettingsError

ANTHROPIC_URL = "https://api.anthropic.com"
TELEGRAM_URL = "https://api.telegram.org"

SHARED_IDS = {1087968824: "anonymous group admins", 136817688: "channels", 777000: "linked channels"}
"""Senders that stand for many people at once; none of them may be let in or made an admin."""

FIXED_PROMPT_TOKENS = 3000
SUMMARY_TOKENS = 900
AVERAGE_MESSAGE_TOKENS = 140

_PLACEHOLDER = "put-your-"
_UNASKED = "default_factory_not_called"
"""Pydantic's remark on a computed default that it left out because something else was wrong."""

_DAY = 86_400
_YEAR = 365 * _DAY
_APPENDED = re.compile(r"/(bot[^/]*|file|v\d+|messages)$")
_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)
_PASSWORD = re.compile(r"://[^/@]*?:(?P<password>.*)@")
_MONGODB = re.compile(r"mongodb(\+srv)?://[^/\s]+", re.ASCII)


def _root(value: str) -> str:
    """The part of an address that the bot's clients append their paths to."""
    try:
        parts = urlsplit(value)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or re.search(r"\s", value):
        raise ValueError("must be an http:// or https:// address")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must be a plain address, without a user name, '?' or '#'")
    root = value.rstrip("/")
    if _APPENDED.search(root):
        raise ValueError("must be the root of the API: the bot appends the rest of the path itself")
    return root


def _telegram_token(value: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(value.get_secret_value()):
        raise ValueError("must look like digits:letters, as @BotFather gave it")
    return value


def _mongodb_uri(value: SecretStr) -> SecretStr:
    if not _MONGODB.match(value.get_secret_value()):
        raise ValueError("must begin with mongodb:// or mongodb+srv:// and name a host")
    return value


def _readable(path: Path) -> Path:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text.strip():
        raise ValueError("must name a file with text (UTF-8) that the bot can read")
    return path


def _user_ids(value: object) -> object:
    if not isinstance(value, str):
        return value
    words = value.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise ValueError("must be Telegram user ids (positive whole numbers), separated by commas")
    ids = frozenset(int(word) for word in words)
    for shared in sorted(ids & SHARED_IDS.keys()):
        raise ValueError(f"must not hold {shared}: Telegram uses it for all {SHARED_IDS[shared]}, not for one person")
    return ids


def _access(known: Mapping[str, Any]) -> Literal["open", "list"]:
    return "list" if known.get("allowed_user_ids") else "open"


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Address = Annotated[str, AfterValidator(_root)]
UserIds = Annotated[frozenset[int], BeforeValidator(_user_ids)]
ModelName = Annotated[str, StringConstraints(pattern=r"^\S+$")]
Level = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_upper)]


class Settings(BaseModel):
    """The settings of one process. Each field is named like its variable, in lower case."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore", validate_default=True)

    telegram_bot_token: Annotated[SecretStr, AfterValidator(_telegram_token)] = Field(
        description="The bot's token from @BotFather"
    )
    telegram_api_url: Address = Field(TELEGRAM_URL, description="Root of the Bot API")
    anthropic_base_url: Address = Field(ANTHROPIC_URL, description="Root of a server that speaks `/v1/messages`")
    anthropic_api_key: SecretStr | None = Field(
        None, description="Key of the model's provider; optional when `ANTHROPIC_BASE_URL` names another host"
    )
    model: ModelName = Field("claude-sonnet-5-5", description="The model that answers")
    summary_model: ModelName = Field("claude-haiku-5-5", description="The model that writes summaries")
    max_tokens: int = Field(4096, ge=1, le=128_000, description="Longest answer of one model call, in tokens")
    system_prompt_file: Annotated[Path, AfterValidator(_readable)] | None = Field(
        None, description="A text file that replaces the built-in system prompt"
    )

    mongodb_uri: Annotated[SecretStr, AfterValidator(_mongodb_uri)] = Field(description="Connection string of MongoDB")
    mongodb_database: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,63}$")] = Field(
        "bot", description="Name of the database: letters, digits, `_` and `-`"
    )
    mongodb_driver: Literal["motor", "pymongo"] = Field("motor", description="Motor, or PyMongo's own async driver")

    session_ttl_seconds: int = Field(1800, ge=1, le=_YEAR, description="Idle time after which a Session ends")
    session_resume_seconds: int = Field(
        604_800, ge=0, le=_YEAR, description="How long an ended Session is kept to be continued; 0 = not at all"
    )
    session_max_age_seconds: int = Field(2_592_000, ge=1, le=_YEAR, description="Greatest age of a Session")
    archive_days: int = Field(
        40, ge=1, le=3650, description="How long compacted messages are kept; at least age + idle + resume time"
    )
    context_trigger_tokens: int = Field(16_000, ge=1, le=1_000_000, description="Prompt size that starts compaction")
    context_trigger_messages: int = Field(40, ge=3, le=300, description="Number of messages that starts compaction")
    context_keep_messages: int = Field(12, ge=2, le=299, description="Latest messages that compaction leaves verbatim")

    allowed_user_ids: UserIds = Field(frozenset(), description="Telegram user ids that may talk when `ACCESS` is list")
    admin_user_ids: UserIds = Field(frozenset(), description="Telegram user ids of the bot's admins")
    access: Literal["open", "list"] = Field(
        default_factory=_access, description="Who may talk; unset: list where `ALLOWED_USER_IDS` is set, else open"
    )

    port: int = Field(8080, ge=0, le=65_535, description="Port of `/healthz` and `/readyz`; 0 = any free one")
    workers: int = Field(32, ge=1, le=1000, description="Turns that run side by side in one process")
    grace_seconds: int = Field(25, ge=0, le=600, description="Time that running turns get to finish at SIGTERM")
    turn_seconds: int = Field(120, ge=1, le=3600, description="Longest turn")
    tool_seconds: int = Field(20, ge=1, le=3600, description="Longest run of one tool")
    silence_seconds: int = Field(60, ge=1, le=3600, description="Longest silence of the model inside an answer")
    model_calls: int = Field(8, ge=1, le=100, description="Most model calls of one turn")
    tool_calls: int = Field(16, ge=1, le=1000, description="Most tool calls of one turn")
    log_level: Level = Field("INFO", description="Least level of the bot's own log lines")
    log_format: Literal["console", "json"] = Field("console", description="Lines for people, or one JSON object a line")

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """The settings in `environ`. Raises SettingsError with a line for every missing or wrong value."""
        given = {name: environ.get(name.upper(), "").strip() for name in cls.model_fields}
        try:
            return cls.model_validate({name: value for name, value in given.items() if value})
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
        # Outside the except block: pydantic's text, which may quote a value, must not follow as the cause.
        raise SettingsError(
            "\n".join(dict.fromkeys(_line(problem) for problem in problems if problem["type"] != _UNASKED))
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that must never be printed, in each form in which a vendor might print it."""
        token, uri = self.telegram_bot_token.get_secret_value(), self.mongodb_uri.get_secret_value()
        found = _PASSWORD.search(uri)
        password = found["password"] if found else ""
        key = self.anthropic_api_key.get_secret_value() if self.anthropic_api_key else ""
        forms = (token, token.partition(":")[2], key, uri, password, unquote_plus(password))
        return tuple(dict.fromkeys(form for form in forms if form))

    @field_validator("*", mode="before")
    @classmethod
    def _no_placeholder(cls, value: object) -> object:
        if isinstance(value, str) and _PLACEHOLDER in value:
            raise ValueError("still holds the placeholder of .env.example")
        return value

    @field_validator("anthropic_api_key")
    @classmethod
    def _a_key_where_one_is_asked(cls, value: SecretStr | None, known: ValidationInfo) -> SecretStr | None:
        host = urlsplit(known.data.get("anthropic_base_url", "")).hostname
        if value is None and host == urlsplit(ANTHROPIC_URL).hostname:
            raise ValueError(f"is not set, and {host} wants a key")
        return value

    @field_validator("archive_days")
    @classmethod
    def _archive_outlives_sessions(cls, value: int, known: ValidationInfo) -> int:
        names = ("session_max_age_seconds", "session_ttl_seconds", "session_resume_seconds")
        days = math.ceil(sum(known.data.get(name, 0) for name in names) / _DAY)
        if value < days:
            raise ValueError(f"must be at least {days}: {_listed(names)} together, or a living Session loses messages")
        return value

    @field_validator("context_keep_messages")
    @classmethod
    def _compaction_makes_room(cls, value: int, known: ValidationInfo) -> int:
        if value >= known.data.get("context_trigger_messages", math.inf):
            raise ValueError("must be less than CONTEXT_TRIGGER_MESSAGES, or compaction would never end")
        least = FIXED_PROMPT_TOKENS + SUMMARY_TOKENS + value * AVERAGE_MESSAGE_TOKENS
        if least > known.data.get("context_trigger_tokens", math.inf):
            raise ValueError(
                f"is too many, or CONTEXT_TRIGGER_TOKENS too few: the fixed prompt, a summary and {value} messages"
                f" take about {least} tokens, so every turn would compact again"
            )
        return value

    @field_validator("access")
    @classmethod
    def _list_names_somebody(cls, value: str, known: ValidationInfo) -> str:
        ids = ("allowed_user_ids", "admin_user_ids")
        if value == "list" and not any(known.data.get(name, True) for name in ids):
            raise ValueError("is list, but neither ALLOWED_USER_IDS nor ADMIN_USER_IDS names anybody")
        return value


def table() -> str:
    """The settings as a Markdown table, as README shows it."""
    rows = [f"| `{name.upper()}` | {_default(name)} | {_meaning(name)} |" for name in Settings.model_fields]
    return "\n".join(["| Variable | Default | Meaning |", "|---|---|---|", *rows])


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    if field.is_required():
        return "**required**"
    return f"`{field.default}`" if isinstance(field.default, str | int) else ""


def _meaning(name: str) -> str:
    bounds = _bounds(name)
    return f"{Settings.model_fields[name].description}{f' ({bounds})' if bounds else ''}"


def _bounds(name: str) -> str:
    """The values a variable accepts, where a list or a range says it."""
    schema = Settings.model_json_schema()["properties"][name]
    if "enum" in schema:
        *others, last = schema["enum"]
        return f"{', '.join(others)} or {last}".lower()
    return f"{schema['minimum']} to {schema['maximum']}" if "minimum" in schema else ""


def _listed(names: Iterable[str]) -> str:
    return " + ".join(name.upper() for name in names)


def _line(problem: ErrorDetails) -> str:
    """What is wrong with one variable, without its value."""
    name = str(problem["loc"][0])
    match problem["type"]:
        case "missing":
            what = f"is not set: {Settings.model_fields[name].description}"
        case "value_error":
            what = str(problem["ctx"]["error"])
        case _:
            what = f"must be {_expected(name)}"
    return f"{name.upper()} {what}"


def _expected(name: str) -> str:
    kind = Settings.model_json_schema()["properties"][name].get("type")
    bounds = _bounds(name)
    if kind == "integer":
        return f"a whole number, {bounds}"
    return bounds or f"spelt otherwise: {Settings.model_fields[name].description}"
