"""Makes values fit for JSON: dates become ISO 8601 in UTC with milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def to_json(value: Any) -> Any:
    """Return the value with every date in it as text."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {name: to_json(inner) for name, inner in value.items()}
    return [to_json(inner) for inner in value] if isinstance(value, list | tuple) else value
