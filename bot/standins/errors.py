"""The only error that a stand-in raises; it refuses clients over HTTP, as the real servers do."""

from __future__ import annotations


class StandInError(Exception):
    """A stand-in cannot start; the message is one sentence for the person who wanted it."""
