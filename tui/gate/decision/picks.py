"""Which hunks of a proposal the person takes, and why not the others. No textual in here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Picks:
    """All are taken at first. A reason stays with its hunk when that is taken after all, and is not told then."""

    count: int = 0
    """Hunks that there are to choose from."""
    _left: set[int] = field(default_factory=set[int])
    _reasons: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def taken(self) -> list[int]:
        """Indexes, in order."""
        return [index for index in range(self.count) if index not in self._left]

    @property
    def left(self) -> list[int]:
        """Indexes, in order."""
        return sorted(self._left)

    @property
    def left_count(self) -> int:
        """How many are left."""
        return len(self._left)

    @property
    def taken_count(self) -> int:
        """How many are taken."""
        return self.count - len(self._left)

    @property
    def is_plain(self) -> bool:
        """Nothing was chosen yet."""
        return not self._left and not self._reasons

    def is_taken(self, hunk: int) -> bool:
        """False for a hunk that is left."""
        return hunk not in self._left

    def toggle(self, hunk: int) -> None:
        """Take it if it is left, leave it if it is taken."""
        if 0 <= hunk < self.count:
            self._left ^= {hunk}

    def take_all(self) -> None:
        """None is left."""
        self._left.clear()

    def leave_all(self) -> None:
        """None is taken."""
        self._left = set(range(self.count))

    def give_reason(self, hunk: int, text: str) -> None:
        """Why it is left; no text takes the reason back."""
        if text:
            self._reasons[hunk] = text
        else:
            self._reasons.pop(hunk, None)

    def reason(self, hunk: int) -> str:
        """Why it is left, if that was said."""
        return self._reasons.get(hunk, "")

    def reasons(self) -> dict[int, str]:
        """Of the hunks that are left."""
        return {hunk: text for hunk, text in sorted(self._reasons.items()) if hunk in self._left}

    def carried(self, there: Mapping[int, int], count: int) -> Picks:
        """The same choices among `count` other hunks: `there` maps these to those. All else is taken."""
        return Picks(
            count,
            {there[hunk] for hunk in self._left if hunk in there},
            {there[hunk]: text for hunk, text in self._reasons.items() if hunk in there},
        )


def matched(before: Sequence[Hashable], after: Iterable[Hashable]) -> dict[int, int]:
    """Hunk to the hunk of the same content; where several are alike, in their order."""
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, key in enumerate(before):
        waiting[key].append(index)
    found: dict[int, int] = {}
    for index, key in enumerate(after):
        if waiting[key]:
            found[waiting[key].pop(0)] = index
    return found
