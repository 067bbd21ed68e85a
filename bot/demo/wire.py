"""Values as JSON can carry them: moments spelt out (ISO 8601, UTC, milliseconds), all else as it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def spelt(value: Any) -> Any:
    """The value with every moment in it spelt out."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {name: spelt(inner) for name, inner in value.items()}
    return [spelt(inner) for inner in value] if isinstance(value, list | tuple) else value
