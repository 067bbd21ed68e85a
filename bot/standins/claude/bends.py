"""What a broken stream keeps of a healthy one: the changes that faults make to its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from bot.standins.claude.answers import Json
from bot.standins.claude.stream import Event, Step, Wait, delta_places, event


def first_deltas(steps: Sequence[Step], count: int, kind: str = "text_delta") -> list[Step]:
    """The steps up to and including that many deltas of a kind."""
    places = delta_places(steps, kind)[:count]
    return list(steps[: places[-1] + 1] if places else steps[:1])


def with_pings(steps: Sequence[Step], every: float) -> Iterator[Step]:
    """The steps, then pings for ever, `every` so many seconds."""
    yield from steps
    yield from cycle((Wait(every), event("ping")))


def changed_delta(steps: Sequence[Step], change: Callable[[Json], Json]) -> list[Step]:
    """The steps with their first delta changed, whatever its kind."""
    kinds = ("text_delta", "input_json_delta", "thinking_delta")
    places = sorted(place for kind in kinds for place in delta_places(steps, kind))[:1]
    return [
        Event(step.name, change(step.body)) if place in places and isinstance(step, Event) else step
        for place, step in enumerate(steps)
    ]
