"""What a person sees of an answer while it grows: drafts and edits over HTTP, against a strict
stand-in.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import LaneLost
from bot.owner import Place
from bot.standins.telegram.faults import Fault
from bot.store.memory.inbox import MemoryRecord
from bot.telegram.outbound.limiter import Limiter
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.previews import (
    KEEP_ALIVE_SECONDS,
    GrowingText,
    Preview,
    preview_targets,
)
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.splitting import Chunk
from bot.telegram.outbound.transport import Transport
from bot.texts import text
from tests.telegrams import PENALTIES_WARN, Naps, telegram

pytestmark = PENALTIES_WARN

TURN = 870_000_001
WORDS = ["**Herons** ", "are `long-legged` birds. ", "They stand ", "still."]
WHOLE = "Herons are long-legged birds. They stand still."


class PageServer:
    """One bot, its messages, and the time that passes by its naps."""

    def __init__(self, server, bot):
        self.server, self.bot = server, bot
        self.naps = Naps(hold=4)
        self.record = MemoryRecord()
        self.restart()

    def restart(self):
        """A new process: the same record, nothing else."""
        self.messages = Messages(
            Transport(self.bot, sleep=self.naps, limiter=Limiter(self.naps.now))
        )

    def reply(self, place, reply_to=None):
        return TelegramReply(self.messages, place, "en", self.record, reply_to=reply_to)

    def preview(self, place, words):
        """Show these words, without the typing indicator, whose naps are shorter than any hold."""
        targets = preview_targets(self.messages, place, TURN, self.record, None)
        preview = Preview(targets, self.messages, self.record, GrowingText([words]))
        preview.changed()
        return preview

    async def until(self, predicate):
        return await self.server.until(predicate)

    def calls(self, method):
        return self.server.journal.of(method)


@pytest.fixture
async def stage():
    async with telegram() as (server, bot):
        yield PageServer(server, bot)


@pytest.fixture
def anna(stage):
    person = stage.server.person(7, "Anna")
    person.starts()
    return person


@pytest.fixture
def group(stage, anna):
    return stage.server.supergroup(members=[anna])


def draft(anna):
    found = anna.chat.draft(anna.state.now)
    return found and found.text


# --------------------------------------------------------------------------------------- in private


async def test_a_draft_grows_formatted_and_ends_in_one_message(stage, anna):
    """C90, C91: what is shown is what has come, from the first character on; the answer is a real
    message.
    """
    seen = []
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        for number in range(len(WORDS)):
            reply.grow(WORDS[number])
            shown = "".join(WORDS[: number + 1]).replace("*", "").replace("`", "").strip()
            await stage.until(lambda shown=shown: draft(anna) == shown)
            seen.append(draft(anna))
        assert anna.chat.answers == []
        assert anna.chat.draft(stage.server.state.now).can_stop
        await reply.deliver("".join(WORDS), turn=TURN)

    assert [message.text for message in anna.chat.answers] == [WHOLE]
    assert all(WHOLE.startswith(prefix) for prefix in seen)
    assert draft(anna) is None
    assert {call.params["draft_id"] for call in stage.calls("sendMessageDraft")} == {str(TURN)}
    assert all(call.params["text"] for call in stage.calls("sendMessageDraft"))


async def test_no_draft_comes_after_the_answer(stage, anna):
    gate = asyncio.Event()
    stage.server.faults.next("sendMessageDraft", Fault.hold(gate))
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("Herons")
        await stage.until(lambda: stage.calls("sendMessageDraft"))
        delivering = asyncio.create_task(reply.deliver("Herons.", turn=TURN))
        reply.grow(" stand still")
        gate.set()
        await delivering

    assert [call.method for call in stage.server.journal][-1] == "sendMessage"
    assert draft(anna) is None


async def test_a_draft_that_would_fade_is_shown_again(stage, anna):
    stage.naps.hold = KEEP_ALIVE_SECONDS + 1
    preview = stage.preview(Place(7), "Herons")
    await stage.until(lambda: len(stage.calls("sendMessageDraft")) > 2)
    assert draft(anna) == "Herons"
    await preview.end()


@pytest.mark.parametrize(
    "fault",
    [Fault.refused("TEXTDRAFT_PEER_INVALID"), Fault.broken(404), Fault.broken(500)],
    ids=["refused", "unknown", "broken"],
)
@pytest.mark.parametrize("shown", [0, 1])
async def test_where_drafts_are_refused_a_message_is_edited_for_the_rest_of_the_turn(
    stage, anna, fault, shown
):
    """C143: from the first draft on, or from the second; the answer takes the message's place."""
    stage.server.faults.next("sendMessageDraft", *[Fault.delay(0)] * shown, *[fault] * 9)
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("Herons ")
        await stage.until(lambda: stage.calls("sendMessageDraft"))
        for word in ("stand ", "in ", "water."):
            reply.grow(word)
            await stage.until(lambda word=word: word.strip() in str(anna.chat.text))
        await reply.deliver("Herons stand in water.", turn=TURN)

    assert [message.text for message in anna.chat.answers] == ["Herons stand in water."]
    assert len(stage.calls("sendMessageDraft")) == shown + 1
    assert stage.calls("editMessageText")


