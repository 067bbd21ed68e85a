"""The agent: ask the model, run the tools it asks for, ask again, until there is an answer in
words.

One turn is one `_Turn`; the Agent itself remembers nothing. Tools run only when the model stopped
in order to use them, so a call cut off by a limit is never run. Text is shown as it arrives. Inside
the turn the model gets its own content back exactly as it came, thinking included; what leaves the
turn is closed and legal (`blocks.settled`). A turn that reaches a limit ends in words. Nothing is
written anywhere here, so cancelling at any await leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Literal

from bot.agent.answers import Answer
from bot.agent.attachments import Attachments, without_files
from bot.agent.limits import Limits, Pauses
from bot.agent.model_call import ModelCaller
from bot.agent.preferences import PreferenceOptions
from bot.agent.prompt import NOTHING_ADDED, STOPPED, Prompt, render
from bot.agent.storable_content import settled, without_thinking
from bot.agent.streaming import StreamedText
from bot.agent.tool_runner import ToolRunner
from bot.agent.tools import TaskSlot, Toolbox, ToolContext
from bot.budget import MIN_ANSWER_TOKENS, TokenBudget
from bot.content import (
    Block,
    ToolResult,
    ToolUse,
    WireMessage,
    ends_in_words,
    files_of,
    has_results,
    spoken,
    text_block,
    tool_calls,
    without_blanks,
    words,
)
from bot.errors import BudgetSpent, EmptyAnswer, FilesRefused, ModelBusy, ModelError, ModelRefused
from bot.owner import Owner
from bot.ports import Completion, Model, Question, Reply, Request, Run, UsageMeter
from bot.session import Session
from bot.tokens import request_tokens

log = logging.getLogger(__name__)

_NOTICES: Mapping[str, str] = {"max_tokens": "cut", "model_context_window_exceeded": "cut"}
_WORDLESS = frozenset({"limit", "budget"})  # they say enough where the model has said nothing


@dataclass(frozen=True, slots=True)
class Agent:
    """Answers questions; the same object serves every Owner."""

    model: Model
    toolbox: Toolbox
    prompt: Prompt
    limits: Limits
    pauses: Pauses
    choices: PreferenceOptions | None = None
    """What each Owner has chosen; None where nobody has a choice."""
    token_budget: TokenBudget | None = None
    """What each Owner may spend; None: nobody counts."""
    attachments: Attachments = field(default_factory=Attachments)

    async def run(
        self, owner: Owner, session: Session, question: Question, reply: Reply, run: Run
    ) -> Answer:
        """Answer the question. What it costs goes to the run's bill at once, however it ends."""
        asked = question.content
        context = ToolContext(
            owner, session.place, question.turn, question.at, run.record, TaskSlot(session.task)
        )
        prompt = await self.choices.prompt(owner, self.prompt) if self.choices else self.prompt
        agent = replace(self, prompt=prompt)
        messages = render(session, asked, question.at)
        try:
            async with self.attachments.room(messages):
                return await agent.answer(
                    context, await self.attachments.inline(messages), reply, run.meter
                )
        except FilesRefused as refusal:
            if files_of(asked):
                raise
            log.warning(
                "turn %d: once more without the files of earlier turns: %s", question.turn, refusal
            )
        return await agent.answer(context, without_files(messages), reply, run.meter)

    def deputies(self) -> Sequence[str]:
        """The models that answer in place of one that is overloaded or out of reach, in order."""
        models = self.choices.models if self.choices else ()
        return [model for model in models if model != self.prompt.model]

    async def answer(
        self, context: ToolContext, messages: list[WireMessage], reply: Reply, meter: UsageMeter
    ) -> Answer:
        """Answer what the messages end with."""
        streamed = StreamedText(reply)
        turn = _Turn(self, context, messages, streamed, meter)
        try:
            return await turn.run()
        except (BudgetSpent, ModelError) as failure:
            streamed.status("")
            if not isinstance(failure, ModelBusy):  # what broke off stays in sight, and is marked
                streamed.clear()
            raise


def fixed_tokens(prompt: Prompt, toolbox: Toolbox) -> int:
    """An estimate of what stands in every request: the system's words and the tools."""
    return request_tokens(Request(prompt.model, prompt.system, (), toolbox.specs))


def min_tokens(prompt: Prompt, toolbox: Toolbox) -> int:
    """What a turn takes at least: what stands in every request, and the shortest answer."""
    return fixed_tokens(prompt, toolbox) + min(MIN_ANSWER_TOKENS, prompt.max_tokens)


