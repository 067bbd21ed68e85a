"""What people see of commands, of errors, and of messages nobody answers: the Frontend port, over
HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import count

import pytest

from bot.agent.preferences import PreferenceOptions
from bot.agent.scripted import Scripted, fails, hangs, says
from bot.budget import TokenBudget
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.errors import (
    ChatBusy,
    EmptyAnswer,
    LaneLost,
    ModelBusy,
    ModelMisconfigured,
    ModelRefused,
    PromptTooLong,
    StoreUnavailable,
)
from bot.lifecycle import Lifecycle
from bot.owner import Lane
from bot.ports import Batch, Claim, Entry, Run
from bot.standins.telegram.faults import Fault
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.dialogues import MemoryDialogues
from bot.store.memory.inbox import MemoryRecord
from bot.store.memory.owners import MemoryOwners
from bot.store.memory.sessions import MemorySessions
from bot.store.memory.usage import MemoryUsage
from bot.telegram.command_names import COMMANDS
from bot.telegram.commands.menu import publish
from bot.telegram.commands.table import CommandDependencies
from bot.telegram.frontend import TelegramFrontend
from bot.telegram.inbound.identity import Sender, identify
from bot.telegram.inbound.parsing import Account, kind_of
from bot.telegram.outbound.chat_actions import answer_callback_query
from bot.telegram.outbound.limiter import Limiter
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.telegram.outbound.transport import Transport
from bot.texts import LANGUAGES, text
from bot.turn import TurnRunner
from tests.agents import MODEL, agent
from tests.builders import LIFETIME
from tests.telegrams import PENALTIES_WARN, Naps, telegram

pytestmark = PENALTIES_WARN


async def count_words(words):
    return len(words.split())


class Sessions(MemorySessions):
    """The Sessions in memory; `away`: so many loads find no store."""

    def __init__(self):
        super().__init__()
        self.away = 0

    async def load(self, owner, place, **when):
        if self.away:
            self.away -= 1
            raise StoreUnavailable
        return await super().load(owner, place, **when)


class Office:
    """A Frontend over the core in memory, and the updates of its people as entries."""

    def __init__(self, server, bot):
        self.server, self.bot = server, bot
        self.account = Account(bot.id, bot.username)
        self.model = Scripted()
        self.sessions = Sessions()
        self.record = MemoryRecord()
        ids = count(1)
        clock, archive = server.state.clock, MemoryArchive()
        compactor = Compactor(
            self.sessions,
            archive,
            Summariser(self.model, "small", count_words),
            CompactionPolicy(),
            clock,
        )
        choices = PreferenceOptions(MemoryOwners(), (MODEL,))
        new_id = lambda: f"{next(ids):032x}"  # noqa: E731 - a factory, passed on
        turns = TurnRunner(
            self.sessions,
            agent(self.model, attempts=1),
            compactor,
            count_words,
            clock,
            new_id,
            LIFETIME,
        )
        lifecycle, token_budget = (
            Lifecycle(self.sessions, archive, clock, new_id),
            TokenBudget(MemoryUsage(), clock),
        )
        needs = CommandDependencies(
            lifecycle,
            choices,
            LIFETIME,
            self.try_again,
            compactor,
            self,
            MemoryDialogues({}),
            token_budget,
            count_words,
        )
        self.naps = Naps(hold=4)
        self.messages = Messages(Transport(bot, sleep=self.naps, limiter=Limiter(self.naps.now)))
        self.throttled_notices = ThrottledNotices(self.messages, clock)
        self.frontend = TelegramFrontend(
            turns, needs, self.messages, self.throttled_notices, self.account
        )

    async def try_again(self, lane, turn):
        raise AssertionError("nobody presses a button here")

    async def of(self, lane, message_id):
        raise AssertionError("nobody edits here")

    async def answer_again(self, lane, edit, correction):
        raise AssertionError("nobody presses a button here")

    async def drop(self, lane, edit):
        raise AssertionError("nobody presses a button here")

    async def batch(self, *, overtaken=False, **claim):
        """What was sent since the last one."""
        updates = await self.bot.get_updates(timeout=0)
        await self.bot.get_updates(updates[-1].update_id + 1, timeout=0)
        entries = tuple(self.entry(update) for update in updates)
        return Batch(Claim(entries[0].lane.id, 1, **claim), entries, overtaken=overtaken)

    def entry(self, update):
        sender, kind = identify(update), kind_of(update, self.account)
        assert isinstance(sender, Sender)
        assert kind is not None
        lane = Lane(sender.owner, sender.place)
        return Entry(update.update_id, lane, kind, update.to_dict(), self.server.state.now)

    async def run_command(self, **run):
        return await self.carry_out("run_command", await self.batch(), **run)

    async def answer(self, batch=None, stop=None):
        """One run of a turn; all runs have one record."""
        run = Run(self.record, stop or asyncio.Event())
        return await self.frontend.answer(batch or await self.batch(), run)

    async def carry_out(self, operation, batch, **flags):
        """Any of what a frontend does with a batch."""
        run = Run(self.record, asyncio.Event(), **flags)
        return await getattr(self.frontend, operation)(batch, run)

    async def active(self, batch):
        now = self.server.state.now
        return await self.sessions.load(
            batch.lane.owner, batch.lane.place, at=now, now=now, lifetime=LIFETIME
        )


@pytest.fixture
async def office():
    async with telegram() as (server, bot):
        made = Office(server, bot)
        yield made
        await made.throttled_notices.close()


@pytest.fixture
def anna(office):
    return office.server.person(7, "Anna")


# ----------------------------------------------------------------------------------------- commands


async def test_help_lists_every_command(office, anna):
    anna.says("/help")
    assert await office.run_command() == "done"
    for name in COMMANDS:
        assert f"/{name} — " in anna.chat.text


async def test_start_says_how_long_a_talk_is_remembered_whatever_its_payload(office, anna):
    anna.starts("ref_1-x")
    assert await office.run_command() == "done"
    assert anna.chat.text == text("start", "en", idle="30 minutes", age="30 days")


async def test_new_and_reset_are_confirmed_after_the_deed(office, anna):
    """C32: the Session's id differs before and after."""
    office.model.script = [says("Hello!")]
    anna.says("hello")
    batch = await office.batch()
    await office.answer(batch)
    ids = [(await office.active(batch)).id]
    for command in ("/new", "/reset"):
        anna.says(command)
        assert await office.run_command() == "done"
        ids.append((await office.active(batch)).id)
    assert len(set(ids)) == 3
    assert [shown.text for shown in anna.chat.answers[1:]] == [
        text("new_done", "en"),
        text("reset_done", "en"),
    ]


