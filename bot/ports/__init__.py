"""The Protocols between the core and the world, and the values that cross them.

One rule runs through all of them: what belongs to a person takes the Owner as its first argument
and filters by it. Ids that came in as input (callback data, tool arguments, deep links) are never
authority. An implementation raises only members of the tree in `errors`.
"""

from __future__ import annotations

from bot.ports.dialogues import (
    DIALOGUES_A_PAGE,
    Cursor,
    DialoguePage,
    Dialogues,
    Overview,
    TitlePrompt,
)
from bot.ports.files import Files, Transcribe
from bot.ports.frontend import Frontend, Run
from bot.ports.inbox import Batch, Claim, Entry, Inbox, Kind, State
from bot.ports.leases import Lease
from bot.ports.model import (
    Completion,
    CountTokens,
    Json,
    Model,
    ModelCard,
    Request,
    TokenRatio,
    TokenRatioStore,
    UsageMeter,
)
from bot.ports.notices import Notices
from bot.ports.people import Chats, Note, Notes, Owners, Preferences, Reservation, UsageStore
from bot.ports.records import Effect, Record
from bot.ports.sessions import NOTHING_USED, Archive, Hit, NewId, SessionStore
from bot.ports.turns import Clock, Correction, Corrections, Part, Question, Reply

__all__ = [
    "DIALOGUES_A_PAGE",
    "NOTHING_USED",
    "Archive",
    "Batch",
    "Chats",
    "Claim",
    "Clock",
    "Completion",
    "Correction",
    "Corrections",
    "CountTokens",
    "Cursor",
    "DialoguePage",
    "Dialogues",
    "Effect",
    "Entry",
    "Files",
    "Frontend",
    "Hit",
    "Inbox",
    "Json",
    "Kind",
    "Lease",
    "Model",
    "ModelCard",
    "NewId",
    "Note",
    "Notes",
    "Notices",
    "Overview",
    "Owners",
    "Part",
    "Preferences",
    "Question",
    "Record",
    "Reply",
    "Request",
    "Reservation",
    "Run",
    "SessionStore",
    "State",
    "TitlePrompt",
    "TokenRatio",
    "TokenRatioStore",
    "Transcribe",
    "UsageMeter",
    "UsageStore",
]
