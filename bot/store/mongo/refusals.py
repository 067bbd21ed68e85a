"""What the server's error codes say about trying again: a table, so that no code is decided twice.

A code passes (the server was busy, full, or changed its primary), or it never does (the document,
or the command, is wrong). A code that stands in neither row may pass: it is tried a few times.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

TRIES_IF_PASSING = 12
"""With the pause of a lane between two of them, a minute."""
TRIES_IF_UNKNOWN = 3

UNSTORABLE = frozenset({15, 22, 52, 56, 57, 121, 10334, 17280, 17419, 17420})
"""What no document may be: nested too deep (15), broken (22), with a field name the server does not
take (52, 56, 57), not what its validator asks for (121), too large (the rest).
"""
_BUSY = {24, 50, 112, 146, 202, 251, 262, 290, 292, 365, 462, 11601}
"""Locks, time limits, write conflicts, memory, load."""
_MOVING = {6, 7, 43, 64, 70, 79, 89, 91, 100, 133, 134, 189, 237, 244, 246, 317, 358, 384}
_MOVED = {9001, 10058, 10107, 11600, 11602, 13388, 13435, 13436, 63, 150, 234}
"""Network, elections, shutdown, stale shards, lost cursors."""
_FULL = {8000, 14031}
"""A quota of the host of the database; a full disk."""
PASSING = frozenset(_BUSY | _MOVING | _MOVED | _FULL)
_WRONG = {2, 4, 9, 14, 16, 17, 20, 26, 27, 28, 40, 53, 54, 59, 66, 67, 72, 73, 85, 86, 115}
NEVER = frozenset(_WRONG)
"""A command, an option, a name or a type that is wrong, or that this server does not know."""


def tries_of(codes: AbstractSet[int | None]) -> int:
    """How often to try what was refused for these reasons; 0: never again."""
    if not codes or codes <= NEVER:
        return 0
    return TRIES_IF_PASSING if codes <= PASSING else TRIES_IF_UNKNOWN
