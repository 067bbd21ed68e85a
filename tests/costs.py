"""What work costs beside half of it, in CPU time of the same run: a bound that no machine is too
slow for, and no neighbour decides.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

FLOOR_SECONDS = 0.05
"""Whatever takes less is taken for this much: below it noise decides."""
TRIES = 5
MAX_RATIO = 3.0
"""Twice the work takes twice as long, or four times where the cost is quadratic."""

Work = Callable[[], object]


def cost(work: Work) -> float:
    """CPU seconds of this thread, without the collector: what it costs grows with all that the
    tests before have left, not with the work.
    """
    gc.collect()
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return max(time.thread_time() - began, FLOOR_SECONDS)
    finally:
        gc.enable()


def assert_linear(half: Work, whole: Work) -> None:
    """Twice the work costs about twice as much: the best of a few tries, taken in turn."""
    halves, wholes = [], []
    for _ in range(TRIES):
        halves.append(cost(half))
        wholes.append(cost(whole))
        if min(wholes) <= MAX_RATIO * min(halves):
            return
    raise AssertionError(f"half of it takes {min(halves):.2f} s, all of it {min(wholes):.2f} s")
