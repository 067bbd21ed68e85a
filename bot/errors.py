"""Every error the bot raises on purpose, in one tree.

    BotError
    ├── StartError                 an operator's mistake: one sentence, a non-zero exit code
    │   └── SettingsError          one line per missing or wrong setting
    ├── StoreError
    │   ├── StoreUnavailable       MongoDB cannot be asked, or did not answer in time
    │   │   └── Uncertain          the write may have happened all the same
    │   │       └── StoreRefused   refused now, perhaps taken later
    │   ├── Duplicate              a document with this key exists already
    │   ├── AlreadyActive          another Session became active first
    │   ├── LaneLost               our lease ran out; another worker has the lane
    │   ├── Unstorable             no document can hold it, however often it is tried
    │   │   └── SessionTooLarge    the turn would push the document over its own cap
    │   └── SessionGone            closed, erased or expired while the turn ran
    ├── ModelError
    │   ├── ModelBusy              passes by waiting: overload, rate limit, torn stream
    │   ├── PromptTooLong          does not fit the model's window
    │   ├── ModelRefused           the model declined to answer
    │   ├── ModelMisconfigured     wrong key, unknown model, invalid request: the operator must act
    │   │   └── ModelUnknown       the provider has no model of this name (any more)
    │   ├── FilesRefused           the model cannot take in a picture or document of the request
    │   └── EmptyAnswer            the model ended its turn without a word
    ├── BudgetSpent                the Owner's allowance for today leaves no room for a call
    ├── FileError                  a file that was sent cannot be opened; `told` is what the model
    reads in its place
    │   ├── FileGone               Telegram has it no longer
    │   ├── FileTooLarge           more bytes than can be fetched
    │   ├── PictureTooLarge        more bytes or pixels than a model takes
    │   ├── TooManyPages           a PDF of more pages than a model takes
    │   └── FileBroken             not what its name says
    ├── FileUnavailable            it cannot be fetched just now; waiting helps
    ├── NotTranscribed             nobody can say just now what was spoken; waiting helps
    ├── ToolFailed                 becomes a tool result for the model, never an exception for the
    user
    ├── TooLate                    a corrected question is no longer the last one of its Session
    ├── SummaryRejected            the summariser's text failed validation; nothing was changed
    └── DeliveryError
        ├── ChatUnreachable        blocked, kicked, deactivated: never try again
        ├── TopicClosed            nobody may write there until it is opened again
        └── ChatBusy               Telegram asks to wait so many seconds

The docstring is the default message. `text` is the key (in `texts/`) of the sentence the user sees;
the exception's own message is for the log and carries neither secrets nor a person's words.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from bot.usage import Usage


class BotError(Exception):
    """Something went wrong that the bot knows how to name."""

    text: ClassVar[str] = "error_unexpected"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class StartError(BotError):
    """The bot cannot start."""


class SettingsError(StartError):
    """A setting is missing or wrong."""


class StoreError(BotError):
    """The store failed."""

    text = "error_store_refused"


class StoreUnavailable(StoreError):
    """MongoDB cannot be reached."""

    text = "error_store"


class Uncertain(StoreUnavailable):
    """MongoDB did not answer in time; the write may have happened."""


class StoreRefused(Uncertain):
    """MongoDB refused a command that it may take later."""

    def __init__(self, message: str = "", *, tries: int = 1) -> None:
        super().__init__(message)
        self.tries = tries
        """How often it is worth trying in all."""


class Duplicate(StoreError):
    """A document with this key exists already."""


class AlreadyActive(StoreError):
    """This Owner already has an active Session in this Place."""


class Unstorable(StoreError):
    """MongoDB has no way to hold this value."""

    text = "error_unstorable"


class LaneLost(StoreError):
    """The lease ran out and another worker has the lane."""


class SessionGone(StoreError):
    """The Session was closed, erased or expired while the turn ran."""

    text = "error_session_gone"


class SessionTooLarge(Unstorable):
    """The Session would outgrow its own cap."""

    text = "error_session_too_large"


class ModelError(BotError):
    """The model call failed."""

    text = "error_model_busy"

    def __init__(self, message: str = "", *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage
        """What the call is billed for; None where it was sent and nobody knows."""


class ModelBusy(ModelError):
    """The model is busy or the connection broke; waiting helps."""

    def __init__(
        self,
        message: str = "",
        *,
        usage: Usage | None = None,
        retry_after: float | None = None,
        at_once: bool = True,
    ) -> None:
        super().__init__(message, usage=usage)
        self.retry_after = retry_after
        """Seconds the provider asked us to wait, where it said so."""
        self.at_once = at_once
        """Whether it may be asked again within this turn; a provider may say no."""


class PromptTooLong(ModelError):
    """The prompt does not fit the model's window."""

    text = "error_too_long"


