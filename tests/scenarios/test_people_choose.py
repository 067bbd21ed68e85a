"""/model and /persona: a person's own choice, kept by /new and by another process; /plan shows the
Task.
"""

from __future__ import annotations

import pytest

from bot.texts import text

MODELS = {
    "MODEL": "claude-sonnet-5-5",
    "MODELS": "claude-opus-5-5, claude-sonnet-5-5 claude-haiku-5-5",
}
PERSONAS = """
[teacher]
name = "Patient teacher"
prompt = "Explain step by step."

[pirate]
name = "Пират"
prompt = "Answer as a pirate would."
"""


@pytest.fixture
def personas(tmp_path):
    file = tmp_path / "personas.toml"
    file.write_text(PERSONAS, encoding="utf-8")
    return {"PERSONAS_FILE": str(file)}


def labels(message):
    return [button.text for button in message.buttons]


async def tap(state, person, button, **press):
    query = person.presses(button, **press)
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_a_model_is_chosen_by_a_button_and_kept(state, anna, boris, driver):
    async with state.bot(MONGODB_DRIVER=driver, **MODELS):
        await state.ask(anna, "/model")
        assert labels(anna.chat.answers[-1]) == [
            "✓ claude-sonnet-5-5",
            "claude-opus-5-5",
            "claude-haiku-5-5",
        ]
        assert await tap(state, anna, "claude-opus-5-5") == ""
        await state.telegram.until(lambda: "claude-opus-5-5 answers" in anna.chat.text)
        assert labels(anna.chat.answers[-1]) == []
        await state.ask(anna, "/new")
        await state.ask(anna, "Hello")
        await state.ask(boris, "Привет")
    async with state.bot(MONGODB_DRIVER=driver, **MODELS):
        await state.ask(anna, "Hello again")
        await state.ask(anna, "/model")
        assert "✓ claude-opus-5-5" in labels(anna.chat.answers[-1])

    assert [request["model"] for request in state.requests] == [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-opus-5-5",
    ]


async def test_a_choice_after_new_leaves_the_new_session_in_its_place(state, anna):
    """C36: the old one is still there, and is not found instead."""
    async with state.bot(**MODELS):
        await state.ask(anna, "My secret word is heron.")
        await state.ask(anna, "/new")
        await state.ask(anna, "Hello")
        made = state.session(anna.id)["_id"]
        await state.ask(anna, "/model")
        await tap(state, anna, "claude-opus-5-5")
        await state.ask(anna, "What is my secret word?")

    assert state.session(anna.id)["_id"] == made
    assert len(state.sessions(anna.id)) == 2
    assert "heron" not in str(state.requests[-1])


async def test_a_model_that_is_no_longer_offered_counts_as_no_choice(state, anna):
    state.database["owners"].insert_one(
        {"_id": anna.id, "model": "claude-fable-5-2", "persona": "gone"}
    )
    async with state.bot(**MODELS):
        await state.ask(anna, "Hello")
    assert state.requests[-1]["model"] == "claude-sonnet-5-5"


async def test_a_persona_is_a_role_added_to_the_system_prompt(state, anna, personas):
    async with state.bot(**personas):
        await state.ask(anna, "Hello")
        await state.ask(anna, "/persona")
        assert labels(anna.chat.answers[-1]) == ["✓ No particular role", "Patient teacher", "Пират"]
        await tap(state, anna, "Пират")
        await state.ask(anna, "Hello again")
        await state.ask(anna, "/persona")
        await tap(state, anna, "No particular role")
        await state.ask(anna, "And again")

    first, second, third = ("".join(map(str, [request["system"]])) for request in state.requests)
    assert "pirate" in second
    assert second.startswith(first.removesuffix("\n"))
    assert third == first


async def test_a_button_obeys_whom_it_was_made_for(state, anna, boris, personas):
    group = state.telegram.supergroup(members=[anna, boris])
    expired = text("button_expired", "ru")
    async with state.bot(**MODELS, **personas):
        await state.ask(anna, "/model@emulated_bot", chat=group)
        assert await tap(state, boris, "claude-opus-5-5", chat=group) == expired
        shown = group.answers[-1]
        for forged in (
            "model:",
            f"model:{boris.id}:",
            f"model:{boris.id}:0",
            "persona:x:y:z",
            f"model:{anna.id}",
        ):
            assert await tap(state, boris, "", on=shown, data=forged) == expired
        assert await tap(state, anna, "claude-opus-5-5", chat=group) == ""

    assert list(state.database["owners"].find()) == [{"_id": anna.id, "model": "claude-opus-5-5"}]


async def test_where_nothing_is_offered_a_sentence_says_so(state, anna):
    async with state.bot():
        assert await state.ask(anna, "/model") == text("model_only", "en")
        assert await state.ask(anna, "/persona") == text("persona_only", "en")
    assert state.database["owners"].count_documents({}) == 0


async def test_the_plan_is_shown_as_it_stands(state, anna, boris):
    none = text("plan_none", "en")
    async with state.bot():
        assert await state.ask(anna, "/plan") == none
        await state.ask(anna, "Plan a trip: book a flight, find a hotel, pack.")
        shown = await state.ask(anna, "/plan")
        task = state.session(anna.id)["task"]
        assert await state.ask(boris, "/plan") == text("plan_none", "ru")
        state.passes(minutes=31)
        assert await state.ask(anna, "/plan") == none

    assert [f"○ {step['text']}" for step in task["steps"]] == shown.splitlines()[2:]
    assert shown.splitlines()[0] == task["goal"]


async def test_the_menu_offers_only_what_there_is_to_choose(state):
    async def menu():
        await state.telegram.until(lambda: state.telegram.journal.of("setMyShortDescription"))
        return state.telegram.journal.of("setMyCommands")[-1].params["commands"]

    async with state.bot():
        shown = await menu()
        assert '"plan"' in shown
        assert '"model"' not in shown
        assert '"persona"' not in shown
    async with state.bot(MODELS="claude-haiku-5-5"):
        await state.telegram.until(
            lambda: '"model"' in str(state.telegram.journal.of("setMyCommands"))
        )