@pytest.mark.parametrize(
    ("stopped", "key"), [(True, "stop_done"), (False, "stop_nothing")], ids=["running", "nothing"]
)
async def test_stop_says_what_it_did_and_leaves_the_talk_as_it_is(office, anna, stopped, key):
    """C72, C144: the turn it stops has ended when the command's place in the lane comes."""
    office.model.script = [says("Hello!")]
    anna.says("hello")
    batch = await office.batch()
    await office.answer(batch)
    before = await office.active(batch)
    anna.says("/stop")
    assert await office.run_command(has_stopped_turn=stopped) == "done"
    assert anna.chat.answers[-1].text == text(key, "en")
    assert await office.active(batch) == before


async def test_a_confirmation_stays_in_its_topic(office, anna):
    """C104."""
    group = office.server.supergroup(members=[anna], forum=True)
    anna.says("The first message of a forum has the id of its General topic.", chat=group)
    topic = anna.topic("Plans", group)
    office.server.state.updates.clear()
    anna.says("/new@emulated_bot", chat=group, thread=topic)
    await office.run_command()
    assert [shown.thread_id for shown in group.answers] == [topic]


async def test_an_unknown_command_is_answered(office, anna):
    anna.says("/nwe")
    assert await office.run_command() == "done"
    assert anna.chat.text == text("unknown_command", "en")


async def test_an_unknown_command_in_a_group_may_be_another_bots(office, anna):
    group = office.server.supergroup(members=[anna])
    anna.says("/weather", chat=group)
    assert await office.run_command() == "done"
    assert group.answers == []


async def test_a_press_of_a_button_nobody_made_is_answered_and_does_nothing(office, anna):
    anna.says("/help")
    await office.run_command()
    query = anna.presses("anything", on=anna.chat.answers[0], data="admin:reset")
    assert await office.run_command() == "done"
    [call] = office.server.journal.of("answerCallbackQuery")
    assert (call.params["callback_query_id"], call.text) == (query.id, text("button_expired", "en"))


