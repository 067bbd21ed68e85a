"""The servers this bot talks to, Telegram, the model's provider and the transcriber, and what it
asks them for.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from bot.settings.group import Group
from bot.settings.mcp import McpServers
from bot.settings.personas import Personas
from bot.settings.values import Address, ModelName, ModelNames, TextFile, Token

ANTHROPIC_URL = "https://api.anthropic.com"
TELEGRAM_URL = "https://api.telegram.org"


class ApiSettings(Group):
    """Addresses, keys, models, and what the models are told."""

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
