"""Files that people send: opened when they come, shown to the model while their message is in the
Session.

A Session holds what a file was and Telegram's name for it. Before its turn each file of a question
is opened once (`resolve`): what cannot be read becomes a sentence, for the model in its place and
for the person; what was spoken becomes words (`recordings`); of the rest it is noted how many
tokens it takes. For a request the files are put in (`inline`), bounded in number and bytes, at the
same places as before, so that the provider's cache still answers for the front of it.

A file is data. It stands in blocks of its own, and a text says that it is a file's: what is in it
decides nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bot.agent.attachments.limits import fitting, shown
from bot.agent.attachments.recordings import Fee, Recordings
from bot.agent.attachments.to_blocks import to_blocks
from bot.content import (
    FORWARDED,
    Block,
    FileBlock,
    TextBlock,
    WireMessage,
    files_of,
    named,
    text_block,
)
from bot.errors import FileBroken, FileError, FileUnavailable
from bot.own_tags import escape_tags
from bot.owner import Owner
from bot.ports import CountTokens, Files, Part, Question, Record, Reply, Transcribe
from bot.ports.model import rough
from bot.session import Session
from bot.tokens import message_tokens

__all__ = ["LARGE_AT_A_TIME", "Attachments", "are_late", "files_of", "without_files"]

SPOKEN = frozenset({"voice", "audio"})
LARGE = 2 * 2**20
LARGE_AT_A_TIME = 4
"""On its way to the provider a file stands in memory several times over; who comes fifth with a
large one waits.
"""
T = TypeVar("T")


async def roughly(text: str) -> int:
    """For whoever has no better count."""
    return rough(text)


@dataclass(frozen=True, slots=True)
class Finding:
    """What stands for a file from now on; `notice` names the sentence for its person where it
    cannot be read.
    """

    block: Block
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Attachments:
    """Opens files.

    Each is a sentence where there are no `files`, what is spoken where nobody can `transcribe` it.
    """

    files: Files | None = None
    transcribe: Transcribe | None = None
    fee: Fee | None = None
    """What recordings cost; None: nobody counts."""
    count: CountTokens = roughly
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_A_TIME))

    async def resolve(
        self, owner: Owner, question: Question, reply: Reply, record: Record
    ) -> Question:
        """The question with its files opened once; without any content where nothing of it can be
        read.

        The person is told what cannot. Raises FileUnavailable or NotTranscribed where another try
        may help, and BudgetSpent where there is a recording and not enough left to have it written
        down and answered.
        """
        content = [block for part in question.parts for block in part.content]
        files = files_of(content)
        if not files:
            return question
        fits = fitting(files)
        ears = Recordings(owner, question.turn, record, self.transcribe, self.fee)
        senders = [part.update_id for part in question.parts for _ in files_of(part.content)]
        findings = await _each(
            self._found(block, ears, part) if block["unique_id"] in fits else _left_out(block)
            for block, part in zip(files, senders, strict=True)
        )
        findings = _bounded(findings)
        for notice in dict.fromkeys(finding.notice for finding in findings if finding.notice):
            await reply.notice(notice)
        is_readable = len(files) < len(content) or not all(finding.notice for finding in findings)
        rest = iter(findings)
        return replace(
            question,
            parts=tuple(_part(part, rest, is_readable=is_readable) for part in question.parts),
        )

    async def inline(self, messages: Sequence[WireMessage]) -> list[WireMessage]:
        """The messages with their files in place, as the Messages API knows them."""
        wanted = shown([message["content"] for message in messages])
        first: dict[str, FileBlock] = {}
        for message in messages:
            for block in files_of(message["content"]):
                first.setdefault(block["unique_id"], block)
        ids = [one for one in first if one in wanted]
        contents = dict(
            zip(ids, await _each(self._content(first[one]) for one in ids), strict=True)
        )
        seen: set[str] = set()

        def put_in(block: FileBlock) -> Sequence[Block]:
            name = block["unique_id"]
            if name not in contents or name in seen:
                return [_unseen(block, "the same as above" if name in seen else "no longer shown")]
            seen.add(name)
            return contents[name]

        return _replaced(messages, put_in)

    def room(self, messages: Sequence[WireMessage]) -> AbstractAsyncContextManager[None]:
        """To be held while there are requests made of these messages."""
        return self._room(
            *(block for message in messages for block in files_of(message["content"]))
        )

    def _room(self, *files: FileBlock) -> AbstractAsyncContextManager[None]:
        return self.gate if sum(file["bytes"] for file in files) > LARGE else nullcontext()

    async def _found(self, block: FileBlock, ears: Recordings, part: int) -> Finding:
        """What stands for a file that came with the update `part`."""
        if block["kind"] in SPOKEN and self.transcribe is None:
            return Finding(_unseen(block, "you cannot hear it"), f"unreadable_{block['kind']}")
        try:
            async with self._room(block):
                opens = (
                    self._heard(block, ears, part) if block["kind"] in SPOKEN else self._seen(block)
                )
                return Finding(await opens)
        except FileError as fault:
            return Finding(_unseen(block, fault.told), fault.text)

    async def _heard(self, block: FileBlock, ears: Recordings, part: int) -> Block:
        if (said := ears.known(block)) is None:
            said = await ears.words(block, await self._read(block), part)
        if not said.strip():
            raise FileBroken("no word was heard")
        return text_block(
            f"[{block['kind']} message, written down by a program]\n{escape_tags(said.strip())}"
        )

    async def _seen(self, block: FileBlock) -> FileBlock:
        raw = await self._read(block)
        blocks, tokens = await asyncio.to_thread(to_blocks, block, raw)
        return {
            **block,
            "bytes": len(raw),
            "tokens": tokens or await message_tokens(self.count, blocks),
        }

    async def _content(self, block: FileBlock) -> Sequence[Block]:
        try:
            blocks, _ = await asyncio.to_thread(to_blocks, block, await self._read(block))
        except FileError as fault:
            return [_unseen(block, fault.told)]
        except FileUnavailable:
            return [_unseen(block, "cannot be fetched at the moment")]
        return blocks

    async def _read(self, block: FileBlock) -> bytes:
        if self.files is None:
            raise FileError
        return await self.files.read(block["file_id"])


def without_files(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """The messages with a sentence in each file's place, for a model that cannot take in what was
    shown before.
    """
    return _replaced(messages, lambda block: [_unseen(block, "cannot be shown to you")])


def are_late(content: Sequence[Block], session: Session) -> bool:
    """Whether this is nothing but pieces of an album that was answered without them."""
    albums = {
        file.get("album") for message in session.messages for file in files_of(message.content)
    } - {None}
    # Of an album that is forwarded, each piece has such a line of its own.
    pieces = [block for block in content if not str(block.get("text", "")).startswith(FORWARDED)]
    return bool(pieces) and all(block.get("album") in albums for block in pieces)


async def _each(works: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """All of them side by side; what one raises is raised when all have ended."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def _bounded(findings: Sequence[Finding]) -> list[Finding]:
    """Now that it is known what each of them takes."""
    fits = fitting(files_of([finding.block for finding in findings]))
    return [
        finding
        if finding.block["type"] != "file" or finding.block["unique_id"] in fits
        else _too_many(finding.block)
        for finding in findings
    ]


async def _left_out(file: FileBlock) -> Finding:
    return _too_many(file)


def _too_many(file: FileBlock) -> Finding:
    return Finding(_unseen(file, "not opened, too many files at once"), "files_too_many")


def _part(part: Part, findings: Iterator[Finding], *, is_readable: bool) -> Part:
    content = tuple(
        next(findings).block if block["type"] == "file" else block for block in part.content
    )
    return replace(part, content=content if is_readable else ())


def _unseen(file: FileBlock, why: str) -> TextBlock:
    return text_block(f"[{named(file)}: {why}]")


def _replaced(
    messages: Sequence[WireMessage], put_in: Callable[[FileBlock], Sequence[Block]]
) -> list[WireMessage]:
    return [
        {"role": message["role"], "content": list(_blocks(message, put_in))} for message in messages
    ]


def _blocks(
    message: WireMessage, put_in: Callable[[FileBlock], Sequence[Block]]
) -> Iterator[Block]:
    for block in message["content"]:
        yield from put_in(block) if block["type"] == "file" else [block]
