"""What became of a failed call: each failure of the SDK as one of our own errors.

The SDK lets much through that is no error of its own; `classify` turns everything into one of ours,
with a message made of codes only: the vendor's texts may quote anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import aiohttp
import anthropic
import httpx2

from bot.errors import (
    FilesRefused,
    ModelBusy,
    ModelError,
    ModelMisconfigured,
    ModelUnknown,
    PromptTooLong,
)
from bot.usage import Usage

FAILURES = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    OSError,
    RuntimeError,
    AttributeError,  # this one and the next two: an event without the fields it should have
    LookupError,
    TypeError,
    ValueError,
)
"""What a call can end with besides an answer."""
_BY_TYPE: Mapping[str, type[ModelError]] = {
    "request_too_large": PromptTooLong,
    "exceed_context_size_error": PromptTooLong,
    "invalid_request_error": ModelMisconfigured,
    "authentication_error": ModelMisconfigured,
    "billing_error": ModelMisconfigured,
    "permission_error": ModelMisconfigured,
    "not_found_error": ModelUnknown,
}
_BY_STATUS: Mapping[int, type[ModelError]] = {
    404: ModelUnknown,
    408: ModelBusy,
    409: ModelBusy,
    413: PromptTooLong,
    429: ModelBusy,
}
_INSIDE_A_STREAM = 200
_SERVER_FAULT = 500
_MAX_RETRY_AFTER = 3600.0
"""Seconds. What asks for more is a mistake: then our own back-off counts."""
_REFUSALS = {400, 415, 422, 500, 501}
_SPENT = re.compile(r"(ramp_limit_exceeded|\w*spend_limit_reached)")
"""A rate limit that does not pass by waiting: the operator has to act."""
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds?\b.{0,40}\bcontext|context (length|window|size)", re.IGNORECASE
)
_OF_A_FILE = re.compile(
    r"\b(images?|pdfs?|documents?|media.type|pixels|vision|multi-?modal|mmproj)\b", re.IGNORECASE
)
"""What servers name when they cannot take in a picture or a document, some of them with a status of
500.
"""
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,80}")


def classify(error: Exception, usage: Usage | None = None) -> ModelError:
    """Which of our errors a failure of the SDK is; `usage`: what the call is billed for."""
    match error:
        case anthropic.APIStatusError():
            return _classify_status(error, usage)
        case TimeoutError():
            return ModelBusy("the model was silent for too long", usage=usage)
        case anthropic.CredentialsError():
            return ModelMisconfigured("no usable credentials", usage=usage)
    broke = f"the connection or the stream broke: {type(error).__name__}"
    return ModelBusy(broke, usage=usage)


def is_unbilled(error: Exception) -> bool:
    """Whether nothing was begun that could be billed: the server said no, or never got the
    request.
    """
    if isinstance(error, anthropic.APIStatusError):
        return error.status_code != _INSIDE_A_STREAM
    cause = error.__cause__
    if isinstance(cause, httpx2.ConnectError):
        # A server that hangs up is a ConnectError here, too, although it may have read the request.
        return isinstance(cause.__cause__, aiohttp.ClientConnectorError)
    return isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout)


def _classify_status(error: anthropic.APIStatusError, usage: Usage | None) -> ModelError:
    message = (
        f"status {error.status_code}, {_code(error.type)}, {_code(error.error_code)}, "
        f"request {_code(error.request_id)}"
    )
    kind = _kind(error)
    if kind is not ModelBusy:
        return kind(message, usage=usage)
    headers = error.response.headers
    at_once = headers.get("x-should-retry") != "false"
    return ModelBusy(message, usage=usage, retry_after=_retry_after(headers), at_once=at_once)


def _kind(error: anthropic.APIStatusError) -> type[ModelError]:
    if error.error_code and _SPENT.fullmatch(error.error_code):
        return ModelMisconfigured
    kind = _BY_TYPE.get(error.type or "", ModelBusy)
    if error.status_code != _INSIDE_A_STREAM and kind is not PromptTooLong:
        default = ModelBusy if error.status_code >= _SERVER_FAULT else ModelMisconfigured
        kind = _BY_STATUS.get(error.status_code, default)
    if (
        kind is not PromptTooLong
        and error.status_code in _REFUSALS
        and _OF_A_FILE.search(error.api_message or "")
    ):
        return FilesRefused
    if issubclass(kind, ModelMisconfigured) and _TOO_LONG.search(error.api_message or ""):
        return PromptTooLong
    is_passing = error.response.headers.get("x-should-retry") == "true"
    return ModelBusy if is_passing and issubclass(kind, ModelMisconfigured) else kind


def _code(value: object) -> str:
    """A code is short and has no spaces; whatever else a server put in its place stays out of our
    log.
    """
    return value if isinstance(value, str) and _CODE.fullmatch(value) else "-"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and 0 <= seconds <= _MAX_RETRY_AFTER:
            return seconds
    return None
