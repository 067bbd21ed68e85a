"""`/sessions`: a person sees their own dialogues, opens, renames and deletes them by buttons."""

from __future__ import annotations

import asyncio

import pytest

from bot.standins.claude.faults import Fault
from bot.standins.telegram.faults import Fault as Held
from bot.texts import text

ME = "@emulated_bot"
TALKS = {
    "en": ("Tell me about herons.", "What is the capital of Peru?", "How deep is the Baikal?"),
    "ru": ("Расскажи о цаплях.", "Какая столица у Перу?", "Насколько глубок Байкал?"),
}


def private(state, person):
    return person.chat, "", {}


def in_group(state, person):
    return state.telegram.supergroup(members=[person]), ME, {}


def in_topic(state, person):
    group = state.telegram.supergroup(members=[person])
    return group, ME, {"thread": person.topic("Birds", chat=group)}


PLACES = pytest.mark.parametrize("where", [private, in_group, in_topic])


@pytest.fixture(params=["en", "ru"])
def person(request, state):
    return state.telegram.person(1003, "Chris", request.param)


def language(person):
    return person.user["language_code"]


async def talks(state, person, chat, me, placed):
    """One dialogue after the other, an hour apart, each ended by /new."""
    for words in TALKS[language(person)]:
        await state.ask(person, f"{me} {words}".strip(), chat=chat, **placed)
        await state.ask(person, f"/new{me}", chat=chat, **placed)
        state.passes(hours=1)


async def listed(state, person, chat, me, placed):
    await state.ask(person, f"/sessions{me}", chat=chat, **placed)
    return chat.answers[-1]


async def press(state, person, label, on, number=0):
    """Press that button of that row; the answer above it."""
    found = [button for button in on.buttons if button.text == label][number]
    query = person.presses("", on=on, data=found.data)
    await state.telegram.until(lambda: query.answer is not None)
    await idle(state)
    return query.answer.get("text", "")


async def idle(state):
    await state.eventually(
        lambda: state.database["inbox"].count_documents({"state": "queued"}) == 0
    )


def label(key, person, **values):
    return text(f"button_{key}", language(person), **values)


def now_shown(chat, message):
    return next(one for one in chat.shown if one.message_id == message.message_id)


@PLACES
async def test_an_old_dialogue_goes_on_where_it_stood(state, person, where):
    """With a recap, and the model knows again what was said in it."""
    chat, me, placed = where(state, person)
    first, second, third = TALKS[language(person)]
    async with state.bot():
        await talks(state, person, chat, me, placed)
        shown = await listed(state, person, chat, me, placed)
        lines = shown.text.splitlines()
        assert lines[0] == text("sessions_head", language(person))
        assert [
            words in line for words, line in zip((third, second, first), lines[2:], strict=True)
        ]
        assert await press(state, person, label("open", person, number="3"), shown) == ""
        recap = now_shown(chat, shown)
        assert (first in recap.text, recap.buttons) == (True, ())
        await state.ask(person, f"{me} And what do they eat?".strip(), chat=chat, **placed)
        shown = await listed(state, person, chat, me, placed)

    assert first in str(state.requests[-1]["messages"])
    assert second not in str(state.requests[-1]["messages"])
    assert "●" in shown.text.splitlines()[2]
    opened = state.session(person.id)
    assert first in opened["title"]
    assert len(state.sessions(person.id, status="active")) == 1


@PLACES
async def test_a_reply_to_the_question_for_a_title_is_the_title(state, person, where):
    """And no question: the model is not asked. The same after a restart."""
    chat, me, placed = where(state, person)
    async with state.bot():
        await talks(state, person, chat, me, placed)
        shown = await listed(state, person, chat, me, placed)
        await press(state, person, label("rename", person), shown, number=1)
        prompt = chat.answers[-1]
        assert "force_reply" in str(state.telegram.journal.of("sendMessage")[-1].params)
    asked = len(state.requests)
    async with state.bot():
        said = await state.ask(person, "Перу 🇵🇪", chat=chat, reply_to=prompt, **placed)
        again = await state.ask(person, "Lima", chat=chat, reply_to=prompt, **placed)
        shown = await listed(state, person, chat, me, placed)
    assert said == text("rename_done", language(person), title="Перу 🇵🇪")
    assert again == text("rename_done", language(person), title="Lima")
    assert "Lima" in shown.text.splitlines()[3]
    assert len(state.requests) == asked


