"""WEB_SEARCH=on: the provider's own tools are offered, what it cites are links, and the Session
stays plain.
"""

from __future__ import annotations

import pytest

from bot.standins.claude.answers import Answer, Whole

SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "herons"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CITATION = {
    "type": "web_search_result_location",
    "url": "https://www.example.org/birds",
    "encrypted_index": "x",
}


@pytest.fixture
def found():
    return Answer(
        (
            Whole(SEARCH),
            Whole(FOUND),
            Whole({"type": "text", "text": "Herons fish.", "citations": [CITATION]}),
        )
    )


def offered(request):
    return [tool.get("type") for tool in request["tools"] if "type" in tool]


async def test_a_cited_answer_has_its_links_and_the_next_message_is_taken(state, anna, found):
    state.claude.script(found)
    async with state.bot(WEB_SEARCH="on"):
        assert await state.ask(anna, "What do herons do?") == "Herons fish. (example.org)"
        links = [
            entity
            for entity in anna.chat.answers[-1].raw["entities"]
            if entity["type"] == "text_link"
        ]
        await state.ask(anna, "Thank you.")

    assert [link["url"] for link in links] == ["https://www.example.org/birds"]
    assert offered(state.requests[0]) == ["web_search_20250305", "web_fetch_20250910"]
    [_, answered, *_] = state.session(anna.id)["messages"]
    assert [block["type"] for block in answered["content"]] == ["text"]


async def test_it_is_off_unless_an_operator_wants_it(state, anna):
    async with state.bot():
        await state.ask(anna, "What do herons do?")
    assert offered(state.requests[0]) == []
