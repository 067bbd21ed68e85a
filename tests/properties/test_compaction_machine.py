"""C48: compaction beside everything that may happen, in any order: nothing is lost, split, repeated
or brought back.

Turns (with tools, and giants), two workers with copies of their own, compactors that overlap,
`/new` and `/reset`, a summariser in every mood, and a store that fails or a process that dies
before and after each write. What was committed is written down beside the store, and after each
step the store must agree with it.
"""

from __future__ import annotations

import asyncio
import re
from itertools import count
from types import SimpleNamespace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.agent.prompt import render
from bot.agent.scripted import illegal
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.compaction.replacing import MAX_PAUSE
from bot.content import text_block
from bot.errors import (
    BotError,
    ModelBusy,
    ModelRefused,
    PromptTooLong,
    SessionGone,
    SessionTooLarge,
    StoreUnavailable,
)
from bot.lifecycle import Lifecycle
from bot.ops.clock import ManualClock
from bot.ports import Completion
from bot.session import ClosedTurn, Message, PromptSize, Session
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.sessions import MemorySessions
from bot.store.turn_documents import MAX_MESSAGES
from bot.usage import Usage
from tests.builders import ANNA, ANNAS_CHAT, NOON

LIMITS = CompactionPolicy(messages=8, tokens=400, keep_messages=4, window=2_000)
WINDOW = 100
"""The summariser's: some of what it has to cover comes in chunks, and a giant turn is larger than
one.
"""
FILLER = " ".join(["and so on"] * 8)
SAYINGS = {
    "empty": "",
    "blank": " \n ",
    "short": "They talked.",
    "error": "Error: overloaded. " + FILLER,
    "endless": "word " * 2_000,
}
STOPS = {"cut": "max_tokens", "refused": "refusal", "calling": "tool_use"}
ERRORS = {"busy": ModelBusy, "declined": ModelRefused, "too long": PromptTooLong}
BAD = ["same", "silent", *SAYINGS, *STOPS, *ERRORS]
bad = st.sampled_from(BAD)
moods = (
    st.just(["good"])
    | bad.map(lambda one: [one])
    | bad.map(lambda one: ["good", one])
    | st.lists(bad, min_size=2)
)
faults = st.none() | st.tuples(
    st.sampled_from(["add", "replace_summary", "postpone", "erase", "inspect", "of"]),
    st.sampled_from(["fails before", "fails after", "dies before", "dies after"]),
)
operations = st.sampled_from([None, None, None, "turn", "new", "reset", "compaction", "room"])
whose = st.integers(0, 5)
"""Which worker's copy is compacted, an old one perhaps; beyond the copies: the Session as it
stands.
"""


async def count_words(text):
    return len(text.split())


class Shaky:
    """A port in front of the real one.

    One call of the named method fails, or the process dies there.
    """

    def __init__(self, inner, fault):
        self._inner = inner
        self._method: str
        self._how: str
        self._method, self._how = fault or ("", "")

    def __getattr__(self, name):
        real = getattr(self._inner, name)
        if name != self._method:
            return real
        error = asyncio.CancelledError if self._how.startswith("dies") else StoreUnavailable
        happens = self._how.endswith("after")
        self._method = ""

        async def shaken(*args):
            if happens:
                await real(*args)
            raise error

        return shaken


class Pen:
    """The summariser of one compaction: a mood for each call, something that happens meanwhile, and
    what it read.
    """

    def __init__(self, moods, meanwhile=None):
        self.moods, self.meanwhile = list(moods), meanwhile
        self.read = []

    async def complete(self, request, *_heard):
        if (operation := self.meanwhile) is not None:
            self.meanwhile = None
            await operation()
        data = request.messages[0]["content"][0]["text"]
        mood = self.moods.pop(0) if len(self.moods) > 1 else self.moods[0]
        if mood == "silent":
            await asyncio.Event().wait()
        if mood in ERRORS:
            raise ERRORS[mood]
        seen = [int(seq) for seq in re.findall(r"«(\d+)»", data.partition("<transcript")[2])]
        text = SAYINGS.get(mood, f"Notes after {[*self.read, *seen]}: {FILLER}")
        if mood == "same" and (
            old := re.search(r"<previous_summary>\n(.+?)\n</prev", data, re.DOTALL)
        ):
            text = old[1]
        if mood in {"good", "same"}:
            self.read += seen
        return Completion((text_block(text),), STOPS.get(mood, "end_turn"), Usage(input_tokens=1))


