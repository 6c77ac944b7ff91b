"""When a key at the gate counts (docs/requirements.md 6.6, 6.7). Times are those of events; no textual in here."""

from __future__ import annotations

from dataclasses import dataclass, field

GRACE = 0.7
"""Seconds without a key before the first proposal after typing takes the focus."""
HELD = 0.3
"""Seconds between two presses of a key that is held, or pressed twice in haste."""

TYPING = 0.25
"""Seconds in which the next letter makes a word of a letter that is a command."""
HELD_BACK = frozenset(
    {"approve", "reject", "again", "mine", "always", "reason", "edit", "edit_here", "take_all", "leave_all"}
)
"""Actions that a letter starts only when no other letter follows at typing speed. The others change nothing."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A letter that is a command unless it begins a word."""

    action: str
    key: str
    text: str
    seen: tuple[str, str]
    """The proposal and the digest that were painted when the key was pressed: only that can be decided by it."""


@dataclass(frozen=True, slots=True)
class Painted:
    """What a person can have seen."""

    proposal_id: str
    digest: str
    at: float


@dataclass(slots=True)
class Arming:
    """Remembers what was typed and what was painted, and says what follows for the gate."""

    painted: Painted | None = None
    end_seen: bool = False
    _typed_at: float = field(default=float("-inf"))
    _typing: bool = False
    _empty: bool = True
    _last: tuple[str, float] = ("", float("-inf"))
    _decided_by: str = ""

    def keyed(self, at: float, *, empty: bool) -> None:
        """A key went into the message box, which holds nothing now if `empty`."""
        self._typed_at = max(self._typed_at, at)
        self._typing = True
        self._empty = empty

    def keyed_now_empty(self, empty: bool) -> None:
        """What stands in the message box, however it came there."""
        self._empty = empty

    def focused(self) -> None:
        """The gate has the focus: the proposals that follow need no grace."""
        self._typing = False

    def paint(self, proposal_id: str, digest: str, at: float) -> None:
        """The proposal stands on the screen since `at`."""
        self.painted = Painted(proposal_id, digest, at)

    def blank(self) -> None:
        """What stands there is about to change: keys count again once the new state was painted."""
        self.painted, self.end_seen = None, False

    def may_focus(self, now: float) -> bool:
        """The gate may take the focus from an empty message box."""
        if self.painted is None or not self._empty:
            return False
        return not self._typing or now - max(self._typed_at, self.painted.at) >= GRACE

    def is_in_grace(self, now: float) -> bool:
        """The gate takes the focus after some more time without a key."""
        return self.painted is not None and self._empty and self._typing and not self.may_focus(now)

    def counts(self, key_at: float) -> bool:
        """A key of that time was pressed with the painted proposal in sight."""
        return self.painted is not None and key_at > self.painted.at

    def pressed(self, key: str, at: float) -> bool:
        """False for the key that decided the last proposal, while it is held or pressed once more in haste."""
        again = key == self._last[0] and at - self._last[1] < HELD
        self._last = (key, at)
        if not again:
            self._decided_by = ""
        return not again or self._decided_by != key

    def decided(self) -> None:
        """The key that was pressed last decided."""
        self._decided_by = self._last[0]

    def left(self, key: str, at: float) -> None:
        """The key left what was typed into here: pressed twice in haste it does not decide as well."""
        self._last, self._decided_by = (key, at), key
