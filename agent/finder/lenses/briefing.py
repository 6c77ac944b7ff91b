"""What a lens is told before it searches, and a record of it: only what its prompt lists was sent to it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...facts.search.finder_facts import FinderFacts
from ...facts.search.finding import LensFacts
from ...protocol import LensBriefed
from ..items.item_state import Item
from . import prompts

MOST_LEADS = 40
"""Items that one pass of lenses gets to look at."""
_LEAD_CHARACTERS = 8_000
"""Of the leads of one pass together: a prompt that has to be shortened would lose some of them."""
_MOST_FINDINGS = 40


class Briefing(msgspec.Struct, frozen=True):
    """The prompt of one lens in one pass, and what the journal says of it."""

    prompt: str
    record: LensBriefed


def sendable(leads: Sequence[Item]) -> list[Item]:
    """The leads that one prompt lists in full, the first of them at least; the rest waits for the next pass."""
    taken: list[Item] = []
    left = _LEAD_CHARACTERS
    for lead in leads[:MOST_LEADS]:
        left -= len(lead.value)
        if taken and left < 0:
            break
        taken.append(lead)
    return taken


def brief(facts: FinderFacts, lens: LensFacts, leads: Sequence[Item], said: Sequence[str]) -> Briefing:
    """The prompt of the lens for the open pass."""
    shown = list(facts.findings.values())[-_MOST_FINDINGS:]
    prompt = prompts.search_pass(
        None if lens.passes == 0 else facts.pass_number, shown, len(facts.findings) - len(shown), leads, said
    )
    record = LensBriefed(name=lens.name, shown=[one.key for one in shown], leads=[lead.key for lead in leads])
    return Briefing(prompt, record)