class ModelRefused(ModelError):
    """The model declined to answer."""

    text = "error_refused"


class ModelMisconfigured(ModelError):
    """The model's provider refuses our key, model or request."""

    text = "error_misconfigured"


class ModelUnknown(ModelMisconfigured):
    """The provider has no model of this name (any more)."""


class FilesRefused(ModelError):
    """The model cannot take in a picture or document of the request."""

    text = "error_files_refused"


class EmptyAnswer(ModelError):
    """The model ended its turn without a word."""

    text = "error_empty_answer"


class BudgetSpent(BotError):
    """The Owner's allowance for today leaves no room for a call of the model."""

    text = "error_budget_none"

    def __init__(self, budget: int, renewed_in: timedelta, needed: int = 0, left: int = 0) -> None:
        super().__init__()
        self.budget = budget
        self.renewed_in = renewed_in
        self.needed = needed
        """Tokens that what was asked takes at least."""
        self.left = left
        """Tokens that were not used or set aside when it was asked."""

    @property
    def passes(self) -> bool:
        """Whether the next day has room for it."""
        return self.needed <= self.budget


class FileError(BotError):
    """A file that was sent cannot be opened."""

    text = "file_broken"
    told: ClassVar[str] = "cannot be opened"


class FileGone(FileError):
    """Telegram has the file no longer."""

    text = "file_gone"
    told = "no longer there"


class FileTooLarge(FileError):
    """The file has more bytes than Telegram lets a bot fetch."""

    text = "file_too_large"
    told = "too large to be opened"


class PictureTooLarge(FileError):
    """The picture has more bytes or pixels than a model takes."""

    text = "file_picture_too_large"
    told = "too large to be shown"


class TooManyPages(FileError):
    """The PDF has more pages than a model takes."""

    text = "file_too_many_pages"
    told = "too many pages to be shown"


class FileBroken(FileError):
    """The file is damaged, or of another kind than its name says."""

    told = "damaged, or not what its name says"


class FileUnavailable(BotError):
    """The file cannot be fetched at the moment."""

    text = "error_file_unavailable"


class NotTranscribed(BotError):
    """The spoken message could not be transcribed."""

    text = "error_not_transcribed"

    def __init__(self, message: str = "", *, was_refused: bool = False) -> None:
        super().__init__(message)
        self.was_refused = was_refused
        """Whether nothing can have been written down, so that there is nothing to pay for."""


class ToolFailed(BotError):
    """A tool could not do what it was asked."""


class TooLate(BotError):
    """The question that was corrected is no longer the last one."""

    text = "again_too_late"


class SummaryRejected(BotError):
    """The summary failed validation."""


class DeliveryError(BotError):
    """A reply could not be delivered."""


class ChatUnreachable(DeliveryError):
    """The chat is gone or the bot is blocked there."""


class TopicClosed(DeliveryError):
    """The topic is closed; it may be opened again."""


class ChatBusy(DeliveryError):
    """Telegram asks to wait before anything more is sent to this chat."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Telegram asks to wait for {seconds:g} s")
        self.seconds = seconds