@pytest.mark.parametrize(
    "fault",
    [Fault.dropped(), Fault.broken(502), Fault.dropped("after")],
    ids=["lost", "502", "taken"],
)
async def test_an_answer_to_a_press_that_got_lost_is_sent_again(office, anna, fault):
    """Else the button would seem to work for ever."""
    query = anna.presses("", on=anna.says("hello"), data="nothing:1")
    await office.bot.get_updates(timeout=0)
    office.server.faults.next("answerCallbackQuery", fault)
    await answer_callback_query(office.messages.transport, query.id, "Done.")
    assert query.answer["text"] == "Done."


async def test_a_press_that_is_too_old_is_no_error(office, anna):
    anna.says("/help")
    await office.run_command()
    anna.presses("anything", on=anna.chat.answers[0], data="x")
    office.server.faults.next(
        "answerCallbackQuery",
        Fault.refused("query is too old and response timeout expired or query ID is invalid"),
    )
    assert await office.run_command() == "done"


async def test_messages_overtaken_by_new_get_one_sentence(office, anna):
    anna.says("one")
    anna.says("two")
    assert (
        await office.carry_out("skip_superseded", await office.batch(overtaken=True)) == "cancelled"
    )
    assert anna.chat.text == text("turn_declined", "en")


async def test_a_turn_that_was_committed_before_new_came_is_delivered_and_not_declined(
    office, anna
):
    """A penalty came between the commit and the answer; the command finds nothing left to
    decline.
    """
    office.model.script = [says("The answer.")]
    anna.says("the question")
    batch = await office.batch(overtaken=True)
    office.server.faults.next("sendMessage", Fault.too_many(27))
    with pytest.raises(ChatBusy):
        await office.answer(batch)
    office.naps.passed += 27
    await office.carry_out("skip_superseded", batch)

    assert anna.chat.text == "The answer."


async def test_a_message_that_keeps_breaking_the_process_gets_an_apology_and_a_line_in_the_log(
    office, anna, caplog
):
    anna.says("boom")
    batch = await office.batch(tries=6, deaths_alone=3)
    assert await office.carry_out("give_up", batch) == "dead"
    assert anna.chat.text == text("turn_buried", "en")
    assert [button.data for button in anna.chat.answers[-1].buttons] == [f"retry:{batch.turn}"]
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert (
        record.getMessage()
        == f"update {batch.turn} has ended 3 processes that ran it alone and is parked"
    )


NOT_OF_THE_LANE = {
    "sent_by_another": lambda update: update["message"]["from"].update(id=8),
    "sent_elsewhere": lambda update: update["message"]["chat"].update(id=-5, type="group"),
    "of_nobody": lambda update: update.pop("message"),
    "unreadable": lambda update: update.update(message="hello"),
}


@pytest.mark.parametrize("change", NOT_OF_THE_LANE.values(), ids=NOT_OF_THE_LANE)
@pytest.mark.parametrize("operation", ["answer", "run_command", "give_up"])
async def test_nobody_is_answered_for_somebody_else(office, anna, caplog, operation, change):
    """What a row of the inbox says of its lane is no authority: the sender of its update is."""
    anna.says("hello")
    batch = await office.batch()
    change(batch.entries[0].update)

    assert await office.carry_out(operation, batch) == "dead"
    assert (anna.chat.answers, office.model.requests) == ([], [])
    refused = f"updates [{batch.turn}] are not of the lane they waited in and are refused"
    assert refused in [record.getMessage() for record in caplog.records]


async def test_what_another_person_sent_is_left_out_and_the_rest_answered(office, anna):
    office.model.script = [says("Hello!")]
    anna.says("not mine")
    anna.says("mine")
    batch = await office.batch()
    NOT_OF_THE_LANE["sent_by_another"](batch.entries[0].update)

    assert await office.answer(batch) == "done"
    assert [shown.text for shown in anna.chat.answers] == ["Hello!"]
    assert "not mine" not in str(office.model.requests)


@pytest.mark.parametrize(
    ("operation", "state"), [("skip_superseded", "cancelled"), ("give_up", "dead")]
)
async def test_a_fate_does_not_depend_on_whether_it_could_be_told(office, anna, operation, state):
    anna.says("hello")
    batch = await office.batch()
    anna.blocks()
    assert await office.carry_out(operation, batch) == state


@pytest.mark.parametrize("operation", ["skip_superseded", "give_up", "run_command"])
async def test_what_a_busy_chat_cannot_be_told_now_is_told_later(office, anna, operation):
    anna.says("/new" if operation == "run_command" else "hello")
    batch = await office.batch()
    office.server.faults.next("sendMessage", Fault.too_many(27))
    with pytest.raises(ChatBusy):
        await office.carry_out(operation, batch)
    office.naps.passed += 27
    await office.carry_out(operation, batch)
    assert len(anna.chat.answers) == 1


