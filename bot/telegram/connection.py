"""What python-telegram-bot makes of an answer that is not Telegram's: a proxy's page, half a body, another JSON.

The library prints such a body, which may hold what people wrote, and trips over JSON that is no object. Here it is a
NetworkError like any other break on the way: whether the request was carried out, nobody can say.
"""

from __future__ import annotations

import json
from typing import Any

from telegram.error import NetworkError
from telegram.request import HTTPXRequest


class Connection(HTTPXRequest):
    """The library's connections, with our reading of what comes back."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """An answer of the Bot API. Raises NetworkError for anything else."""
        try:
            answer = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or ("result" not in answer and answer.get("ok") is not False):
            raise NetworkError("the answer is not one of the Bot API")
        return answer
