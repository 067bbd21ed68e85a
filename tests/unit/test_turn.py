"""A turn: load, run, commit, reply."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.agent.answers import INTERRUPTED
from bot.agent.scripted import breaks, calls, fails, hangs, says
from bot.compaction import CompactionPolicy
from bot.content import words
from bot.errors import ModelBusy, ModelRefused, PromptTooLong, SessionGone, TooLate
from bot.ports import Correction, Question
from bot.session import Summary
from bot.turn import MAX_LOADS
from tests.builders import ANNA, ANNAS_CHAT, BORIS, BORIS_CHAT, GROUP, NOON, question


class Meanwhile:
    """A model during whose call something else happens."""

    def __init__(self, model, operation):
        self.model, self.operation = model, operation

    async def complete(self, request, on_text, *more):
        await self.operation()
        return await self.model.complete(request, on_text, *more)


async def until(condition):
    """Let the loop turn until `condition` holds, and then some more."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what is waited for is a plain value of a fake
            await asyncio.sleep(0)
    for _ in range(10):
        await asyncio.sleep(0)


def said(session):
    return [(message.role, words(message.content)) for message in session.messages]


async def test_a_turn_is_committed_whole_and_then_answered(house):
    at = house(says("Hello, Anna!"))
    streamed = await at.ask("I am Anna.")

    assert streamed.delivered == ["Hello, Anna!"]
    session = await at.active()
    assert said(session) == [("user", "I am Anna."), ("assistant", "Hello, Anna!")]
    assert (session.revision, session.next_seq, session.title) == (1, 2, "I am Anna.")


async def test_the_next_turn_gets_what_was_said_before(house):
    at = house(says("Hello, Anna!"), says("Anna."))
    await at.ask("I am Anna.")
    at.open()  # another process
    await at.ask("Who am I?")

    texts = [
        block["text"] for message in at.model.requests[1].messages for block in message["content"]
    ]
    assert [line for line in texts if not line.startswith("<sent")] == [
        "I am Anna.",
        "Hello, Anna!",
        "Who am I?",
    ]


async def test_people_and_places_do_not_share_a_session(house):
    at = house(otherwise=lambda request: says(f"{len(request.messages)} messages"))
    await at.ask("private to Anna")
    in_group = await at.ask("in the group", place=GROUP)
    of_boris = await at.ask("private to Boris", BORIS, BORIS_CHAT)
    of_boris_in_group = await at.ask("in the group", BORIS, GROUP)

    for streamed in (in_group, of_boris, of_boris_in_group):
        assert streamed.delivered == ["1 messages"]


async def test_a_tool_call_is_stored_with_its_result(house):
    at = house(calls("remember", text="likes tea"), says("Noted."))
    await at.ask("Remember that I like tea.")

    kinds = [
        [block["type"] for block in message.content] for message in (await at.active()).messages
    ]
    assert kinds == [["text"], ["tool_use"], ["tool_result"], ["text"]]
    assert [note.text for note in await at.notes.of(ANNA, ANNAS_CHAT)] == ["likes tea"]


async def test_a_failed_turn_leaves_no_trace(house):
    """C65: what the provider refuses is in no later request."""
    at = house(fails(ModelRefused), says("Of course."))
    with pytest.raises(ModelRefused):
        await at.ask("something terrible")
    await at.ask("something nice")

    assert said(await at.active()) == [("user", "something nice"), ("assistant", "Of course.")]


async def test_ten_turns_of_which_three_were_asked_twice_are_ten_turns(house):
    """C18: an overload, a torn stream, a prompt that was too long: nothing stays of it, and no
    words are doubled.
    """
    troubles = {3: fails(ModelBusy), 6: breaks("Half an ans"), 9: fails(PromptTooLong)}
    summary = "What was said. " + " ".join(f"fact{number}" for number in range(20))

    def answer(request):
        return troubles.pop(at.number, None) or says(f"Answer {at.number}.")

    at = house(
        otherwise=answer,
        summarise=lambda request: says(summary),
        policy=CompactionPolicy(keep_messages=4),
    )
    for at.number in range(1, 11):
        assert (await at.ask(f"Question {at.number}?")).delivered == [f"Answer {at.number}."]

    session = await at.active()
    everything = [*await at.archive.of(ANNA, session.id), *session.messages]
    expected = [
        line for number in range(1, 11) for line in (f"Question {number}?", f"Answer {number}.")
    ]
    assert [words(message.content) for message in everything] == expected
    assert len(at.model.requests) == 13
    for request in at.model.requests:
        assert str(request.messages).count(words(request.messages[-1]["content"][-1:])) == 1


