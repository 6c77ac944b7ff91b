"""Write the prompt of a lens, and its record: what the prompt lists is what was sent to the lens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...protocol import LensBriefed
from . import prompts

if TYPE_CHECKING:
    from ...state.search.finder_facts import FinderFacts
    from ...state.search.finding_facts import LensFacts
    from ..items.item_state import Item

MOST_LEADS = 40
"""Maximum number of leads in the prompt of one pass."""
_LEAD_CHARACTERS = 8_000
"""Characters of all leads in the prompt of one pass. A longer prompt would be shortened and lose some of them."""
_MOST_FINDINGS = 40


class LensPrompt(msgspec.Struct, frozen=True):
    """The prompt of one lens in one pass, and its record in the journal."""

    text: str
    record: LensBriefed


def sendable(leads: Sequence[Item]) -> list[Item]:
    """Return the leads that one prompt can list in full, at least the first. The others wait for the next pass."""
    sent: list[Item] = []
    left = _LEAD_CHARACTERS
    for lead in leads[:MOST_LEADS]:
        left -= len(lead.value)
        if sent and left < 0:
            break
        sent.append(lead)
    return sent


def prompt_of_lens(
    facts: FinderFacts, lens: LensFacts, leads: Sequence[Item], messages: Sequence[str], diff: str = ""
) -> LensPrompt:
    """Write the prompt of the lens for the open pass. `diff`: what a review looks at."""
    shown = list(facts.findings.values())[-_MOST_FINDINGS:]
    text = prompts.lens_prompt(
        None if lens.passes == 0 else facts.pass_number, shown, len(facts.findings) - len(shown), leads, messages
    )
    text = f"{diff}\n\n{text}" if diff else text
    record = LensBriefed(name=lens.name, shown=[one.key for one in shown], leads=[lead.key for lead in leads])
    return LensPrompt(text, record)
