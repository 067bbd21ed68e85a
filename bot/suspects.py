"""Which entry ends the processes that run it is told from what ran beside it.

The first deaths of an entry prove nothing: whatever else was running may have ended the process.
From then on it is a suspect. It runs only while no other suspect runs in its process, after growing
pauses, and in a process that has lived through such a pause without it; only a death then counts
against it. So a storm of kills from outside does not use its tries up, and what does break every
process is parked without holding up anybody else.
"""

from __future__ import annotations

from bot.ports import Claim

SHARED_TRIES = 2
"""Tries after which a death proves nothing."""
PAUSES = (1.0, 2.0, 6.0)
"""Leases that are waited before a suspect runs alone, by how often that has ended in a death."""
MAX_DEATHS_ALONE = len(PAUSES)
RETRY_SECONDS = 5.0
"""How long a suspect waits for another one that runs."""


def is_suspect(claim: Claim) -> bool:
    """Whether what stands first in the lane may be what ended its processes."""
    return claim.tries > SHARED_TRIES


def is_guilty(claim: Claim) -> bool:
    """Whether it is given up: it has ended every process that ran it alone."""
    return claim.deaths_alone >= MAX_DEATHS_ALONE


def pause_before(claim: Claim, *, lease_seconds: float, lived: float, is_free: bool) -> float:
    """Seconds until the lane's first entry may run in a process that has lived so long.

    `is_free`: no other suspect runs in it.
    """
    if not is_suspect(claim) or is_guilty(claim):
        return 0.0
    pause = PAUSES[claim.deaths_alone] * lease_seconds - (0.0 if claim.died else lived)
    return max(pause, 0.0 if is_free else RETRY_SECONDS)
