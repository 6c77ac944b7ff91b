"""Decide when a key at the gate counts (docs/requirements.md 6.6, 6.7).

Times are those of events. Does not import textual.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GRACE = 0.7
"""Seconds without a key before the first proposal after typing takes the focus."""
HELD = 0.3
"""Seconds in which the same key does not decide again, because it was held or pressed twice in haste."""
REPEATED = 0.1
"""Seconds between two equal keys below which the keyboard repeats a key that is held; usual are 0.02 to 0.05 s."""
FIRST_REPEATED = 0.8
"""Seconds in which the first repetition of a held key comes; usual are 0.25 to 0.7 s. By itself it is like a press."""
HELD_BACK = frozenset(
    {
        "approve",
        "approve_all",
        "reject",
        "again",
        "mine",
        "always",
        "session",
        "prefix",
        "reason",
        "take_all",
        "leave_all",
    }
)
"""Actions that wait for any next character, and not only for a letter, because they change something."""


@dataclass(frozen=True, slots=True)
class Painted:
    """The proposal that was painted."""

    proposal_id: str
    digest: str
    at: float


@dataclass(slots=True)
class Arming:
    """Remembers what was typed and what was painted, and decides whether a key counts."""

    painted: Painted | None = None
    end_seen: bool = False
    _typed_at: float = field(default=float("-inf"))
    _typing: bool = False
    _empty: bool = True
    _last: tuple[str, float] = ("", float("-inf"))
    _decided_by: str = ""
    _stays_away_from: str = ""
    """The id of the proposal from which the person went to the message box, until they type there."""
    _may_repeat: bool = False
    """The last press came so soon after the same key that it may be the first repetition of a held key."""

    def keyed(self, at: float, *, empty: bool) -> None:
        """Record a key that went into the message box; `empty`: the box is empty now."""
        self._typed_at = max(self._typed_at, at)
        self._typing = True
        self._empty = empty
        if not empty:
            self._stays_away_from = ""

    def keyed_now_empty(self, empty: bool) -> None:
        """Record whether the message box is empty now, whatever changed it."""
        self._empty = empty

    def focused(self) -> None:
        """Record that the gate has the focus: following proposals need no grace period."""
        self._typing, self._stays_away_from = False, ""

    def step_away(self) -> None:
        """Record that the person went to the message box: this proposal does not take the focus from it by itself."""
        self._stays_away_from = self.painted.proposal_id if self.painted is not None else ""

    def paint(self, proposal_id: str, digest: str, at: float) -> None:
        """Record that this proposal is on the screen since `at`."""
        self.painted = Painted(proposal_id, digest, at)

    def blank(self) -> None:
        """Record that what is shown is about to change: keys count again once the new state was painted."""
        self.painted, self.end_seen = None, False

    def may_focus(self, now: float) -> bool:
        """Return whether the gate may take the focus from an empty message box."""
        if self.painted is None or not self._empty or self.painted.proposal_id == self._stays_away_from:
            return False
        return not self._typing or now - max(self._typed_at, self.painted.at) >= GRACE

    def is_in_grace(self, now: float) -> bool:
        """Return whether the gate takes the focus after some more time without a key."""
        return self.painted is not None and self._empty and self._typing and not self.may_focus(now)

    def counts(self, key_at: float) -> bool:
        """Return whether a key of that time was pressed while the painted proposal was visible."""
        return self.painted is not None and key_at > self.painted.at

    def pressed(self, key: str, at: float) -> bool:
        """Return False for the key that decided the last proposal, while it is held or pressed again in haste."""
        before, before_at = self._last
        again = key == before and at - before_at < HELD
        self._last = (key, at)
        if not again:
            self._may_repeat = key == before and at - before_at < FIRST_REPEATED
            self._decided_by = ""
        return not again or self._decided_by != key

    def repeats(self, key: str, at: float) -> bool:
        """Return whether the keyboard repeats a held key; it then does nothing until it is released."""
        last, last_at = self._last
        if not self._may_repeat or key != last or at - last_at >= REPEATED:
            return False
        self._last, self._decided_by = (key, at), key
        return True

    def decided(self) -> None:
        """Record that the last key decided or scrolled: while it is held, it does nothing else."""
        self._decided_by = self._last[0]
