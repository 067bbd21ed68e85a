"""What calls of the model have used, as their provider bills it."""

from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider billed them, summed over calls, and the number of turns."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    turns: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt: what was read fresh, from the cache and into it."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def tokens(self) -> int:
        """Prompt and answer."""
        return self.prompt_tokens + self.output_tokens
