"""Every setting of the bot, read once from the environment: its type, default, bounds and
meaning.

`Settings.read` reports all problems at once, one line each, and no line repeats a value: a secret
pasted into the wrong variable stays out of the log too. A variable that is empty counts as unset.
Whatever is zero here means none or is refused; nothing ever means unlimited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Self
from urllib.parse import unquote_plus

from pydantic import ValidationError

from bot.errors import SettingsError
from bot.settings.access import AccessSettings
from bot.settings.apis import ANTHROPIC_URL, ApiSettings
from bot.settings.process import ProcessSettings
from bot.settings.sessions import SessionSettings
from bot.settings.values import SHARED_IDS
from bot.settings.wording import line

__all__ = ["ANTHROPIC_URL", "SHARED_IDS", "Settings"]

_UNASKED = "default_factory_not_called"
"""Pydantic's remark on a computed default that it left out because something else was wrong."""
_PASSWORD = re.compile(r"://[^/@]*?:(?P<password>.*)@")


# Pydantic takes the fields of the last base first: README's table begins with the APIs.
class Settings(ProcessSettings, AccessSettings, SessionSettings, ApiSettings):
    """The settings of one process."""

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
        held = (
            self.telegram_bot_token,
            self.anthropic_api_key,
            self.mongodb_uri,
            self.webhook_secret,
            self.transcribe_key,
        )
        token = self.telegram_bot_token.get_secret_value()
        found = _PASSWORD.search(self.mongodb_uri.get_secret_value())
        password = found["password"] if found else ""
        forms = (
            *(secret.get_secret_value() for secret in held if secret is not None),
            *(secret for server in self.mcp_servers for secret in server.secrets),
            token.partition(":")[2],
            password,
            unquote_plus(password),
        )
        return tuple(dict.fromkeys(form for form in forms if form))
