"""Everything that can go wrong between a client and a model provider.

A fault either replies instead of the model (`reply`), changes the answer (`twist`: the odd stop
reasons) or changes the steps of the stream (`bend`). A fault that leaves the client without a
usable answer does not use up a scripted one, so that the retry gets it. `fault_schedule` decides
which request meets which fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.standins.claude.answers import Answer, Piece, Text, ToolCall, Whole
from bot.standins.claude.bends import changed_delta, first_deltas, with_pings
from bot.standins.claude.garbled import garbled
from bot.standins.claude.refusals import ERROR_TYPES, error_body
from bot.standins.claude.stream import Chunk, Drop, Event, Stall, Step

Bend = Callable[[Sequence[Step]], Iterable[Step]]
Twist = Callable[[Answer], Answer]

HTML = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
FAULT_ID = "req_fault"
NO_MESSAGE_STOP = "no message_stop"
DROPPED_AT_THE_END = "dropped at the end"
_AFTER_THE_STOP_REASON = frozenset({NO_MESSAGE_STOP, DROPPED_AT_THE_END})
CUT_JSON = '{"amount": 1000, "to": "bo'
SEARCH = (
    Whole(
        {
            "type": "server_tool_use",
            "id": "srvtoolu_01pause",
            "name": "web_search",
            "input": {"query": "weather"},
        }
    ),
    Whole({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01pause", "content": []}),
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole HTTP answer. Status 0: no answer at all, the connection stays open."""

    status: int
    body: str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    name: str
    reply: Reply | None = None
    twist: Twist | None = None
    bend: Bend | None = None

    @property
    def spends(self) -> bool:
        """Whether the client got an answer it can use, so that the scripted one is used up."""
        return self.twist is not None or self.name in _AFTER_THE_STOP_REASON

    @property
    def is_free(self) -> bool:
        """Whether somebody answered at once who is not the model: then nothing is billed."""
        return self.reply is not None and self.reply.status != 0

    # ------------------------------------------------------------------------- instead of an answer

    @classmethod
    def status(cls, status: int, message: str = "", **headers: str) -> Fault:
        """Any error status with the API's body; a header `retry_after` is `retry-after` on the
        wire.
        """
        text = message or ERROR_TYPES.get(status, "api_error").replace("_", " ").capitalize()
        wire = {"request-id": FAULT_ID} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return cls(
            f"status {status}",
            Reply(status, json.dumps(error_body(status, text, FAULT_ID)), headers=wire),
        )

    @classmethod
    def overloaded(cls) -> Fault:
        return cls.status(529, "Overloaded")

    @classmethod
    def rate_limited(cls, retry_after: float | None = None) -> Fault:
        headers = {} if retry_after is None else {"retry_after": f"{retry_after:g}"}
        return cls.status(429, "This request would exceed your rate limit", **headers)

    @classmethod
    def spent(cls, error_code: str = "enforced_spend_limit_reached") -> Fault:
        """A 429 that does not pass by waiting."""
        body = error_body(
            429, "You have reached your specified API usage limits", FAULT_ID, error_code
        )
        return cls("spent", Reply(429, json.dumps(body), headers={"request-id": FAULT_ID}))

    @classmethod
    def local_overflow(cls) -> Fault:
        """How llama.cpp says that the prompt does not fit."""
        return cls._local(
            400, "exceed_context_size_error", "the request exceeds the available context size"
        )

    @classmethod
    def local_loading(cls) -> Fault:
        """llama.cpp while it loads its model."""
        return cls._local(503, "unavailable_error", "Loading model")

    @classmethod
    def _local(cls, status: int, kind: str, message: str) -> Fault:
        body = {"error": {"code": status, "message": message, "type": kind}}
        return cls(kind, Reply(status, json.dumps(body)))

    @classmethod
    def server_error(cls) -> Fault:
        return cls.status(500, "Internal server error")

    @classmethod
    def bad_gateway(cls) -> Fault:
        return cls("502 html", Reply(502, HTML, "text/html"))

    @classmethod
    def too_long(cls) -> Fault:
        return cls.status(400, "prompt is too long: 207713 tokens > 200000 maximum")

    @classmethod
    def too_large(cls) -> Fault:
        return cls.status(413, "Request exceeds the maximum size")

    @classmethod
    def portal(cls) -> Fault:
        """200 with a web page: a captive portal, or a wrong base URL."""
        return cls("200 html", Reply(200, HTML, "text/html"))

    @classmethod
    def silence(cls) -> Fault:
        """Not even headers."""
        return cls("silence", Reply(0))

    # -------------------------------------------------------------------------- a broken stream

    @classmethod
    def error_event(cls, kind: str = "overloaded_error", *, after: int = 0) -> Fault:
        """An error inside a 200 stream, as its first event or after some pieces of text."""
        failure = Event(
            "error",
            {"type": "error", "error": {"type": kind, "message": kind}, "request_id": FAULT_ID},
        )
        return cls(
            "error event",
            bend=lambda steps: [*(first_deltas(steps, after) if after else ()), failure],
        )

    @classmethod
    def dropped(cls, *, after: int = 2, inside: str = "text_delta") -> Fault:
        """The connection breaks after so many deltas of a kind, or before the first block where
        none is so many.
        """
        return cls("dropped", bend=lambda steps: [*first_deltas(steps, after, inside), Drop()])

    @classmethod
    def stalled(cls, *, after: int = 2, inside: str = "text_delta") -> Fault:
        """As `dropped`, but the connection stays open and nothing more comes."""
        return cls("stalled", bend=lambda steps: [*first_deltas(steps, after, inside), Stall()])

    @classmethod
    def dropped_at_the_end(cls) -> Fault:
        """The connection breaks behind the stop reason: the whole answer was sent, and is
        billed.
        """
        return cls(DROPPED_AT_THE_END, bend=lambda steps: [*steps[:-1], Drop()])

    @classmethod
    def pinging(cls, *, after: int = 2, every: float = 0.05) -> Fault:
        """A stall that a read timeout does not see, because pings go on."""
        return cls("pinging", bend=lambda steps: with_pings(first_deltas(steps, after), every))

    @classmethod
    def ends_early(cls, *, after: int = 2) -> Fault:
        return cls("ends early", bend=lambda steps: first_deltas(steps, after))

    @classmethod
    def ends_in_call(cls) -> Fault:
        """The stream ends inside the JSON of a tool call."""
        return cls("ends in call", bend=lambda steps: first_deltas(steps, 4, "input_json_delta"))

    @classmethod
    def empty(cls) -> Fault:
        return cls("empty stream", bend=lambda _steps: [])

    @classmethod
    def bad_event_json(cls) -> Fault:
        broken = Chunk(
            b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n'
        )
        return cls("bad event json", bend=lambda steps: [*first_deltas(steps, 1), broken])

    @classmethod
    def wrong_index(cls) -> Fault:
        return cls(
            "wrong index",
            bend=lambda steps: changed_delta(steps, lambda body: {**body, "index": 7}),
        )

    @classmethod
    def no_message_stop(cls) -> Fault:
        return cls(NO_MESSAGE_STOP, bend=lambda steps: steps[:-1])

    # ----------------------------------------------------------------- odd ends of a healthy stream

    @classmethod
    def refusal(cls, category: str = "cyber") -> Fault:
        details = {"type": "refusal", "category": category, "explanation": None}
        return cls(
            "refusal", twist=lambda answer: replace(answer.ending("refusal"), details=details)
        )

    @classmethod
    def cut_in_call(cls) -> Fault:
        """`max_tokens` in the middle of a tool call's arguments."""
        return cls("cut in call", twist=_cut_call)

    @classmethod
    def garbled(cls, written: str) -> Fault:
        """These are the arguments of every tool call, whatever was meant; and the stop reason is
        `tool_use`.
        """
        return cls("garbled", twist=lambda answer: garbled(answer, written))

    @classmethod
    def paused(cls) -> Fault:
        return cls("pause_turn", twist=lambda answer: answer.ending("pause_turn", *SEARCH))

    @classmethod
    def window_exceeded(cls) -> Fault:
        return cls.stopping("model_context_window_exceeded")

    @classmethod
    def stopping(cls, reason: str) -> Fault:
        """Any stop reason, known or not."""
        return cls(reason, twist=lambda answer: answer.ending(reason))

    @classmethod
    def wordless(cls) -> Fault:
        """The model ends its turn without any content."""
        return cls("wordless", twist=lambda _answer: Answer(stop="end_turn"))

    @classmethod
    def unknown_block(cls) -> Fault:
        odd = Whole({"type": "hologram", "shape": "cube"})
        return cls(
            "unknown block", twist=lambda answer: replace(answer, blocks=(odd, *answer.blocks))
        )


def _cut_call(answer: Answer) -> Answer:
    words: tuple[Piece, ...] = tuple(block for block in answer.blocks if isinstance(block, Text))
    name = answer.calls[0].name if answer.calls else "transfer"
    return Answer((*words, ToolCall(name, {"amount": 1000}, partial=CUT_JSON)), stop="max_tokens")
