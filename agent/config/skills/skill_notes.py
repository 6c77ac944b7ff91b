"""Tell the user at the start which skills and slash commands of a project are not used, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...protocol.text.counts import plural

_MOST_REASONS = 3
HOW_TO_TRUST = "--trust: for this call, /trust: from now on"


class FoundItem(Protocol):
    """A skill or a slash command."""

    @property
    def place(self) -> str:
        """The folder or file in which it was found."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether the user trusts it."""
        ...

    @property
    def problem(self) -> str:
        """Why it cannot be used."""
        ...


def unused_notes(what: str, found: Sequence[FoundItem]) -> list[str]:
    """Return a line for what is not trusted yet, and a line for each that cannot be used. `what`: `skill`."""
    waiting = [one for one in found if not one.problem and not one.trusted]
    broken = [one for one in found if one.problem]
    notes = (
        [f"ignored {plural(len(waiting), what)} of this folder: not trusted yet ({HOW_TO_TRUST})"] if waiting else []
    )
    notes += [f"ignored the {what} {one.place}: {one.problem}" for one in broken[:_MOST_REASONS]]
    if len(broken) > _MOST_REASONS:
        notes.append(f"ignored {plural(len(broken) - _MOST_REASONS, f'more {what}')}: `rundry skills` lists them")
    return notes