class _Turn:
    """One turn in progress."""

    def __init__(
        self,
        agent: Agent,
        context: ToolContext,
        messages: list[WireMessage],
        streamed: StreamedText,
        meter: UsageMeter,
    ) -> None:
        self.agent = agent
        self.context = context
        self.messages = messages
        self.opening = len(messages)
        self.streamed = streamed
        self.prompt = agent.prompt
        self.deputies = agent.deputies()
        self.calls = ToolRunner(agent.toolbox, context, agent.limits)
        self.meter = meter
        self.prompt_tokens = 0
        self.deadline = asyncio.get_running_loop().time() + agent.limits.turn_seconds
        self.caller = ModelCaller(
            model=agent.model,
            limits=agent.limits,
            pauses=agent.pauses,
            token_budget=agent.token_budget,
            context=context,
            streamed=streamed,
            watch=self.watch,
            meter=meter,
            deadline=self.deadline,
        )

    async def run(self) -> Answer:
        try:
            async with asyncio.timeout_at(self.deadline):
                ending = await self.converse()
        except TimeoutError:
            if not self.exchange and not self.streamed.fresh:
                raise ModelBusy("the model did not answer within the turn's deadline") from None
            self.say([text_block(self.streamed.fresh)])
            ending = "limit"
        return self.close(ending)

    async def converse(self) -> str:
        """Ask and run tools in turns; the notice that is due at the end, or empty."""
        resumed = 0
        for left in reversed(range(self.agent.limits.model_calls)):
            is_last = left == 0 or self.calls.are_spent
            try:
                completion = await self.ask("none" if is_last else "auto")
            except BudgetSpent:
                if self.exchange:
                    return "budget"
                raise
            reason, wanted = completion.stop_reason, tool_calls(completion.content)
            if reason == "refusal":
                raise ModelRefused
            self.streamed.keep("" if reason == "pause_turn" else "\n\n")
            self.say(completion.content)
            if is_last:
                break
            if reason == "tool_use" and wanted:
                results = await self.use(wanted, completion.malformed)
                self.messages.append({"role": "user", "content": list(results)})
            elif reason == "pause_turn" and not wanted and resumed < self.agent.limits.resumes:
                resumed += 1
            else:
                return "limit" if reason == "pause_turn" else _NOTICES.get(reason, "")
        return "limit"

    async def ask(self, tool_choice: Literal["auto", "none"]) -> Completion:
        try:
            completion = await self.caller.ask(self.request(tool_choice))
        except ModelBusy as failure:
            self.change_model(failure)
            return await self.ask(tool_choice)
        self.prompt_tokens = completion.usage.tokens
        return completion

    def request(self, tool_choice: Literal["auto", "none"]) -> Request:
        specs = self.agent.toolbox.specs
        return self.prompt.request(self.context.owner, tuple(self.messages), specs, tool_choice)

    def change_model(self, failure: ModelBusy) -> None:
        """Have the next model go on in this turn. Raises `failure` where none is left."""
        if not self.deputies:
            raise failure
        deputy, *self.deputies = self.deputies
        log.warning("turn %d: %s goes on: %s", self.context.turn, deputy, failure)
        self.prompt = replace(self.prompt, model=deputy)
        self.streamed.take_back()
        self.messages[self.opening :] = without_thinking(self.exchange)

    def watch(self, tool: str) -> None:
        """The provider runs a tool of its own: the person sees that until words follow."""
        self.streamed.status(self.agent.toolbox.status_of(tool))

    async def use(
        self, wanted: Sequence[ToolUse], malformed: AbstractSet[str]
    ) -> Sequence[ToolResult]:
        """The results of these calls; while they run, the person sees what is being done."""
        self.streamed.status(self.agent.toolbox.status_of(wanted[0]["name"]))
        try:
            return await self.calls.answer(wanted, malformed)
        finally:
            self.streamed.status("")

    @property
    def exchange(self) -> Sequence[WireMessage]:
        return self.messages[self.opening :]

    def say(self, content: Sequence[Block]) -> None:
        """Add to what the assistant said; a resumed call continues the same message."""
        said = without_blanks(content)
        if self.exchange and self.exchange[-1]["role"] == "assistant":
            said = [*self.messages.pop()["content"], *said]
        if said:
            self.messages.append({"role": "assistant", "content": said})

    def close(self, ending: str) -> Answer:
        closed = settled(self.exchange)
        text = spoken(closed)
        if not text and ending not in _WORDLESS and not has_results(closed):
            raise EmptyAnswer
        fell_silent = not ending and not ends_in_words(self.exchange[-1]["content"])
        if not closed or not words(closed[-1][1]):
            self.say([text_block(STOPPED if ending else NOTHING_ADDED)])
            closed = settled(self.exchange)
        return Answer(
            exchange=closed,
            text=text,
            usage=self.meter.total,
            prompt_tokens=self.prompt_tokens,
            task=self.context.slot.task,
            ending="nothing" if fell_silent else ending,
            model=self.prompt.model,
            is_deputys=self.prompt.model != self.agent.prompt.model,
        )
