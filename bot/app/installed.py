"""Tools that an operator has installed beside the bot: Python packages with entry points in the
group `bot.tools`.

Each names one Tool, which is held to the same rules as ours: it never learns from the model whose
words it works on. They run in the bot's own process with its rights, so installing one is as
trusting as changing the bot.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

from bot.agent.tools import Tool
from bot.errors import StartError

GROUP = "bot.tools"
_BROKEN = (ImportError, AttributeError, SyntaxError, NameError, TypeError, ValueError, OSError)


def installed_tools() -> Iterator[Tool]:
    """The tools found where the interpreter looks for packages.

    Raises StartError for one that cannot be had.
    """
    for point in entry_points(group=GROUP):
        yield _loaded(point)


def _loaded(point: EntryPoint) -> Tool:
    named = f"The tool {point.name!r} ({point.value})"
    try:
        tool = point.load()
    except _BROKEN as fault:
        raise StartError(f"{named} cannot be loaded: {type(fault).__name__}.") from fault
    if not isinstance(tool, Tool):
        raise StartError(f"{named} is no bot.agent.tools.Tool.")
    return tool