# -------------------------------------------------------------------------------------------- turns


async def test_an_answer_reaches_the_person(office, anna):
    office.model.script = [says("Hello, **Anna**!")]
    anna.says("I am Anna")
    assert await office.answer() == "done"
    assert anna.chat.text == "Hello, Anna!"


async def test_the_batch_is_one_question(office, anna):
    office.model.script = [says("Both.")]
    anna.pastes("a" * 5000)
    anna.says("and this")
    assert await office.answer() == "done"
    [request] = office.model.requests
    asked = [block["text"] for block in request.messages[-1]["content"]]
    assert asked[-2:] == ["a" * 5000, "and this"]
    assert len(anna.chat.answers) == 1


async def test_what_cannot_be_read_gets_a_sentence_and_no_call_of_the_model(office, anna):
    anna.sends({"video_note": {"file_id": "f", "file_unique_id": "u", "length": 1, "duration": 1}})
    assert await office.answer() == "done"
    assert anna.chat.text == text("unreadable_video", "en")
    assert office.model.requests == []


@pytest.mark.parametrize(
    "kind", [ModelBusy, PromptTooLong, ModelRefused, ModelMisconfigured, EmptyAnswer]
)
async def test_an_error_becomes_its_sentence_in_the_persons_language(office, kind):
    ivan = office.server.person(9, "Иван", "ru")
    office.model.script = [fails(kind)]
    ivan.says("привет")
    assert await office.answer() == "failed"
    assert ivan.chat.text == text(kind.text, "ru")


async def test_what_nobody_expected_becomes_a_general_sentence_and_a_traceback_in_the_log(
    office, anna, caplog
):
    """The script is empty, so the model raises what is no BotError."""
    anna.says("hello")
    assert await office.answer() == "failed"
    assert anna.chat.text == text("error_unexpected", "en")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info is not None


async def test_what_a_penalty_held_back_is_delivered_by_the_next_run_without_asking_the_model(
    office, anna
):
    """C89, C3: complete to its last word."""
    parts = "\n\n".join(f"{word} " + "words " * 600 for word in ("one", "two", "three"))
    office.model.script = [says(parts)]
    anna.says("hello")
    batch = await office.batch()
    office.server.faults.next("sendMessage", Fault.delay(0), Fault.too_many(27))
    with pytest.raises(ChatBusy) as busy:
        await office.answer(batch)
    assert busy.value.seconds == 27
    assert len(anna.chat.answers) == 1

    office.naps.passed += 27
    assert await office.answer(batch) == "done"
    assert [shown.text.split()[0] for shown in anna.chat.answers] == ["one", "two", "three"]
    assert len(office.model.requests) == 1


async def test_a_run_after_a_crash_delivers_what_was_committed_even_if_the_session_is_closed(
    office, anna
):
    """C3: also the answer of which no part was recorded."""
    office.model.script = [says("Hello!")]
    anna.says("hello")
    batch = await office.batch(is_retry=True)
    await office.answer(batch)
    await office.sessions.close(batch.lane.owner, batch.lane.place)
    office.record = MemoryRecord()
    assert await office.answer(batch) == "done"
    assert [shown.text for shown in anna.chat.answers] == ["Hello!", "Hello!"]
    assert len(office.model.requests) == 1


async def repeated(office, anna, turn):
    """A press that asks for this turn's answer once more."""
    anna.presses("", on=anna.chat.answers[-1], data=f"repeat:{turn}")
    return await office.batch()


async def test_an_answer_that_is_repeated_at_a_press_is_not_sent_again_after_a_crash(office, anna):
    """C3: what was sent for the press is on record, as it is for a turn."""
    office.model.script = [says("The answer.")]
    anna.says("hello")
    turn = await office.batch()
    await office.answer(turn)
    press = await repeated(office, anna, turn.turn)
    for _ in range(2):  # the second run follows a crash
        assert await office.carry_out("run_command", press) == "done"

    assert [shown.text for shown in anna.chat.answers] == ["The answer."] * 2