async def test_an_update_that_is_known_is_delivered_again_and_not_given_to_the_model(house):
    """C3: a run that died after its commit has only its delivery to finish."""
    at = house(says("The answer."))
    await at.ask("The question?", update_id=7)
    streamed = await at.ask("The question?", update_id=7)

    assert streamed.delivered == ["The answer."]
    assert len(at.model.requests) == 1
    assert (await at.active()).revision == 1


def of(*update_ids, words="The question?", is_retry=False):
    """A question of so many messages."""
    return Question(
        tuple(question(words, update_id).parts[0] for update_id in update_ids), is_retry
    )


async def test_an_answer_is_delivered_under_the_name_of_its_turn(house):
    """So that its parts are counted in one place, whichever run sends them."""
    at = house(says("The answer."))
    first = await at.answer(of(7, 8))
    again = await at.answer(of(7, 8))

    assert (first.turns, again.turns) == ([7], [7])


async def test_of_a_batch_only_what_is_not_answered_yet_is_given_to_the_model(house):
    """C3: the rest of the batch is a turn of its own, named by its own first message."""
    at = house(says("The answer."), says("Another one."))
    await at.answer(of(7, 8))
    streamed = await at.answer(of(7, 8, 9, words="More?"))

    assert (streamed.delivered, streamed.turns) == (["The answer.", "Another one."], [7, 9])
    assert said(await at.active())[2:] == [("user", "More?"), ("assistant", "Another one.")]


async def test_two_turns_that_come_again_in_one_batch_are_delivered_each_under_its_name(house):
    at = house(says("One."), says("Two."))
    await at.answer(of(7))
    await at.answer(of(8))
    streamed = await at.answer(of(7, 8))

    assert (streamed.delivered, streamed.turns) == (["One.", "Two."], [7, 8])


async def test_a_retry_finds_its_turn_in_a_session_that_is_closed_by_now(house):
    """C3: the process died after the commit; that its Session has expired since makes the question
    no news.
    """
    at = house(says("The answer."))
    await at.answer(of(7, 8))
    at.clock.advance(timedelta(days=2))
    await at.lifecycle.new(ANNA, ANNAS_CHAT)
    streamed = await at.answer(of(7, 8, is_retry=True))

    assert (streamed.delivered, streamed.turns, streamed.notices) == (["The answer."], [7], [])
    assert len(at.model.requests) == 1
    assert said(await at.active()) == []


async def test_what_a_closed_session_has_not_answered_goes_to_the_active_one(house):
    at = house(says("The answer."), says("Another one."))
    await at.answer(of(7))
    await at.lifecycle.new(ANNA, ANNAS_CHAT)
    streamed = await at.answer(of(7, 9, is_retry=True))

    assert (streamed.delivered, streamed.turns) == (["The answer.", "Another one."], [7, 9])
    assert said(await at.active()) == [("user", "The question?"), ("assistant", "Another one.")]


async def test_a_retry_of_what_was_never_committed_is_a_first_answer(house):
    at = house(says("The answer."))
    streamed = await at.answer(of(7, is_retry=True))

    assert (streamed.delivered, streamed.turns) == (["The answer."], [7])


async def test_a_retry_finds_no_turn_of_another_person(house):
    at = house(says("Anna's answer."), says("Boris's answer."))
    await at.answer(of(7))
    streamed = await at.answer(of(7, is_retry=True), BORIS, BORIS_CHAT)

    assert streamed.delivered == ["Boris's answer."]