@pytest.mark.parametrize("fault", [Fault.too_many(2)], ids=["too many"])
async def test_after_a_failure_there_are_no_more_previews_in_this_turn_and_the_answer_comes(
    stage, anna, fault
):
    """C88, C91: nothing is said about it, and nothing but the answer goes to that chat."""
    stage.server.faults.always("sendMessageDraft", fault)
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("Herons ")
        await stage.until(lambda: stage.calls("sendMessageDraft"))
        for _ in range(20):
            reply.grow("stand ")
            await asyncio.sleep(0)
        await reply.deliver("Herons stand.", turn=TURN)

    assert [message.text for message in anna.chat.answers] == ["Herons stand."]
    assert len(stage.calls("sendMessageDraft")) == 1


async def test_a_chat_that_is_not_found_says_nothing_about_others_or_about_the_next_turn(
    stage, anna
):
    """C94: it is about the chat; there is nothing to switch off."""
    boris = stage.server.person(8, "Boris")
    boris.starts()
    stage.server.faults.next("sendMessageDraft", Fault.refused("chat not found"), chat=7)
    async with (
        stage.reply(Place(7)).show_typing(TURN) as first,
        stage.reply(Place(8)).show_typing(TURN) as other,
    ):
        first.grow("Herons ")
        await stage.until(lambda: stage.calls("sendMessageDraft"))
        other.grow("Herons")
        await stage.until(lambda: draft(boris) == "Herons")
        assert draft(anna) is None
    async with stage.reply(Place(7)).show_typing(TURN) as second:
        second.grow("Trains")
        await stage.until(lambda: draft(anna) == "Trains")


async def test_formatting_that_telegram_cannot_read_is_left_out_of_the_draft(stage, anna):
    stage.server.faults.next(
        "sendMessageDraft", Fault.refused("can't parse entities: can't find end")
    )
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("**Herons**")
        await stage.until(lambda: draft(anna) == "Herons")
    assert anna.chat.draft(stage.server.state.now).entities == ()


async def test_a_notice_in_between_wipes_the_draft_off_for_a_moment_only(stage, anna):
    """C92: nothing that was read vanishes."""
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("Herons")
        await stage.until(lambda: draft(anna) == "Herons")
        await reply.notice("compaction_gap")
        await stage.until(lambda: draft(anna) == "Herons")
    assert len(anna.chat.answers) == 1


