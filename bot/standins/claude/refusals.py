"""Refusals of the emulated Messages API: one exception, and the body of an error answer.

The words are the real ones as far as they are known; the tests of our own code may rely on status
and type only.
"""

from __future__ import annotations

from typing import Any

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Refused(Exception):
    """The request is not acceptable; `status` decides the error type."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def error_body(status: int, message: str, request_id: str, error_code: str = "") -> dict[str, Any]:
    """The JSON body of an error answer; a stable `error_code` where the API gives one."""
    details = {"details": {"error_code": error_code}} if error_code else {}
    return {
        "type": "error",
        "error": {"type": ERROR_TYPES.get(status, "api_error"), "message": message, **details},
        "request_id": request_id,
    }
