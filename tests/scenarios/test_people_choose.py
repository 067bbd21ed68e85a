"""/model and /persona: a person's own choice, kept by /new and by another process; /plan shows the Task."""

from __future__ import annotations

import pytest

from bot.texts import text

MODELS = {"MODEL": "claude-sonnet-5-5", "MODELS": "claude-opus-5-5, claude-sonnet-5-5 claude-haiku-5-5"}
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


async def tap(world, person, button, **press):
    query = person.presses(button, **press)
    await world.telegram.until(lambda: query.answer is not None, seconds=10)
    return query.answer.get("text", "")


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_a_model_is_chosen_by_a_button_and_kept(world, anna, boris, driver):
    async with world.bot(MONGODB_DRIVER=driver, **MODELS):
        await world.ask(anna, "/model")
        assert labels(anna.chat.answers[-1]) == ["✓ claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"]
        assert await tap(world, anna, "claude-opus-5-5") == ""
        await world.telegram.until(lambda: "claude-opus-5-5 answers" in anna.chat.text)
        assert labels(anna.chat.answers[-1]) == []
        await world.ask(anna, "/new")
        await world.ask(anna, "Hello")
        await world.ask(boris, "Привет")
    async with world.bot(MONGODB_DRIVER=driver, **MODELS):
        await world.ask(anna, "Hello again")
        await world.ask(anna, "/model")
        assert "✓ claude-opus-5-5" in labels(anna.chat.answers[-1])

    assert [request["model"] for request in world.requests] == [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-opus-5-5",
    ]


async def test_a_choice_after_new_leaves_the_new_session_in_its_place(world, anna):
    """C36: the old one is still there, and is not found instead."""
    async with world.bot(**MODELS):
        await world.ask(anna, "My secret word is heron.")
        await world.ask(anna, "/new")
        await world.ask(anna, "Hello")
        made = world.session(anna.id)["_id"]
        await world.ask(anna, "/model")
        await tap(world, anna, "claude-opus-5-5")
        await world.ask(anna, "What is my secret word?")

    assert world.session(anna.id)["_id"] == made
    assert len(world.sessions(anna.id)) == 2
    assert "heron" not in str(world.requests[-1])


async def test_a_model_that_is_no_longer_offered_counts_as_no_choice(world, anna):
    world.database["owners"].insert_one({"_id": anna.id, "model": "claude-fable-5-2", "persona": "gone"})
    async with world.bot(**MODELS):
        await world.ask(anna, "Hello")
    assert world.requests[-1]["model"] == "claude-sonnet-5-5"


async def test_a_persona_is_a_role_added_to_the_system_prompt(world, anna, personas):
    async with world.bot(**personas):
        await world.ask(anna, "Hello")
        await world.ask(anna, "/persona")
        assert labels(anna.chat.answers[-1]) == ["✓ No particular role", "Patient teacher", "Пират"]
        await tap(world, anna, "Пират")
        await world.ask(anna, "Hello again")
        await world.ask(anna, "/persona")
        await tap(world, anna, "No particular role")
        await world.ask(anna, "And again")

    first, second, third = ("".join(map(str, [request["system"]])) for request in world.requests)
    assert "pirate" in second
    assert second.startswith(first.removesuffix("\n"))
    assert third == first


async def test_a_button_obeys_whom_it_was_made_for(world, anna, boris, personas):
    group = world.telegram.supergroup(members=[anna, boris])
    expired = text("button_expired", "ru")
    async with world.bot(**MODELS, **personas):
        await world.ask(anna, "/model@emulated_bot", chat=group)
        assert await tap(world, boris, "claude-opus-5-5", chat=group) == expired
        shown = group.answers[-1]
        for forged in ("model:", f"model:{boris.id}:", f"model:{boris.id}:0", "persona:x:y:z", f"model:{anna.id}"):
            assert await tap(world, boris, "", on=shown, data=forged) == expired
        assert await tap(world, anna, "claude-opus-5-5", chat=group) == ""

    assert list(world.database["owners"].find()) == [{"_id": anna.id, "model": "claude-opus-5-5"}]


async def test_where_nothing_is_offered_a_sentence_says_so(world, anna):
    async with world.bot():
        assert await world.ask(anna, "/model") == text("model_only", "en")
        assert await world.ask(anna, "/persona") == text("persona_only", "en")
    assert world.database["owners"].count_documents({}) == 0


async def test_the_plan_is_shown_as_it_stands(world, anna, boris):
    none = text("plan_none", "en")
    async with world.bot():
        assert await world.ask(anna, "/plan") == none
        await world.ask(anna, "Plan a trip: book a flight, find a hotel, pack.")
        shown = await world.ask(anna, "/plan")
        task = world.session(anna.id)["task"]
        assert await world.ask(boris, "/plan") == text("plan_none", "ru")
        world.passes(minutes=31)
        assert await world.ask(anna, "/plan") == none

    assert [f"○ {step['text']}" for step in task["steps"]] == shown.splitlines()[2:]
    assert shown.splitlines()[0] == task["goal"]