@PLACES
async def test_deleting_asks_first_and_takes_the_archive_along(state, person, where):
    chat, me, placed = where(state, person)
    async with state.bot():
        await talks(state, person, chat, me, placed)
        shown = await listed(state, person, chat, me, placed)
        [gone] = [
            one for one in state.sessions(person.id) if TALKS[language(person)][1] in one["title"]
        ]
        row = {"ownerId": person.id, "sessionId": gone["_id"], "seq": 0, "turn": 1, "role": "user"}
        row |= {"content": [], "at": gone["createdAt"], "tokens": 1}
        state.database["archive"].insert_one(row, bypass_document_validation=True)
        await press(state, person, label("delete", person), shown, number=1)
        await press(state, person, label("keep", person), now_shown(chat, shown))
        assert now_shown(chat, shown).text == shown.text
        await press(state, person, label("delete", person), now_shown(chat, shown), number=1)
        assert gone["_id"] in {one["_id"] for one in state.sessions(person.id)}
        await press(state, person, label("erase", person), now_shown(chat, shown))
        expired = await press(state, person, label("delete", person), shown, number=1)

    assert now_shown(chat, shown).text == text("delete_done", language(person))
    assert expired == text("button_expired", language(person))
    assert gone["_id"] not in {one["_id"] for one in state.sessions(person.id)}
    assert state.database["archive"].count_documents({"sessionId": gone["_id"]}) == 0


async def test_pages_of_eight_lead_there_and_back(state, anna):
    """Also where all were active in the same millisecond: this clock stands still."""
    async with state.bot():
        for number in range(18):
            await state.ask(anna, f"Number {number}")
            await state.ask(anna, "/new")
        shown = await listed(state, anna, anna.chat, "", {})
        pages = [shown]
        for _ in range(2):
            await press(state, anna, text("button_older", "en"), pages[-1])
            pages.append(now_shown(anna.chat, shown))
        await press(state, anna, text("button_newer", "en"), pages[-1])
        back = now_shown(anna.chat, shown)

    titles = [
        line.partition(" — ")[0].partition(". ")[2]
        for page in pages
        for line in page.text.splitlines()[2:]
    ]
    assert sorted(titles) == sorted(f"Number {number}" for number in range(18))
    assert back.text == pages[1].text
    assert text("button_older", "en") not in [button.text for button in pages[2].buttons]


async def test_who_has_none_is_told_so(state, boris):
    async with state.bot():
        assert await state.ask(boris, "/sessions") == text("sessions_none", "ru")


async def test_opening_ends_the_running_turn_and_nothing_of_it_lands_in_the_other(state, anna):
    """What was shown is kept where it was said, marked as interrupted."""
    async with state.bot():
        await state.ask(anna, "Tell me about herons.")
        await state.ask(anna, "/new")
        shown = await listed(state, anna, anna.chat, "", {})
        state.claude.faults.next(Fault.stalled(after=3))
        anna.says("What is the capital of Peru?")
        await state.telegram.until(lambda: anna.chat.drafts)
        await press(state, anna, text("button_open", "en", number="1"), shown)
        await state.ask(anna, "And what do they eat?")

    other, opened = sorted(state.sessions(anna.id), key=lambda one: one["status"] == "active")
    assert (len(opened["messages"]), len(other["messages"])) == (4, 2)
    assert "Peru" not in str(opened["messages"])
    assert "interrupted" in str(other["messages"])


async def test_a_private_dialogue_is_never_listed_or_opened_in_a_group(state, anna):
    group = state.telegram.supergroup(members=[anna])
    async with state.bot():
        await state.ask(anna, "My secret word is heron.")
        private_list = await listed(state, anna, anna.chat, "", {})
        assert await state.ask(anna, f"/sessions{ME}", chat=group) == text("sessions_none", "en")
        await state.ask(anna, f"{ME} Hello", chat=group)
        shown = await listed(state, anna, group, ME, {})
        query = anna.presses("", on=shown, data=private_list.buttons[0].data)
        await state.telegram.until(lambda: query.answer is not None)
    assert query.answer["text"] == text("button_expired", "en")
    assert "heron" not in group.text
    assert len(state.sessions(anna.id, status="active")) == 2


async def test_in_private_a_dialogue_moves_to_the_topic_it_is_opened_in(state, anna):
    async with state.bot():
        await state.ask(anna, "Tell me about herons.")
        topic = anna.topic("Birds")
        await state.ask(anna, "Hello", thread=topic)
        shown = await listed(state, anna, anna.chat, "", {"thread": topic})
        row = next(line[0] for line in shown.text.splitlines()[2:] if "herons" in line)
        await press(state, anna, text("button_open", "en", number=row), shown)
        await state.ask(anna, "And what do they eat?", thread=topic)
    [opened] = state.sessions(anna.id, status="active")
    assert (opened["threadId"], len(opened["messages"])) == (topic, 4)


async def test_a_crash_between_the_press_and_its_end_loses_nothing(state, anna):
    """The bot leaves while the recap is held up; the next process does it once more."""
    gate = asyncio.Event()
    async with state.bot():
        await talks(state, anna, anna.chat, "", {})
        shown = await listed(state, anna, anna.chat, "", {})
        state.telegram.faults.next("editMessageText", Held.hold(gate))
        found = next(button for button in shown.buttons if button.text.startswith("2"))
        anna.presses("", on=shown, data=found.data)
        await state.telegram.until(lambda: state.telegram.journal.of("editMessageText"))
    gate.set()
    async with state.bot():
        await idle(state)
        await state.telegram.until(lambda: TALKS["en"][1] in now_shown(anna.chat, shown).text)
    assert state.session(anna.id)["title"] == TALKS["en"][1]
