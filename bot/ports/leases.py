"""What only one process may do at a time."""

from __future__ import annotations

from typing import Protocol


class Lease(Protocol):
    """A lease that one process holds at a time."""

    async def take(self) -> bool:
        """Take or renew the lease; whether it is ours now."""

    async def drop(self) -> None:
        """Give the lease up."""
