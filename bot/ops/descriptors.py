"""Reads and raises the limit of files and connections that this process may have open."""

from __future__ import annotations

import sys
from contextlib import suppress

UNKNOWN_LIMIT = 1024
"""What is assumed where the system has no such limit, or none that it tells."""


def raise_file_limit() -> None:
    """Raise the soft limit to the hard one, as far as the system allows it."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - Windows has none

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(
            ValueError, OSError
        ):  # macOS refuses infinity, a container may refuse the call
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def file_limit() -> int:
    """Return how many files may be open at once."""
    if sys.platform == "win32":
        return UNKNOWN_LIMIT
    import resource  # noqa: PLC0415 - as above

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNKNOWN_LIMIT if soft == resource.RLIM_INFINITY else soft
