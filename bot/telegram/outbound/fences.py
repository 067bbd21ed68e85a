"""Fences of code as models write them: with words behind a closing one, or behind words."""

from __future__ import annotations

import re

_FENCE = re.compile(
    r"(?m)^(?P<indent>[ >]{0,12})(?P<fence>`{3,}|~{3,})(?P<rest>.*)$"
    r"|^(?P<words>[^`\n]*[^`\s])[ \t]*(?P<opening>```[\w+#.-]*)[ \t]*$"
)
_INFO = re.compile(r"[A-Za-z0-9_+#./-]*[A-Za-z0-9_+#]")
_ATTRIBUTES = re.compile(r"[={\"]")


def with_fences(text: str) -> str:
    """Give words beside a fence a line of their own."""
    return _FENCE.sub(_Fences(), text)


class _Fences:
    """Goes from fence to fence; inside code only its own closing one counts."""

    def __init__(self) -> None:
        self._open = ""

    def __call__(self, found: re.Match[str]) -> str:
        if found["fence"] is None:
            return self._open_behind_words(found)
        fence, rest = found["fence"], found["rest"]
        if not self._open:
            self._open = fence if "`" not in rest or fence[0] == "~" else ""
            return found[0]
        if not fence.startswith(self._open) or (rest.strip() and not _are_words(rest)):
            return found[0]
        self._open, indent = "", found["indent"]
        return f"{indent}{fence}\n{indent}{rest.strip()}" if rest.strip() else found[0]

    def _open_behind_words(self, found: re.Match[str]) -> str:
        if self._open:
            return found[0]
        self._open = "```"
        return f"{found['words']}\n{found['opening']}"


def _are_words(rest: str) -> bool:
    """Return whether this follows a closing fence, and does not name the language of another."""
    if "`" in rest or _ATTRIBUTES.search(rest):
        return False
    return " " in rest.rstrip() or not _INFO.fullmatch(rest.rstrip())
