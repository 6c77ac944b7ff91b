"""Current activity of a finder: who does what, how fast, and the newest items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...protocol import ClusterWorker, ItemQueued

_LATEST = 300
"""Maximum number of items kept; the journal has all of them."""
_MOST_KINDS = 40
_MOST_BARS = 400
_PACE_SECONDS = 5
_LEAST_FOR_RATE = 3
"""Number of items from which a rate is computed."""
OTHER = "other failures"
_LONGEST_CAUSE = 200
_EXITED = re.compile(r"exit code \d+: [^;]+")
_ADDRESS = re.compile(r"\S+://\S+")


@dataclass(slots=True)
class Bars:
    """Counts over time in few bars: neighbouring bars are merged if there would be more."""

    counts: list[int] = field(default_factory=list[int])
    seconds: int = 1
    """Duration of one bar."""
    start: float = 0.0
    """Unix time of the first bar."""

    def add(self, at: float, count: int = 1) -> None:
        """Add `count` at the Unix time `at`."""
        if not self.counts:
            self.start = at
        place = max(0, int((at - self.start) / self.seconds))
        while place >= _MOST_BARS:
            self.counts = [sum(self.counts[i : i + 2]) for i in range(0, len(self.counts), 2)]
            self.seconds *= 2
            place = int((at - self.start) / self.seconds)
        if place >= len(self.counts):
            self.counts += [0] * (place + 1 - len(self.counts))
        self.counts[place] += count


def failure_kind(error: str) -> str:
    """Return what failures of the same kind have in common: the error up to its first colon, without addresses.

    An exit code alone says nothing, so the cause that follows it belongs to the kind.
    """
    words = _ADDRESS.sub(" ", error).strip(" :,")
    if (exited := _EXITED.match(words)) is not None:
        return " ".join(exited[0].split())[:_LONGEST_CAUSE]
    return " ".join(words.split(":", 1)[0].split())[:60] or "failed"


@dataclass(slots=True)
class FailureKind:
    """Number of failures of one kind."""

    times: int = 0
    final: int = 0
    """Number of these that failed permanently."""


@dataclass(slots=True)
class Progress:
    """Progress of a finder. Its size depends neither on the number of keys nor on the duration."""

    latest: list[ItemQueued] = field(default_factory=list[ItemQueued])
    """The newest items, oldest first."""
    surfaced: Bars = field(default_factory=Bars)
    """New items over time."""
    doing: dict[str, str] = field(default_factory=dict[str, str])
    """Running work to its activity: `reads src/app.py`."""
    workers: list[ClusterWorker] = field(default_factory=list[ClusterWorker])
    """The workers of the Dask cluster when they were last seen."""
    failures: dict[str, FailureKind] = field(default_factory=dict[str, FailureKind])
    _ended: list[list[int]] = field(default_factory=list[list[int]])
    """Seconds, each with the number of items finished in it."""

    def queued(self, at: float, event: ItemQueued) -> None:
        """Record that an item was queued."""
        if event.reason in ("retry", "regressed"):
            return
        self.latest.append(event)
        del self.latest[:-_LATEST]
        self.surfaced.add(at)

    def failed(self, error: str, *, final: bool) -> None:
        """Record the failure of an item."""
        kind = failure_kind(error)
        if kind not in self.failures and len(self.failures) >= _MOST_KINDS:
            kind = OTHER
        found = self.failures.setdefault(kind, FailureKind())
        found.times += 1
        found.final += final

    def worked(self, at: float) -> None:
        """Record that an item was finished."""
        second = int(at)
        if self._ended and self._ended[-1][0] == second:
            self._ended[-1][1] += 1
        else:
            self._ended.append([second, 1])
            del self._ended[: -2 * _PACE_SECONDS]

    def pace(self, now: float) -> float:
        """Return the items per second over the last full seconds."""
        last = int(now)
        return sum(count for second, count in self._ended if last - _PACE_SECONDS <= second < last) / _PACE_SECONDS

    def rate(self, now: float) -> float | None:
        """Return the items per second since the oldest of the last seconds in which items finished.

        Returns None if fewer than three items finished in them. The rate falls while no item finishes.
        """
        if not self._ended:
            return None
        first, count = self._ended[0]
        after = sum(each for _, each in self._ended) - count
        seconds = now - (first + 1)
        return after / seconds if after >= _LEAST_FOR_RATE and seconds >= 1 else None

    def stop_all(self) -> None:
        """Record that no work is running any longer."""
        self.doing.clear()


def downsampled(counts: Sequence[int], width: int) -> list[float]:
    """Reduce the counts to at most `width` bars, each the mean of its neighbours, for the plots."""
    if width < 1 or not counts:
        return []
    group = -(-len(counts) // width)
    return [sum(part) / len(part) for i in range(0, len(counts), group) if (part := counts[i : i + group])]