class Talks(RuleBasedStateMachine):
    """Anna's Sessions, and what was ever committed to each."""

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.sessions, self.archive, self.clock = (
            MemorySessions(),
            MemoryArchive(),
            ManualClock(NOON),
        )
        self.ids, self.updates = count(1), count(1)
        self.lifecycle = Lifecycle(
            self.sessions, self.archive, self.clock, lambda: f"{next(self.ids):032x}"
        )
        self.said: dict[str, list[Message]] = {}
        self.seen: dict[str, SimpleNamespace] = {}
        self.copies: list[Session] = []
        self.shaken: set[str] = set()
        self.run(self.lifecycle.new(ANNA, ANNAS_CHAT))
        self.turns_pass(5, 0)

    def teardown(self):
        self.runner.close()

    def run(self, work):
        return self.runner.run(work)

    async def active(self):
        found = await self.sessions.inspect(ANNA, ANNAS_CHAT)
        assert found is not None
        self.said.setdefault(found.id, [])
        return found

    def stored(self):
        return {one: self.sessions._first({"_id": one}) for one in list(self.sessions._documents)}

    # ------------------------------------------------------------------------------- what people do

    @rule()
    def a_worker_loads(self):
        self.copies = [*self.copies[-3:], self.run(self.active())]

    @precondition(lambda self: self.copies)
    @rule(
        number=st.integers(0, 3), tools=st.integers(0, 3), giant=st.booleans(), full=st.booleans()
    )
    def a_worker_commits(self, number, tools, giant, full):
        """It must succeed, unless another turn, `/new` or `/reset` came first: never for a
        compaction.
        """
        copy = self.copies.pop(number % len(self.copies))
        self.run(
            self.commit(copy, tools=tools, tokens=300 if giant else 12, prompt=5_000 if full else 0)
        )

    async def commit(self, copy, *, tools=0, tokens=12, prompt=0):
        turn = turn_of(copy, next(self.updates), tools, tokens, prompt, self.clock.now())
        now = self.stored().get(copy.id)
        is_current = now is not None and (now.status, now.revision) == ("active", copy.revision)
        try:
            await self.sessions.commit(ANNA, copy, turn)
        except SessionGone:
            assert not is_current
        except SessionTooLarge:
            assert len(copy.messages) + len(turn.messages) > MAX_MESSAGES
        else:
            assert is_current
            self.said.setdefault(copy.id, []).extend(turn.messages)

    @rule(times=st.integers(2, 5), tools=st.integers(0, 2))
    def turns_pass(self, times, tools):
        for _ in range(times):
            self.run(self.a_turn(tools))

    async def a_turn(self, tools=0):
        await self.commit(await self.active(), tools=tools)

    @rule(how=st.sampled_from(["new", "reset"]))
    def somebody_begins_anew(self, how):
        self.run(getattr(self.lifecycle, how)(ANNA, ANNAS_CHAT))
        self.turns_pass(4, 0)

    # ----------------------------------------------------------------------------------- compaction

    @rule(whose=whose, moods=moods, fault=faults, operation=operations)
    def compaction_after_a_reply(self, whose, moods, fault, operation):
        self.clock.advance(MAX_PAUSE)
        self.compactor_runs("consider", whose, moods, fault, operation)

    @rule(whose=whose, moods=moods, fault=faults, operation=operations)
    def compaction_on_request(self, whose, moods, fault, operation):
        self.compactor_runs("compact", whose, moods, fault, operation)

    @rule(whose=whose, moods=moods, fault=faults, operation=operations)
    def compaction_before_a_call(self, whose, moods, fault, operation):
        self.compactor_runs("make_room", whose, moods, fault, operation)

    def compactor_runs(self, how, whose, moods, fault, operation):
        copy = self.copies[whose] if whose < len(self.copies) else self.run(self.active())
        if operation:
            moods = [mood for mood in moods if mood != "silent"] or [
                "good"
            ]  # cut off, it would stop the deed as well
        self.run(self.compaction(how, copy, Pen(moods, self.operation(operation)), fault))

    def operation(self, name):
        """What happens while the summariser writes."""
        operations = {
            "turn": self.a_turn,
            "new": lambda: self.lifecycle.new(ANNA, ANNAS_CHAT),
            "reset": lambda: self.lifecycle.reset(ANNA, ANNAS_CHAT),
            "compaction": lambda: self.another("compact"),
            "room": lambda: self.another("make_room"),
        }
        return operations.get(name)

    async def another(self, how):
        await self.compaction(how, await self.active(), Pen(["good"]), None)

    async def compaction(self, how, copy, pen, fault):
        before, stood = self.coverage(), self.stored().get(copy.id)
        is_alone = pen.meanwhile is None
        if fault:
            self.shaken.add(copy.id)
        seconds = 0.002 if "silent" in pen.moods else 60
        summariser = Summariser(pen, "small", count_words, window=WINDOW, seconds=seconds)
        sessions, archive = Shaky(self.sessions, fault), Shaky(self.archive, fault)
        changed = None
        try:
            changed = await self.started(
                how, Compactor(sessions, archive, summariser, LIMITS, self.clock), copy
            )
        except asyncio.CancelledError:
            return  # the process died here
        except BotError:
            assert fault is not None or how == "compact"
        if copy.id not in self.sessions._documents and copy.id not in self.shaken:
            assert await self.archive.of(ANNA, copy.id) == [], "an erased Session left rows behind"
        if is_alone:
            assert not changed or stood.epoch == copy.epoch, "two summaries of the same messages"
            self.check_reading(copy, pen, before)

    async def started(self, how, compactor, copy):
        if how != "consider":
            return await getattr(compactor, how)(ANNA, copy)
        compactor.consider(ANNA, copy)
        await asyncio.gather(*compactor._running.values(), return_exceptions=True)
        return None

    def coverage(self):
        """By Session: what its summaries have covered so far."""
        return {one: covered_by(session) for one, session in self.stored().items()}

    def check_reading(self, copy, pen, before):
        """What a summary newly covers was read for it, once."""
        now = self.coverage()
        if copy.id in now and (fresh := now[copy.id] - before[copy.id]):
            assert [pen.read.count(seq) for seq in fresh] == [1] * len(fresh)

    # ----------------------------------------------------------------------------------- what holds

    @invariant()
    def nothing_is_lost_and_nothing_is_changed(self):
        for one, session in self.stored().items():
            said = self.said.get(one, [])
            archived = self.run(self.archive.of(ANNA, one))
            start = session.next_seq - len(session.messages)
            assert session.next_seq == len(said)
            assert session.messages == said[start:]
            assert [entry for entry in archived if entry != said[entry.seq]] == []
            assert {entry.seq for entry in archived} | set(range(start, len(said))) == set(
                range(len(said))
            )
            assert start == (session.summary.up_to + 1 if session.summary else 0)

    @invariant()
    def only_turns_and_closing_move_the_revision(self):
        """So no commit ever misses because of a compaction."""
        for one, session in self.stored().items():
            turns = len({entry.turn for entry in self.said.get(one, [])})
            assert session.revision == turns + (session.status == "closed")

    @invariant()
    def no_turn_is_split_so_the_model_takes_what_is_left(self):
        for one, session in self.stored().items():
            start = session.next_seq - len(session.messages)
            said = self.said.get(one, [])
            assert start in {0, len(said)} or said[start - 1].turn != said[start].turn
            assert illegal(render(session, [text_block("And now?")], NOON)) == ""

    @invariant()
    def a_summary_only_ever_covers_more(self):
        for one, session in self.stored().items():
            now = SimpleNamespace(
                epoch=session.epoch, covered=covered_by(session), up_to=up_to(session)
            )
            last = self.seen.get(one, now)
            assert now.epoch >= last.epoch
            assert now.up_to >= last.up_to
            assert now.covered >= last.covered
            assert now.epoch > last.epoch or now.covered == last.covered
            self.seen[one] = now

    @invariant()
    def nothing_said_comes_back_after_a_reset(self):
        """Rows that a process left behind as it died belong to no Session; the sweep takes them."""
        assert set(self.said) >= {one for one, session in self.stored().items() if session.messages}