async def test_a_repetition_that_may_not_have_arrived_leaves_the_answer_itself_to_be_offered(
    office, anna
):
    office.model.script = [says("The answer."), says("Another one.")]
    anna.says("hello")
    turn = await office.batch()
    await office.answer(turn)
    office.server.faults.next("sendMessage", *[Fault.dropped("after")] * 2)
    await office.carry_out("run_command", await repeated(office, anna, turn.turn))
    assert office.record.uncertain() == turn.turn

    anna.says("and then?")
    await office.answer()
    assert [button.data for button in anna.chat.answers[-1].buttons] == [f"repeat:{turn.turn}"]


async def test_an_answer_is_not_sent_by_a_run_that_has_lost_its_lease(office, anna):
    """C24: nothing is sent and nothing said; the run that has the lease will do it."""

    class Lost(MemoryRecord):
        def require_lease(self):
            raise LaneLost

    office.record = Lost()
    office.model.script = [says("Hello!")]
    anna.says("hello")
    with pytest.raises(LaneLost):
        await office.answer()
    assert anna.chat.answers == []


async def test_while_the_store_is_away_the_person_is_told_once_and_answered_later(office, anna):
    office.sessions.away = 2
    office.model.script = [says("Hello!")]
    anna.says("hello")
    batch = await office.batch()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await office.answer(batch)
    await office.server.until(lambda: anna.chat.answers)
    assert await office.answer(batch) == "done"
    assert [shown.text for shown in anna.chat.answers] == [text("error_store", "en"), "Hello!"]


async def test_a_turn_that_was_told_to_stop_says_what_it_had(office, anna):
    office.model.script = [hangs("half an answer")]
    anna.says("hello")
    stop = asyncio.Event()
    batch = await office.batch()
    running = asyncio.create_task(office.answer(batch, stop))
    await office.server.until(lambda: office.model.requests)
    stop.set()
    assert await running == "done"
    assert [shown.text for shown in anna.chat.answers] == [
        "half an answer",
        text("ending_interrupted", "en"),
    ]


async def test_an_apology_waits_for_a_busy_chat(office, anna):
    """The whole turn is run again then; nothing of the failed one was stored."""
    office.model.script = [fails(ModelRefused), says("Hello!")]
    anna.says("hello")
    batch = await office.batch()
    office.server.faults.next("sendMessage", Fault.too_many(27))
    with pytest.raises(ChatBusy):
        await office.answer(batch)
    office.naps.passed += 27
    assert await office.answer(batch) == "done"
    assert anna.chat.text == "Hello!"


async def test_an_answer_to_somebody_who_left_ends_quietly(office, anna, caplog):
    office.model.script = [says("Hello!")]
    office.server.faults.always("sendMessage", Fault.forbidden())
    anna.says("hello")
    assert await office.answer() == "refused"
    assert len(office.server.journal.of("sendMessage")) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_an_apology_that_cannot_be_delivered_ends_the_matter(office, anna):
    office.model.script = [fails(ModelRefused)]
    office.server.faults.always("sendMessage", Fault.refused("no"))
    anna.says("hello")
    assert await office.answer() == "failed"
    assert len(office.server.journal.of("sendMessage")) == 1


async def test_a_cancelled_answer_is_cancelled(office, anna):
    """At shutdown: nothing is said, nothing swallowed, and the typing indicator ends."""
    anna.says("hello")
    asked = await office.batch()
    gate = asyncio.Event()
    office.server.faults.always("sendMessage", Fault.hold(gate))
    office.model.script = [says("Hello!")]
    answering = asyncio.create_task(office.answer(asked))
    await office.server.until(lambda: office.server.journal.of("sendMessage"))
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "typing"]


# --------------------------------------------------------------------------------------- publishing


async def test_the_menu_and_the_descriptions_are_set_in_both_languages(office):
    await publish(office.bot)
    for language in LANGUAGES:
        code = None if language == "en" else language
        menu = await office.bot.get_my_commands(language_code=code)
        assert [(item.command, item.description) for item in menu] == [
            (command.name, command.description(language)) for command in COMMANDS.values()
        ]
        assert (await office.bot.get_my_description(code)).description == text(
            "description", language
        )
        short = await office.bot.get_my_short_description(code)
        assert short.short_description == text("short_description", language)


async def test_a_command_with_nothing_to_choose_is_not_in_the_menu(office):
    await publish(office.bot, hidden=["model"])
    menu = [item.command for item in await office.bot.get_my_commands()]
    assert menu == [name for name in COMMANDS if name != "model"]


async def test_a_menu_that_cannot_be_set_stops_nothing(office, caplog):
    office.server.faults.next("setMyCommands", Fault.too_many(3))
    await publish(office.bot)
    assert (await office.bot.get_my_short_description()).short_description
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
