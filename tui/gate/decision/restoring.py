"""Begin a review with the choices of an earlier one that had no end. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .pending_decision import PendingDecision
from .picks import Picks

if TYPE_CHECKING:
    from rundry.agent import CommandEffects, EntryChoice


def restore_choices(effects: CommandEffects, pending: PendingDecision, choices: Mapping[int, EntryChoice]) -> None:
    """Make these choices on the entries, by index. `pending`: of the whole proposal, without any choice yet."""
    for at, choice in choices.items():
        if choice.skip:
            pending.take(at, taken=False)
            pending.picks.give_reason(at, choice.reason)
            continue
        own = pending.entries.pending.setdefault(at, PendingDecision())
        own.reason, own.edited = choice.reason, choice.text
        if choice.hunks is not None:
            own.cuts = dict(choice.cuts)
            count = effects.entries[at].hunks + sum(map(len, own.cuts.values()))
            own.choose(Picks(count, {*range(count)} - {*choice.hunks}, dict(choice.hunk_reasons)))
