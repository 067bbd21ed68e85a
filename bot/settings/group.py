"""What all groups of settings have in common."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_validator

_PLACEHOLDER = "put-your-"


class Group(BaseModel):
    """Settings that belong together. Each field is named like its variable, in lower case.

    A rule over several variables stands at the last of them, where pydantic has the others at hand,
    and is left out when one of those is wrong already.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="ignore", validate_default=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_placeholder(cls, value: object) -> object:
        if isinstance(value, str) and _PLACEHOLDER in value:
            raise ValueError("still holds the placeholder of .env.example")
        return value