def up_to(session):
    return session.summary.up_to if session.summary else -1


def covered_by(session):
    gaps = session.summary.gaps if session.summary else ()
    return set(range(up_to(session) + 1)) - {
        seq for gap in gaps for seq in range(gap.start, gap.end + 1)
    }


def turn_of(session, update_id, tools, tokens, prompt, at):
    """A question, so many rounds of tools, and the answer; each message carries its place in its
    words.

    In a giant one these stand between two long pastes (C152).
    """
    seqs = count(session.next_seq)
    paste = "log " * (tokens // 2 if tokens > WINDOW else 0)

    def entry(role, make):
        seq = next(seqs)
        return Message(
            seq,
            update_id,
            role,
            (make(f"{paste}«{seq}» of turn {update_id}{paste and ' '}{paste}"),),
            at,
            tokens,
        )

    messages = [entry("user", text_block)]
    for number in range(tools):
        call = f"call {update_id} {number}"
        messages.append(
            entry(
                "assistant",
                lambda w, c=call: {"type": "tool_use", "id": c, "name": "look", "input": {"at": w}},
            )
        )
        messages.append(
            entry(
                "user",
                lambda w, c=call: {
                    "type": "tool_result",
                    "tool_use_id": c,
                    "content": w,
                    "is_error": False,
                },
            )
        )
    messages.append(entry("assistant", text_block))
    size = PromptSize(prompt, session.epoch)
    return ClosedTurn(tuple(messages), (update_id,), Usage(turns=1), size, None, "title", at)


TestTalks = Talks.TestCase
TestTalks.settings = settings(
    max_examples=45,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
