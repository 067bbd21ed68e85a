"""Answers of any length and any Markdown arrive whole, formatted, in order."""

from __future__ import annotations

import re

import pytest

ROWS = "\n".join(f"| строка {number} | value {number} | 🦩{number} |" for number in range(12))
CODE = "\n".join(
    f"    print({number!r})  # комментарий <b>{number}</b> & more" for number in range(40)
)
SECTION = f"""\
## Раздел {{number}}: a heading with *emphasis* and `code`

- first level, **bold {{number}}**
  - second level, _italic_
    1. third level: Привет, {{number}} 👩‍👩‍👧
    2. another, with a [link](https://example.com/{{number}})
- List<String> stays, and so does a < b && c > d

| столбец | column | emoji |
|---|---|---|
{ROWS}

```python
def section_{{number}}():
{CODE}
```

> A quotation, section {{number}}, with ~~struck~~ words.
"""
DOCUMENT = "\n".join(SECTION.format(number=number) for number in range(4))


def letters(text):
    """What must survive: letters, digits and symbols, without Markdown's marks, bullets and
    spaces.
    """
    unmarked = re.sub(r"^> |^```python$|\(https://example\.com/\d\)", "", text, flags=re.MULTILINE)
    return re.sub(r"[^\w<>&🦩👩👧‍]", "", unmarked).replace("_", "")


async def test_ten_thousand_characters_of_markdown_arrive_whole(state, anna):
    assert len(DOCUMENT) > 10_000
    state.claude.script(DOCUMENT)
    async with state.bot(MAX_TOKENS="64000"):
        anna.says("Show me everything.")
        await state.telegram.until(
            lambda: "section 3" in anna.chat.text and not anna.chat.action(state.clock.now())
        )

    assert letters(anna.chat.text) == letters(DOCUMENT)
    assert len(anna.chat.answers) >= 3
    kinds = {entity["type"] for message in anna.chat.answers for entity in message.entities}
    assert {"bold", "italic", "pre", "code", "text_link", "strikethrough"} <= kinds
    assert all(call.status == 200 for call in state.telegram.journal.of("sendMessage"))


@pytest.mark.parametrize(
    "text",
    ["x" * 60_000, "```\n" + "y" * 10_000, "слово " * 3000, "🦩" * 5000, "**a " * 2000],
    ids=["no spaces", "one line of code", "Cyrillic", "emoji", "unclosed bold"],
)
async def test_awkward_answers_arrive_whole(state, anna, text):
    """C85, C83"""
    state.claude.script(text)
    want = re.sub(r"[\s`*]", "", text)
    async with state.bot(MAX_TOKENS="64000"):
        anna.says("Go on.")
        await state.telegram.until(lambda: len(re.sub(r"[\s`*]", "", anna.chat.text)) >= len(want))

    assert re.sub(r"[\s`*]", "", anna.chat.text) == want


async def test_error_sentences_are_sent_literally(state, anna):
    """C84: names and symbols in our own sentences are no markup."""
    async with state.bot():
        answer = await state.ask(anna, "/unknown_command_*_[x](y)")

    assert "/help" in answer
