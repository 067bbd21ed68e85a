"""Where the metrics are taken: around the core's ports, so that the core knows nothing of them.

Each of these is the part it wraps, and counts what goes through it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from bot.errors import ModelError
from bot.ops.metrics import Metrics
from bot.ports import Batch, Completion, Frontend, Json, Model, Request, Run, State
from bot.ports.model import unbilled, unseen
from bot.telegram.inbound.poller import ALLOWED_UPDATES
from bot.usage import Usage

Receive = Callable[..., Awaitable[None]]


def counted(receive: Receive, metrics: Metrics) -> Receive:
    """What takes in updates, and how many of each kind were taken in."""

    async def count(*updates: Json) -> None:
        await receive(*updates)
        for update in updates:
            metrics.updates.labels(
                next((kind for kind in ALLOWED_UPDATES if kind in update), "other")
            ).inc()

    return count


@dataclass(frozen=True, slots=True)
class MeasuredFrontend:
    """A Frontend, what became of its batches, and how long its turns took."""

    frontend: Frontend
    metrics: Metrics

    async def answer(self, batch: Batch, run: Run) -> State:
        with self.metrics.turn_seconds.time():
            return self._ended(await self.frontend.answer(batch, run))

    async def run_command(self, batch: Batch, run: Run) -> State:
        return self._ended(await self.frontend.run_command(batch, run))

    async def skip_superseded(self, batch: Batch, run: Run) -> State:
        return self._ended(await self.frontend.skip_superseded(batch, run))

    async def give_up(self, batch: Batch, run: Run) -> State:
        return self._ended(await self.frontend.give_up(batch, run))

    def _ended(self, state: State) -> State:
        self.metrics.batches.labels(state).inc()
        return state


@dataclass(frozen=True, slots=True)
class MeasuredModel:
    """A Model, how its calls ended, and the tokens they were billed for."""

    model: Model
    metrics: Metrics

    async def complete(
        self,
        request: Request,
        on_text: Callable[[str], None],
        on_start: Callable[[Usage], None] = unbilled,
        on_tool: Callable[[str], None] = unseen,
        on_hidden: Callable[[str], None] = unseen,
    ) -> Completion:
        try:
            completion = await self.model.complete(request, on_text, on_start, on_tool, on_hidden)
        except ModelError as failure:
            self._ended(request.model, type(failure).__name__, failure.usage or Usage())
            raise
        self._ended(request.model, completion.stop_reason, completion.usage)
        return completion

    def _ended(self, model: str, end: str, usage: Usage) -> None:
        self.metrics.model_calls.labels(model, end).inc()
        for kind, tokens in asdict(usage).items():
            if kind != "turns":
                self.metrics.tokens.labels(model, kind.removesuffix("_tokens")).inc(tokens)
