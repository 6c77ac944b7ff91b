"""Which exact changes and contents of files a person approved, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ...protocol import (
    BY_DIGEST,
    PERSON,
    ChangesUndecided,
    EffectEntry,
    HandoffClosed,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    UndecidedAccepted,
    WheelGiven,
    WheelTaken,
)

if TYPE_CHECKING:
    from ...protocol import Event


class ShownChange(NamedTuple):
    """A change of a file as a person sees it."""

    path: str
    before: str | None
    """Blob of the old content, or None if there was no file."""
    after: str | None


@dataclass(slots=True)
class Approvals:
    """Changes that a person approved as a diff and that were not made yet, and contents that a person accepted.

    Approvals of a person who saw only a name or a number of files do not count here, nor those of a rule or a client.
    """

    shown: dict[str, list[ShownChange | None]] = field(default_factory=dict[str, list[ShownChange | None]])
    """Proposal id to its changes, for those that nobody decided on, or None if no text of it is shown."""
    approved: dict[str, ShownChange] = field(default_factory=dict[str, ShownChange])
    """Approved changes by path."""
    accepted: dict[str, dict[str, bool]] = field(default_factory=dict[str, dict[str, bool]])
    """Path to the SHA-256 of each accepted content (empty if there is no file), and whether a person saw it."""
    unreviewed: list[str] = field(default_factory=list[str])
    """Protected and guarded files that a command changed in the workspace itself, and that nobody decided about."""
    in_control: bool = False
    """Whether a person is in control: then the person, not the run, changes what a command changes."""

    def apply(self, event: Event) -> None:
        """Fold the next event into this state."""
        match event:
            case ProposalOpened(path=str() as path) as opened:
                self.shown[opened.proposal_id] = [ShownChange(path, opened.before, opened.after)]
            case ProposalOpened(effects=effects) as opened if effects is not None:
                self.shown[opened.proposal_id] = [_shown(entry) for entry in effects.entries]
            case ProposalRebased() as rebased if rebased.proposal_id in self.shown:
                self.shown[rebased.proposal_id] = [
                    one and one._replace(before=rebased.before, after=rebased.after)
                    for one in self.shown[rebased.proposal_id]
                ]
            case ProposalDecided() as decided:
                self._decide(decided)
            case UndecidedAccepted(paths=paths):
                for one in paths:
                    self.accepted.setdefault(one.path, {})[one.digest] = one.seen
            case ChangesUndecided(protected=protected):
                self.unreviewed = protected
            case HandoffClosed():
                self.unreviewed = []
            case WheelTaken() | WheelGiven():
                self.in_control = isinstance(event, WheelTaken)
            case _:
                pass

    def take(self, path: str, before: str | None, after: str | None) -> bool:
        """Return whether a person approved exactly this change, which was made now."""
        if self.approved.get(path) != (path, before, after):
            return False
        del self.approved[path]
        return True

    def _decide(self, decided: ProposalDecided) -> None:
        shown = self.shown.pop(decided.proposal_id, [])
        if decided.decision == "reject" or decided.by != PERSON or decided.channel == BY_DIGEST:
            return
        for at, one in enumerate(shown):
            own = decided.entries.get(at)
            if one is None or (own is not None and own.skipped):
                continue
            after = decided.after if own is None else own.after
            self.approved[one.path] = one if after is None else one._replace(after=after)


def _shown(entry: EffectEntry) -> ShownChange | None:
    is_compared = entry.added or entry.removed or entry.before == entry.after or not (entry.size or entry.size_before)
    is_file = entry.kind == "file" and entry.is_text and not entry.conflict
    return ShownChange(entry.path, entry.before, entry.after) if is_file and is_compared else None
