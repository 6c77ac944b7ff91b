"""Which hunks of a proposal the person accepts, and why not the others. Does not import textual."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class HunkChoices:
    """Choices of hunks. At first all are accepted.

    A reason stays with its hunk if that is accepted after all, but is not sent then.
    """

    count: int = 0
    """Number of hunks."""
    _skipped: set[int] = field(default_factory=set[int])
    _reasons: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def accepted(self) -> list[int]:
        """Return the indexes of the accepted hunks, in ascending order."""
        return [index for index in range(self.count) if index not in self._skipped]

    @property
    def skipped(self) -> list[int]:
        """Return the indexes of the skipped hunks, in ascending order."""
        return sorted(self._skipped)

    @property
    def skipped_count(self) -> int:
        """The number of skipped hunks."""
        return len(self._skipped)

    @property
    def accepted_count(self) -> int:
        """The number of accepted hunks."""
        return self.count - len(self._skipped)

    @property
    def is_plain(self) -> bool:
        """Whether the person changed nothing: all hunks accepted, no reasons."""
        return not self._skipped and not self._reasons

    def is_accepted(self, hunk: int) -> bool:
        """Return whether a hunk is accepted."""
        return hunk not in self._skipped

    def toggle(self, hunk: int) -> None:
        """Skip an accepted hunk, or accept a skipped one."""
        if 0 <= hunk < self.count:
            self._skipped ^= {hunk}

    def accept_all(self) -> None:
        """Accept all hunks. Their reasons are kept."""
        self._skipped.clear()

    def skip_all(self) -> None:
        """Skip all hunks. Their reasons are kept."""
        self._skipped = set(range(self.count))

    def give_reason(self, hunk: int, text: str) -> None:
        """Store why a hunk is skipped; an empty text removes the reason."""
        if text:
            self._reasons[hunk] = text
        else:
            self._reasons.pop(hunk, None)

    def reason(self, hunk: int) -> str:
        """Return why a hunk is skipped; empty if no reason was given."""
        return self._reasons.get(hunk, "")

    def reasons(self) -> dict[int, str]:
        """Return the reasons of the skipped hunks."""
        return {hunk: text for hunk, text in sorted(self._reasons.items()) if hunk in self._skipped}

    def spread(self, sources: Sequence[int]) -> HunkChoices:
        """Return the choices after hunks were split or joined. Each new hunk gets the choice of its source."""
        return HunkChoices(
            len(sources),
            {hunk for hunk, source in enumerate(sources) if source in self._skipped},
            {hunk: self._reasons[source] for hunk, source in enumerate(sources) if source in self._reasons},
        )

    def carried(self, there: Mapping[int, int], count: int) -> HunkChoices:
        """Return the same choices for `count` other hunks; `there` maps these to those.

        The other hunks are accepted.
        """
        return HunkChoices(
            count,
            {there[hunk] for hunk in self._skipped if hunk in there},
            {there[hunk]: text for hunk, text in self._reasons.items() if hunk in there},
        )


def matched(before: Sequence[Hashable], after: Iterable[Hashable]) -> dict[int, int]:
    """Map each hunk to the hunk with the same content; equal ones are mapped in their order."""
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, key in enumerate(before):
        waiting[key].append(index)
    found: dict[int, int] = {}
    for index, key in enumerate(after):
        if waiting[key]:
            found[waiting[key].pop(0)] = index
    return found
