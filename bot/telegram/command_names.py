"""What the commands are called, and what the receiver must know of each.

It imports nothing of what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.texts import Language, text


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    `cancels`: it ends its lane's running turn and overtakes what waits before it. `aside`: it does
    not touch the Session and is answered at once, whatever runs.
    """

    name: str
    cancels: bool = False
    aside: bool = False

    def description(self, language: Language) -> str:
        """What the menu says of it."""
        return text(f"command_{self.name}", language)

    def help(self, language: Language) -> str:
        """Its line in `/help`."""
        return f"/{self.name} — {text(f'help_{self.name}', language)}"


_TABLE = (
    Command("start", aside=True),
    Command("help", aside=True),
    Command("model", aside=True),
    Command("persona", aside=True),
    Command("plan", aside=True),
    Command("new", cancels=True),
    Command("reset", cancels=True),
    Command("stop", cancels=True),
    Command("sessions", aside=True),
    Command("context", aside=True),
    Command("usage", aside=True),
)
COMMANDS = {command.name: command for command in _TABLE}
CANCELLING_PRESSES = frozenset({"open"})
"""The buttons that end their lane's running turn as `/new` does, by the name in their data.

The name alone decides, and it can end nothing but a turn of whoever pressed; what else the data
says is no authority.
"""
