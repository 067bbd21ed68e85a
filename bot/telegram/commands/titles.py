"""A message in reply to the question for a title is that title, and nothing the model is asked.

It may have been sent in one go with messages that are questions: they stay one. Doing it again
after a crash names the Session once more, so the question for a title stays open.
"""

from __future__ import annotations

from dataclasses import replace

from telegram import Update

from bot.ports import Record, TitlePrompt
from bot.telegram.commands.visible_dialogues import VisibleDialogues
from bot.telegram.inbound.parsed_batch import ParsedBatch
from bot.telegram.outbound.replies import TelegramReply


async def take_titles(
    dialogues: VisibleDialogues, parsed: ParsedBatch, reply: TelegramReply, record: Record
) -> ParsedBatch | None:
    """Name Sessions as asked; the batch without those messages, None where nothing is left."""
    if (prompt := record.title_prompt()) is None:
        return parsed
    titles = [words for update in parsed.updates if (words := _title(update, prompt))]
    if not titles:
        return parsed
    if (named := await dialogues.rename(parsed.lane, prompt.session_id, titles[-1])) is None:
        await reply.notice("dialogue_gone")
    else:
        await reply.notice("rename_done", title=named)
    return _without(parsed, prompt)


def _title(update: Update, prompt: TitlePrompt) -> str:
    """The words of a reply to the prompt; empty where it is none."""
    message = update.message
    if message is None or message.reply_to_message is None:
        return ""
    is_reply = message.reply_to_message.message_id == prompt.message
    return message.text or "" if is_reply else ""


def _without(parsed: ParsedBatch, prompt: TitlePrompt) -> ParsedBatch | None:
    pairs = zip(parsed.batch.entries, parsed.updates, strict=True)
    left = [(entry, update) for entry, update in pairs if not _title(update, prompt)]
    if not left:
        return None
    entries, updates = zip(*left, strict=True)
    return replace(parsed, batch=replace(parsed.batch, entries=entries), updates=updates)
