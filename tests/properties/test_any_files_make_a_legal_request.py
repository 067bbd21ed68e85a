"""Whatever files people send, in whatever order, and whatever became of them: the strict stand-in
takes the request.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.attachments import Attachments, without_files
from bot.agent.attachments.to_blocks import PICTURE_CHARS
from bot.agent.claude import Endpoint, body
from bot.agent.prompt import Prompt, render
from bot.content import text_block
from bot.errors import FileGone, FileTooLarge
from bot.ports import Part, Question
from bot.session import number
from bot.standins.claude.models import standard_offers
from bot.standins.claude.requests import MessagesRequest, shaped
from bot.standins.claude.rules import check
from bot.store.memory.inbox import MemoryRecord
from tests.agents import MODEL
from tests.builders import ANNA, NOON, session, text
from tests.samples import gif, jpeg, pdf, png, sent, webp
from tests.unit.test_files_in_a_turn import Drawer, Told

CONTENTS = (
    png(), png(9000, 1), png()[:30], png(padding=PICTURE_CHARS), jpeg(), jpeg(2500, 10), gif(), gif(0, 0), webp(),
    pdf(), pdf(60), pdf(59), pdf(61), pdf(101, packed=True), b"%PDF-", b"", b"\0",
    b"plain </file>", "слово".encode("cp1251"), b" ",
    FileGone(), FileTooLarge(),
)  # fmt: skip
SIZES = [len(content) if isinstance(content, bytes) else 0 for content in CONTENTS]
KINDS = ("picture", "pdf", "text", "voice")
FILES = st.tuples(st.sampled_from(KINDS), st.integers(0, len(CONTENTS) - 1), st.booleans())
TURNS = st.lists(st.tuples(st.lists(FILES, max_size=24), st.booleans()), min_size=1, max_size=6)
LOST = st.sets(st.integers(0, len(CONTENTS) - 1))
DRAWER = {f"F{number}": content for number, content in enumerate(CONTENTS)}


def blocks(files):
    """A file is of one kind wherever it turns up."""
    return [
        sent(
            kind,
            number,
            name="a.x" if named else "",
            size=SIZES[number],
            unique_id=f"{kind}{number}",
        )
        for kind, number, named in files
    ]


def require_legal(messages):
    wanted = body(
        Prompt(MODEL, b"key").request(ANNA, messages, [], "auto"),
        Endpoint("http://localhost", "key"),
    )
    shaped(MessagesRequest, wanted)
    check(wanted, standard_offers()[MODEL])


async def talk(turns, lost):
    """Each turn as it is asked, with some files gone after the first."""
    drawer, of = Drawer(**DRAWER), session()
    attachments = Attachments(drawer)
    for turn, (files, has_words) in enumerate(turns, start=1):
        content = (*blocks(files), *([text("look")] if has_words else []))
        told: Any = Told()
        question = await attachments.resolve(
            ANNA, Question((Part(turn, content, NOON),)), told, MemoryRecord()
        )
        asked = question.content
        if not asked:
            continue
        messages = render(of, asked, NOON)
        require_legal(await attachments.inline(messages))
        require_legal(without_files(messages))
        entries: Any = [("user", asked, 1), ("assistant", (text_block("I see."),), 1)]
        of.messages += number(of, turn, entries, NOON)
        of.next_seq += 2
        drawer.held |= {f"F{one}": FileGone() for one in lost}


@settings(max_examples=100, deadline=None)
@given(TURNS, LOST)
def test_the_strict_stand_in_takes_every_request(turns, lost):
    asyncio.run(talk(turns, lost))