async def test_delivered_again_is_all_that_was_said_before_and_after_a_tool(house):
    at = house(says("Let me look.", stop="tool_use").and_(calls("recall")), says("Nothing yet."))
    first = await at.ask("What do you know?", update_id=7)
    again = await at.ask("What do you know?", update_id=7)

    assert again.delivered == first.delivered == ["Let me look.\n\nNothing yet."]


async def test_stopping_keeps_what_was_shown_and_marks_it(house):
    """C72: the stopped turn is closed legally and the next question is answered."""
    at = house(
        calls("recall").and_(says("Let me see", stop="tool_use")),
        hangs("half an answer"),
        says("Gladly."),
    )
    stop = asyncio.Event()
    running = asyncio.create_task(at.ask("Tell me everything.", stop=stop))
    await until(lambda: len(at.model.requests) == 2)
    stop.set()
    streamed = await running
    await at.ask("Something else.")

    shown = "Let me see\n\nhalf an answer"
    assert streamed.delivered == [shown]
    assert streamed.notices == ["ending_interrupted"]
    assert said(await at.active())[1] == ("assistant", f"{shown}\n\n{INTERRUPTED}")


async def test_what_was_written_until_somebody_stopped_it_is_booked(house):
    """The provider reports it with the last word only; who always stopped before that would be
    answered for nothing.
    """
    at = house(hangs("word " * 400))
    stop = asyncio.Event()
    running = asyncio.create_task(at.ask("Tell me everything.", stop=stop))
    await until(lambda: at.model.requests)
    for _ in range(500):
        await asyncio.sleep(0)
    stop.set()
    await running
    assert (await at.active()).usage.output_tokens > 400


async def test_stopping_before_the_first_word_says_only_that_it_stopped(house):
    at = house(hangs())
    stop = asyncio.Event()
    stop.set()
    streamed = await at.ask("Tell me everything.", stop=stop)

    assert (streamed.delivered, streamed.notices) == ([], ["ending_interrupted"])


async def test_a_turn_whose_session_was_closed_meanwhile_is_not_stored_anywhere(house):
    """C35: a late result of the old turn never lands in the new Session."""
    at = house(says("too late"))
    meanwhile = Meanwhile(at.model, lambda: at.lifecycle.new(ANNA, ANNAS_CHAT))
    at.turns = replace(at.turns, agent=replace(at.turns.agent, model=meanwhile))
    with pytest.raises(SessionGone):
        await at.ask("Are you there?")

    assert said(await at.active()) == []


async def test_a_cancelled_turn_stores_nothing(house):
    at = house(hangs("half"))
    running = asyncio.create_task(at.ask("Hello?"))
    await until(lambda: at.model.requests)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (await at.active()).is_empty


# -------------------------------------------------------------------------------- life of a Session


async def test_a_session_goes_on_up_to_the_idle_limit(house):
    at = house(says("One."), says("Two."))
    await at.ask("one")
    before = await at.active()
    at.clock.advance(timedelta(minutes=30))
    streamed = await at.ask("two")

    assert streamed.notices == []
    assert (await at.active()).id == before.id


async def test_after_the_idle_limit_a_new_session_begins_and_the_person_is_told(house):
    at = house(says("One."), says("Two."))
    await at.ask("one")
    before = await at.active()
    at.clock.advance(timedelta(minutes=30, seconds=1))
    streamed = await at.ask("two")

    assert streamed.notices == ["session_expired"]
    after = await at.active()
    assert after.id != before.id
    assert said(after) == [("user", "two"), ("assistant", "Two.")]


async def test_a_day_and_a_half_is_not_half_a_day(house):
    """Elapsed time in full: `timedelta.seconds` of 36 hours would be 12 hours."""
    at = house(says("One."), says("Two."))
    await at.ask("one")
    at.clock.advance(timedelta(days=1, minutes=1))

    assert (await at.ask("two")).notices == ["session_expired"]


async def test_a_message_that_waited_does_not_expire_its_own_session(house):
    """Its own date counts, not the moment at which it is taken up."""
    at = house(says("One."), says("Two."))
    await at.ask("one")
    sent = at.clock.now() + timedelta(minutes=29)
    at.clock.advance(timedelta(hours=2))
    streamed = await at.ask("two", at=sent)

    assert streamed.notices == []


