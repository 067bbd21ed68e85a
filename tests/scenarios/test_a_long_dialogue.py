"""A dialogue of a hundred turns: what is stored and what is sent stays bounded, and the beginning
is remembered.
"""

from __future__ import annotations

import bson

TURNS = 100


async def test_a_long_dialogue_stays_small_and_remembers_its_beginning(state, anna):
    sizes = []
    async with state.bot():
        for number in range(1, TURNS + 1):
            words = (
                "My secret word is heron."
                if number == 3
                else f"Tell me something short about number {number}."
            )
            await state.ask(anna, words)
            state.passes(seconds=40)
            sizes.append(len(bson.encode(state.session(anna.id))))
        await state.eventually(lambda: len(state.session(anna.id)["messages"]) <= 40)
        answer = await state.ask(anna, "What is my secret word?")

    session = state.session(anna.id)
    prompts = [
        len(exchange.raw)
        for exchange in state.claude.journal.exchanges
        if exchange.body.get("tools")
    ]
    archived = [row["seq"] for row in state.database["archive"].find({"ownerId": anna.id})]
    assert session["revision"] == TURNS + 1
    assert "heron" in answer
    assert "heron" in session["summary"]["text"]
    assert len({str(request["system"]) for request in state.requests}) == 1
    assert {*archived, *(message["seq"] for message in session["messages"])} == set(
        range(session["nextSeq"])
    )
    # One sawtooth is over by turn 40; nothing after it may be larger than what came before, save a
    # little slack.
    assert max(sizes[40:]) <= 1.5 * max(sizes[:40])
    assert max(prompts[40:]) <= 1.5 * max(prompts[:40])
