"""What the provider looked up: links stay in the text, nothing else of it is stored."""

from __future__ import annotations

import pytest

from bot.agent.storable_content import linked, settled
from bot.content import WireMessage, as_block, words

SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "herons"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"encrypted_content": "x"}],
}


def cited(*urls):
    citations = [
        {"type": "web_search_result_location", "url": url, "encrypted_index": "x"} for url in urls
    ]
    return {"type": "text", "text": "Herons fish.", "citations": citations}


def test_a_citation_is_a_link_after_its_words():
    block = cited(
        "https://www.example.org/birds", "https://other.example/", "https://www.example.org/birds"
    )
    said = (
        "Herons fish. ([example.org](https://www.example.org/birds), "
        "[other.example](https://other.example/))"
    )
    assert linked(as_block(block)) == {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "https://x.example/a_(b) c",
            "Herons fish. ([x.example](https://x.example/a_%28b%29%20c))",
        ),
        ("javascript:alert(1)", "Herons fish."),
        ("https://[broken", "Herons fish."),
        ("https://x](https://evil.example/", "Herons fish."),
        ("", "Herons fish."),
    ],
    ids=["brackets and spaces", "a script", "no address", "another link inside", "nothing"],
)
def test_a_url_cannot_break_out_of_its_link(url, shown):
    assert words([linked(cited(url))]) == shown


def test_a_citation_without_an_address_leaves_the_words_alone():
    block = {
        "type": "text",
        "text": "As you wrote.",
        "citations": [{"type": "char_location", "cited_text": "x"}],
    }
    assert linked(as_block(block)) == {"type": "text", "text": "As you wrote."}


def test_searches_and_what_they_found_are_not_stored():
    said = [as_block(block) for block in (SEARCH, FOUND, cited("https://example.org/"))]
    messages: list[WireMessage] = [{"role": "assistant", "content": said}]
    [(role, content)] = settled(messages)
    assert (role, [block["type"] for block in content]) == ("assistant", ["text"])
    assert "citations" not in content[0]
