"""How long a person waits for answers."""

from __future__ import annotations

import statistics
from time import perf_counter


async def p95(town, person, questions):
    """Of the seconds that each of so many answers took, one question after the other."""
    taken = []
    for number in range(questions):
        begun = perf_counter()
        await town.ask(person, f"hello {number}")
        taken.append(perf_counter() - begun)
    return statistics.quantiles(taken, n=20)[-1]