async def test_a_session_ends_at_its_greatest_age_however_busy_it_is(house):
    at = house(otherwise=lambda request: says("Yes."))
    first = await at.ask("first")
    before = await at.active()
    for _ in range(30 * 24 * 2 + 2):
        at.clock.advance(timedelta(minutes=29))
        await at.active()
    at.clock.advance(timedelta(minutes=29))
    while (at.clock.now() - before.created_at) <= timedelta(days=30):
        at.clock.advance(timedelta(minutes=29))
        await at.active()
    streamed = await at.ask("second")

    assert (first.notices, streamed.notices) == ([], ["session_expired"])
    assert (await at.active()).id != before.id


async def test_an_empty_session_expires_without_a_word(house):
    """C28"""
    at = house(says("Hello."))
    await at.lifecycle.new(ANNA, ANNAS_CHAT)
    at.clock.advance(timedelta(hours=5))

    assert (await at.ask("hello")).notices == []


# ------------------------------------------------------------------------------- in another's place


def corrected(words, update_id, replaces):
    return replace(question(words, update_id), replaces=Correction(replaces))


async def test_a_corrected_question_is_asked_again_where_a_compaction_came_between(house):
    """C103: it is given to the model without the turn it corrects, and committed once."""
    at = house(says("Herring."), says("Herrings."), says("Heron?"), says("Heron."))
    await at.ask("herring?", update_id=7)
    await at.ask("herrings?", update_id=8)

    async def compaction():
        session = await at.active()
        if not session.epoch:
            await at.sessions.replace_summary(
                ANNA, session, Summary("Of herrings.", 1, 1, 5, "small", NOON), session.compaction
            )

    at.turns = replace(
        at.turns, agent=replace(at.turns.agent, model=Meanwhile(at.model, compaction))
    )
    streamed = await at.answer(corrected("herons?", 9, 8))
    assert streamed.delivered == ["Heron."]
    assert said(await at.active()) == [("user", "herons?"), ("assistant", "Heron.")]
    assert "herrings?" not in str(at.model.requests[-1].messages)


async def test_a_correction_never_opens_a_session_and_comes_too_late_after_another_turn(house):
    at = house(says("One."), says("Two."))
    with pytest.raises(TooLate):
        await at.answer(corrected("one", 9, 8))
    assert await at.active() is None
    await at.ask("one", update_id=1)
    await at.ask("two", update_id=2)
    with pytest.raises(TooLate):
        await at.answer(corrected("one!", 9, 1))
    assert len(at.model.requests) == 2


async def test_a_correction_that_was_committed_has_only_its_delivery_to_finish(house):
    """C3: the next run finds its turn where the old one was, whether or not the run before it
    died.
    """
    at = house(says("One."), says("One!"))
    await at.ask("one", update_id=1)
    await at.answer(corrected("one!", 9, 1))
    for is_retry in (False, True):
        streamed = await at.answer(replace(corrected("one!", 9, 1), is_retry=is_retry))
        assert streamed.delivered == ["One!"]
    assert len(at.model.requests) == 2


async def test_a_question_whose_session_never_holds_still_is_given_up(house):
    """Each try is paid for: a turn does not begin anew for ever."""
    at = house(says("Herring."), otherwise=lambda request: says("Heron."))
    await at.ask("herring?", update_id=7)

    async def compaction():
        found = await at.active()
        summary = Summary("Of herrings.", -1, found.epoch + 1, 5, "small", NOON)
        assert await at.sessions.replace_summary(ANNA, found, summary, found.compaction)

    restless = replace(at.turns.agent, model=Meanwhile(at.model, compaction))
    at.turns = replace(at.turns, agent=restless)
    with pytest.raises(SessionGone):
        await at.answer(corrected("herons?", 9, 7))
    assert len(at.model.requests) == 1 + MAX_LOADS
    assert said(await at.active()) == [("user", "herring?"), ("assistant", "Herring.")]
