"""CommitBatch the proposal of the completeness critic into a lens (docs/requirements.md 2.4.7)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

from ...protocol import CriticSpoke, LensAdded, Record

if TYPE_CHECKING:
    from ...facts.search.finder_facts import FinderFacts
    from ...facts.search.finding import LensFacts


def take_proposal(facts: FinderFacts, name: str, prompt: str, text: str, record: Record) -> None:
    """Add the proposed lens, which then runs once. A prompt that ran already under that name is not run again."""
    name, prompt = name.strip(), prompt.strip()
    namesakes = _namesakes(facts.lenses.values(), name)
    if not name or not prompt:
        record(CriticSpoke(half="model", text=text or "nothing is missing"))
        return
    if same := next((lens for lens in namesakes if _words(lens.prompt) == _words(prompt)), None):
        record(CriticSpoke(half="model", text=f"{text or 'proposed a lens'}: {same.name} has this prompt already"))
        return
    own = name if name not in facts.lenses else _free_name(facts, name)
    record(LensAdded(name=own, prompt=prompt, by="critic", once=True))
    record(CriticSpoke(half="model", lenses=[own], text=text))


def _namesakes(lenses: Iterable[LensFacts], name: str) -> list[LensFacts]:
    """Return the lens of that name and those that the critic proposed under it."""
    return [lens for lens in lenses if lens.name == name or (lens.by == "critic" and lens.name.startswith(f"{name}-"))]


def _free_name(facts: FinderFacts, name: str) -> str:
    return next(own for number in count(2) if (own := f"{name}-{number}") not in facts.lenses)


def _words(prompt: str) -> list[str]:
    return prompt.casefold().split()
