"""What a person may choose for themselves: which of the operator's models answers, and as whom.

A choice outlives Sessions. One that the operator no longer offers counts as none, so taking a model
off the list leaves nobody without an answer. Where there is nothing to choose, nothing is asked of
the store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from bot.agent.prompt import Prompt
from bot.owner import Owner
from bot.ports import Owners, Preferences
from bot.settings.personas import Persona

NOBODY = ""
"""The persona of who has chosen none."""


@dataclass(frozen=True, slots=True)
class PreferenceOptions:
    """The models (the operator's own first) and personas on offer, and who has chosen which."""

    owners: Owners
    models: tuple[str, ...]
    personas: Mapping[str, Persona] = field(default_factory=dict)

    @property
    def pointless(self) -> Collection[str]:
        """What there is nothing to choose of."""
        options = {"model": self.models[1:], "persona": self.personas}
        return [name for name, others in options.items() if not others]

    async def of(self, owner: Owner) -> Preferences:
        """What counts for this Owner now."""
        is_choice = len(self.models) > 1 or self.personas
        chosen = await self.owners.preferences(owner) if is_choice else Preferences()
        return Preferences(
            model=chosen.model if chosen.model in self.models else self.models[0],
            persona=chosen.persona if chosen.persona in self.personas else NOBODY,
        )

    async def prompt(self, owner: Owner, standard: Prompt) -> Prompt:
        """The prompt that counts for this Owner now."""
        chosen = await self.of(owner)
        persona = self.personas.get(chosen.persona or NOBODY)
        system = (
            f"{standard.system}\nYour role in this chat:\n{persona.prompt}\n"
            if persona
            else standard.system
        )
        return replace(standard, model=chosen.model or standard.model, system=system)
