"""Decide when a key on the board counts, so that a letter typed for a message never judges a finding.

Does not import textual. Times are those of textual's events, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

GRACE = 0.5
"""Time after the board got the focus in which no key judges.

If the cursor slipped there, a letter belongs to the message.
"""
SEEN = 0.4
"""Time for which a row must be under the cursor before it can be judged."""

JUDGES = frozenset({"confirm", "refute", "evidence", "merge", "skip"})
"""Actions that a key pressed for another row must never start."""


@dataclass(slots=True)
class Arming:
    """Track since when the board shows its current entry."""

    focused_at: float = float("inf")
    is_sure: bool = True
    """The person went to the board by a key that has no other use."""
    picked: tuple[str, str] | None = None
    """The view, and the key of its selected entry."""
    picked_at: float = float("inf")

    def focused(self, at: float, *, sure: bool) -> None:
        """Record when the board got the focus."""
        self.focused_at, self.is_sure = at, sure

    def shows(self, tab: str, key: str | None, at: float, *, by_hand: bool) -> None:
        """Record that this entry is under the cursor; `by_hand`: the person moved there."""
        picked = (tab, key) if key is not None else None
        if picked != self.picked:
            self.picked = picked
            self.picked_at = float("-inf") if by_hand else at

    def is_typing(self, at: float) -> bool:
        """Return whether a letter at this time belongs to the message."""
        return not self.is_sure and at - self.focused_at < GRACE

    def counts(self, at: float) -> bool:
        """Return whether a judging key at this time is for the selected entry."""
        is_there = at - self.focused_at >= GRACE
        return is_there and self.picked is not None and at - self.picked_at >= SEEN
