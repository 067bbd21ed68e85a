"""What a lane's document tells its next holder: an uncertain answer, turns whose tools acted in
vain, and the message that asked for a title.

The holder reads the marks with its claim and keeps them until it lets the lane go, so a turn that
has none costs no command. A write carries the fence of the claim: a later holder's marks are never
overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence

from pymongo.asynchronous.collection import AsyncCollection

from bot.ports import Claim, TitlePrompt
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate

MAX_TURNS_WITH_EFFECTS = 8


class LaneMarks:
    """The marks of the lanes this process holds."""

    def __init__(self, lanes: AsyncCollection[Document], calls: DriverGate) -> None:
        self._lanes = lanes
        self._calls = calls
        self._uncertain: dict[str, int | None] = {}
        self._acted: dict[str, tuple[int, ...]] = {}
        self._prompts: dict[str, TitlePrompt] = {}

    def claimed(self, lane: Document) -> None:
        """Take over the marks of a lane that was just claimed."""
        self._uncertain[lane["_id"]] = lane.get("uncertain")
        self._acted[lane["_id"]] = tuple(lane.get("acted", ()))
        if (asked := lane.get("titlePrompt")) is not None:
            self._prompts[lane["_id"]] = TitlePrompt(asked["message"], asked["sessionId"])

    def let_go(self, claim: Claim) -> None:
        """Forget a lane that is given back."""
        self._uncertain.pop(claim.lane, None)
        self._acted.pop(claim.lane, None)
        self._prompts.pop(claim.lane, None)

    def uncertain(self, claim: Claim) -> int | None:
        """The turn of this lane whose answer is to be offered again, as its holder knows it."""
        return self._uncertain.get(claim.lane)

    async def mark_uncertain(self, claim: Claim, turn: int | None) -> None:
        """Remember, for whoever holds the lane next, which answer is to be offered again; None:
        none.
        """
        await self._set(claim, "uncertain", turn)
        self._uncertain[claim.lane] = turn

    def turns_with_effects(self, claim: Claim) -> Sequence[int]:
        """The failed turns of this lane whose tools had acted, until a later turn has shown it."""
        return self._acted.get(claim.lane, ())

    async def remember_effects(self, claim: Claim, turn: int | None) -> None:
        """Add a turn to them; None: there are none any more."""
        turns = (
            ()
            if turn is None
            else (*self.turns_with_effects(claim), turn)[-MAX_TURNS_WITH_EFFECTS:]
        )
        await self._set(claim, "acted", list(turns) or None)
        self._acted[claim.lane] = turns

    def title_prompt(self, claim: Claim) -> TitlePrompt | None:
        """The last message of this lane that asked for a title."""
        return self._prompts.get(claim.lane)

    async def asked_title(self, claim: Claim, prompt: TitlePrompt) -> None:
        """Remember which message asks for a title, and of which Session."""
        stored: Document = {"message": prompt.message, "sessionId": prompt.session_id}
        await self._set(claim, "titlePrompt", stored)
        self._prompts[claim.lane] = prompt

    async def _set(
        self, claim: Claim, field: str, value: int | list[int] | Document | None
    ) -> None:
        update = {"$unset": {field: ""}} if value is None else {"$set": {field: value}}
        async with self._calls:
            await self._lanes.update_one({"_id": claim.lane, "fence": claim.fence}, update)
