"""When a key on the board counts: nothing that was typed for the message box judges anything. No textual in here.

Times are those of textual's events, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

GRACE = 0.5
"""After the board got the focus nothing is judged; after a slip of the cursor a letter is still the message's."""
SEEN = 0.4
"""A row has to stand under the cursor that long before it can be judged."""

JUDGES = frozenset({"confirm", "refute", "evidence", "merge", "skip"})
"""Actions that a key pressed for another row must never start."""


@dataclass(slots=True)
class Arming:
    """Track since when the board shows its current entry."""

    focused_at: float = float("inf")
    is_sure: bool = True
    """The person went to the board by a key that is for nothing else."""
    picked: tuple[str, str] | None = None
    """The view and the key of its picked entry."""
    picked_at: float = float("inf")

    def focused(self, at: float, *, sure: bool) -> None:
        """Record when the board got the focus."""
        self.focused_at, self.is_sure = at, sure

    def shows(self, tab: str, key: str | None, at: float, *, by_hand: bool) -> None:
        """The screen shows this entry under the cursor; `by_hand`: the person went there."""
        picked = (tab, key) if key is not None else None
        if picked != self.picked:
            self.picked = picked
            self.picked_at = float("-inf") if by_hand else at

    def is_typing(self, at: float) -> bool:
        """A letter at this time is meant for the message."""
        return not self.is_sure and at - self.focused_at < GRACE

    def counts(self, at: float) -> bool:
        """A judgement at this time is meant for the picked entry."""
        is_there = at - self.focused_at >= GRACE
        return is_there and self.picked is not None and at - self.picked_at >= SEEN