async def test_what_others_say_in_the_chat_wipes_it_off_for_a_moment_only(stage, anna):
    """C92: /help, say, or a sentence about the store, while an answer is being written."""
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("Herons")
        await stage.until(lambda: draft(anna) == "Herons")
        await stage.messages.send(Place(7), Chunk("The commands I know"))
        await stage.until(lambda: draft(anna) == "Herons")
        await reply.deliver("Herons.", turn=TURN)
    await stage.messages.send(Place(7), Chunk("Later"))
    assert stage.messages.drafts == {}
    assert [message.text for message in anna.chat.answers] == [
        "The commands I know",
        "Herons.",
        "Later",
    ]


async def test_a_long_answer_shows_the_part_that_is_being_written(stage, anna):
    """C87"""
    parts = [f"{word} " * 600 for word in ("one", "two", "three")]
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("\n\n".join(parts))
        await stage.until(lambda: (draft(anna) or "").endswith("three"))
        await reply.deliver("\n\n".join(parts), turn=TURN)
    together = " ".join(message.text for message in anna.chat.answers)
    assert [together.count(word) for word in ("one", "two", "three")] == [600, 600, 600]


async def test_after_the_lease_nothing_is_shown(stage, anna):
    """C24"""

    class Woken(MemoryRecord):
        def require_lease(self):
            raise LaneLost

    stage.record = Woken()
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("Herons")
        await stage.until(lambda: not painting())
    assert draft(anna) is None


def painting():
    return [task for task in asyncio.all_tasks() if task.get_name() == "preview"]


# ---------------------------------------------------------------------------------------- in groups


async def test_in_a_group_a_message_grows_and_becomes_the_answer(stage, anna, group):
    asked = anna.says("herons?", chat=group)
    async with stage.reply(Place(group.id), reply_to=asked.message_id).show_typing(TURN) as reply:
        reply.grow("**Herons** ")
        await stage.until(lambda: group.text == "Herons")
        reply.grow("stand ")
        await stage.until(lambda: group.text == "Herons stand")
        await reply.deliver("**Herons** stand still.", turn=TURN)

    [answer] = group.answers
    assert (answer.text, answer.entities[0]["type"]) == ("Herons stand still.", "bold")
    assert answer.raw["reply_to_message"]["message_id"] == asked.message_id
    assert len(stage.calls("sendMessage")) == 1


async def test_what_was_seen_in_full_is_not_edited_again(stage, group):
    """ "Not modified" means that it had arrived."""
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("Herons")
        await stage.until(lambda: group.text == "Herons")
        await reply.deliver("Herons", turn=TURN)
    assert [message.text for message in group.answers] == ["Herons"]


async def test_the_rest_of_a_long_answer_follows_the_preview(stage, group):
    """C87: each piece once, no preview left beside the answer."""
    parts = [f"{word} " * 600 for word in ("one", "two", "three")]
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("\n\n".join(parts))
        await stage.until(lambda: group.answers)
        await reply.deliver("\n\n".join(parts), turn=TURN)
    assert [message.text.split()[0] for message in group.answers] == ["one", "two", "three"]


async def test_a_long_answer_grows_on_in_a_next_message(stage, group):
    """C87: while it is written its parts are seen whole, and in the end each piece once."""
    stage.naps.hold = 4.5
    one, two = "one " * 600, "two " * 500
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow(one)
        await stage.until(lambda: group.answers)
        reply.grow(f"\n\n{two[:1000]}")
        await stage.until(lambda: group.answers[0].text.endswith("two"))
        reply.grow(two[1000:])
        await stage.until(
            lambda: [shown.text for shown in group.answers] == [one.strip(), two.strip()]
        )
        await reply.deliver(f"{one}\n\n{two}", turn=TURN)
    assert [message.text for message in group.answers] == [one.strip(), two.strip()]
    assert len(stage.calls("sendMessage")) == 2


