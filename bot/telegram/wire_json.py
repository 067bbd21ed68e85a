"""JSON as it comes over the wire, read so that no part of it spoils the rest.

The standard parser gives up a whole document for one value that is nested too deep or one number of
too many digits. Here such a value is None, and whatever stands beside it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

MAX_DEPTH = 200
"""Objects and lists inside one another; MongoDB stores hardly more."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]|-?\d{400}[\d.eE+-]*', re.DOTALL)


def read_json(payload: bytes) -> object:
    """What the payload says; None where it is no JSON at all."""
    text = payload.decode(errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        bounded = "".join(_bounded(text))
    try:
        return json.loads(bounded)
    except (ValueError, RecursionError):
        return None


def _bounded(text: str) -> Iterator[str]:
    """The text in pieces, with `null` in the place of each value that cannot be read."""
    depth = kept = 0
    for token in _TOKEN.finditer(text):
        match token[0][0]:
            case "[" | "{":
                depth += 1
                if depth == MAX_DEPTH:
                    yield text[kept : token.start()]
            case "]" | "}":
                depth -= 1
                if depth == MAX_DEPTH - 1:
                    yield "null"
                    kept = token.end()
            case '"':
                continue
            case _ if depth < MAX_DEPTH:
                yield text[kept : token.start()] + "null"
                kept = token.end()
    yield text[kept:] if depth < MAX_DEPTH else ""
