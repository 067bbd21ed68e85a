"""The commands in one table: what each name runs, and what each command needs.

`/help`, the menu that Telegram shows and the receiver's notion of what cancels come from `names`. A
command confirms only what it has done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from bot.agent.preferences import PreferenceOptions
from bot.budget import TokenBudget
from bot.compaction import Compactor
from bot.lifecycle import Lifecycle
from bot.owner import Lane
from bot.ports import Corrections, CountTokens, Dialogues
from bot.session import Lifetime
from bot.telegram.commands.context import show_context
from bot.telegram.commands.help import show_help
from bot.telegram.commands.invocation import Command
from bot.telegram.commands.new import new
from bot.telegram.commands.plan import show_plan
from bot.telegram.commands.preferences import show_menu
from bot.telegram.commands.reset import reset
from bot.telegram.commands.sessions import show_sessions
from bot.telegram.commands.start import start
from bot.telegram.commands.stop import stop
from bot.telegram.commands.usage import show_usage
from bot.telegram.commands.visible_dialogues import VisibleDialogues
from bot.telegram.commands.visible_sessions import VisibleSessions


@dataclass(frozen=True, slots=True)
class CommandDependencies:
    """What the tables of commands and callbacks are built from."""

    lifecycle: Lifecycle
    choices: PreferenceOptions
    lifetime: Lifetime
    try_again: Callable[[Lane, int], Awaitable[bool]]
    """Queues a failed turn of this lane once more; False where there is no such turn."""
    compactor: Compactor
    corrections: Corrections
    own_dialogues: Dialogues
    token_budget: TokenBudget
    count: CountTokens

    @property
    def sessions(self) -> VisibleSessions:
        """The Sessions that may be shown."""
        return VisibleSessions(self.lifecycle.sessions, self.lifetime, self.lifecycle.clock)

    @property
    def dialogues(self) -> VisibleDialogues:
        """The dialogues that may be listed, opened, renamed and erased."""
        steps = self.lifecycle
        return VisibleDialogues(self.own_dialogues, steps.archive, self.lifetime, steps.clock)


def commands(parts: CommandDependencies) -> Mapping[str, Command]:
    """What to run, by the name of each command."""
    return {
        "start": partial(start, parts.lifetime),
        "help": show_help,
        "model": partial(show_menu, "model", parts.choices),
        "persona": partial(show_menu, "persona", parts.choices),
        "plan": partial(show_plan, parts.sessions),
        "new": partial(new, parts.lifecycle, parts.sessions),
        "reset": partial(reset, parts.lifecycle),
        "stop": stop,
        "sessions": partial(show_sessions, parts.dialogues),
        "context": partial(show_context, parts.sessions, parts.compactor),
        "usage": partial(show_usage, parts.sessions, parts.token_budget),
    }