async def test_after_a_crash_all_parts_take_their_places_and_what_is_left_over_goes(stage, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("\n\n".join(f"{word} " * 600 for word in ("one", "two", "three")))
        await stage.until(lambda: len(group.answers) == 3)
    stage.restart()
    stage.server.faults.next("deleteMessage", Fault.refused("message can't be deleted"))
    answer = "four " * 815 + "\n\n" + "five " * 9
    await stage.reply(Place(group.id)).deliver(answer, turn=TURN)
    assert [message.text.split()[0] for message in group.answers] == ["four", "five", "three"]
    await stage.reply(Place(group.id)).deliver(answer, turn=TURN)
    assert [message.text.split()[0] for message in group.answers] == ["four", "five"]


async def test_of_an_answer_that_will_not_come_nothing_is_left_but_the_apology(stage, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("\n\n".join(f"{word} " * 600 for word in ("one", "two")))
        await stage.until(lambda: len(group.answers) == 2)
        reply.restart()
        await reply.notice("error_model_busy")
    [shown] = group.answers
    assert shown.text.startswith("The language model is overloaded")


async def test_what_follows_a_file_is_not_shown_before_it(stage, group):
    stage.naps.hold = KEEP_ALIVE_SECONDS
    code = "".join(f"print({number})\n" for number in range(1500))
    answer = f"Here:\n\n```py\n{code}```\n\nThat is all."
    preview = stage.preview(Place(group.id), answer)
    await stage.until(
        lambda: any(3 < nap < KEEP_ALIVE_SECONDS for nap in stage.naps.taken)
    )  # all is shown
    assert len(group.answers) == 2
    await preview.end()
    await stage.reply(Place(group.id)).deliver(answer, turn=TURN)
    label = f"code-1.py ({len(code) // 1024} KB)"
    assert [message.text for message in group.answers] == ["Here:", label, label, "That is all."]
    assert ["document" in message.raw for message in group.answers] == [False, False, True, False]


# ---------------------------------------------------------------------------------- while tools run

NOTES = text("status_notes", "en")


async def test_in_private_what_is_being_done_stands_below_the_text_and_is_no_part_of_it(
    stage, anna
):
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.status("status_notes")
        await stage.until(lambda: draft(anna) == NOTES)
        reply.grow("You **like**")
        await stage.until(lambda: draft(anna) == f"You like\n\n{NOTES}")
        reply.status("")
        await stage.until(lambda: draft(anna) == "You like")
        await reply.deliver("You **like** tea.", turn=TURN)
    assert [message.text for message in anna.chat.answers] == ["You like tea."]


async def test_where_it_does_not_fit_below_the_text_it_follows(stage, anna):
    async with stage.reply(Place(7)).show_typing(TURN) as reply:
        reply.grow("x" * 4090)
        reply.status("status_notes")
        await stage.until(lambda: draft(anna) == NOTES)


async def test_in_a_group_it_is_seen_in_a_preview_that_is_there_and_nowhere_else(stage, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.status("status_notes")
        await stage.until(lambda: stage.calls("sendChatAction"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert group.answers == []
        reply.status("")
        reply.grow("You like")
        await stage.until(lambda: group.text == "You like")
        reply.status("status_notes")
        await stage.until(lambda: group.text == f"You like\n\n{NOTES}")
        await reply.deliver("You like tea.", turn=TURN)
    assert [message.text for message in group.answers] == ["You like tea."]


async def test_in_a_group_it_gets_no_message_of_its_own(stage, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("x" * 4090)
        reply.status("status_notes")
        await stage.until(lambda: group.answers)
        for _ in range(20):
            await asyncio.sleep(0)
        await reply.deliver("x" * 4090, turn=TURN)
    assert [message.text for message in group.answers] == ["x" * 4090]
    assert len(stage.calls("sendMessage")) == 1


async def test_where_a_group_has_moved_the_answer_is_a_message_and_changes_no_other(stage, anna):
    """Messages have other numbers there: neither the preview's nor the question's means
    anything.
    """
    group, moved = stage.server.group(members=[anna]), stage.server.supergroup(members=[anna])
    asked = anna.says("herons?", chat=group)
    for number in range(3):
        await stage.bot.send_message(moved.id, f"earlier {number}")
    async with stage.reply(Place(group.id), reply_to=asked.message_id).show_typing(TURN) as reply:
        reply.grow("Her")
        await stage.until(lambda: group.answers)
        group.migrated_to = moved.id
        await reply.deliver("Herons.", turn=TURN)
    assert [message.text for message in moved.answers] == [
        "earlier 0",
        "earlier 1",
        "earlier 2",
        "Herons.",
    ]
    assert "reply_to_message" not in moved.answers[-1].raw


async def test_after_a_crash_the_answer_takes_the_place_of_the_preview(stage, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("Her")
        await stage.until(lambda: group.answers)
    stage.restart()
    await stage.reply(Place(group.id)).deliver("Herons.", turn=TURN)
    assert [message.text for message in group.answers] == ["Herons."]


async def test_a_preview_that_was_deleted_is_followed_by_a_message(stage, anna, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("Her")
        await stage.until(lambda: group.answers)
        anna.deletes(group.answers[0])
        await reply.deliver("Herons.", turn=TURN)
    assert [message.text for message in group.answers] == ["Herons."]


async def test_the_parts_of_an_answer_keep_their_order_where_the_first_of_its_previews_was_deleted(
    stage, anna, group
):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("\n\n".join(f"{word} " * 600 for word in ("one", "two", "three")))
        await stage.until(lambda: len(group.answers) == 3)
        anna.deletes(group.answers[0])
        await reply.deliver(reply.shown, turn=TURN)
    assert [message.text.split()[0] for message in group.answers] == ["one", "two", "three"]


async def test_where_a_group_has_moved_what_is_left_of_a_preview_is_nobody_elses_message(
    stage, anna
):
    group, moved = stage.server.group(members=[anna]), stage.server.supergroup(members=[anna])
    for number in range(3):
        await stage.bot.send_message(moved.id, f"earlier {number}")
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("\n\n".join(f"{word} " * 600 for word in ("one", "two", "three")))
        await stage.until(lambda: len(group.answers) == 3)
        group.migrated_to = moved.id
        await reply.deliver("Herons.", turn=TURN)
    assert [message.text for message in moved.answers] == [
        "earlier 0",
        "earlier 1",
        "earlier 2",
        "Herons.",
    ]


async def test_the_apology_takes_the_place_of_an_answer_that_will_not_come(stage, group):
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("Her")
        await stage.until(lambda: group.answers)
        reply.restart()
        await reply.notice("error_model_busy")
    [shown] = group.answers
    assert shown.text.startswith("The language model is overloaded")
    assert not stage.record.previews(TURN)


async def test_a_penalty_on_an_edit_is_waited_out_by_the_answer(stage, group):
    """C88, C89"""
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        reply.grow("Her")
        await stage.until(lambda: group.answers)
        stage.server.faults.next("editMessageText", Fault.too_many(2))
        reply.grow("ons")
        await stage.until(lambda: not painting())
        await reply.deliver("Herons.", turn=TURN)
    assert group.text == "Herons."
    assert len(stage.calls("editMessageText")) == 2
    assert 2 in stage.naps.taken


async def test_in_a_group_previews_leave_room_for_answers(stage, group):
    """Telegram grants 20 calls a minute to a group, edits and typing included."""
    async with stage.reply(Place(group.id)).show_typing(TURN) as reply:
        for number in range(200):
            reply.grow(f"{number} ")
            await asyncio.sleep(0.001)
        minutes = stage.naps.passed / 60
    calls = [
        call
        for call in stage.server.journal
        if call.method in {"sendMessage", "editMessageText", "sendChatAction"}
    ]
    assert len(calls) <= 10 * (minutes + 1)
