"""Sum up the spend of runs by day and by loop."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from ...protocol import Spent


class GroupSpend(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of the runs of one day or of one loop."""

    name: str
    """Local date as `2026-11-23`, or the name of the loop."""
    runs: int = 0
    complete: int = 0
    """Number of runs whose outcome is complete."""
    steps: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """Cost in USD. None means that at least one call had no known price."""


class GroupPart(msgspec.Struct, frozen=True):
    """What one run adds to its groups."""

    started: float
    loop: str
    spent: Spent
    is_complete: bool


def by_day(parts: Sequence[GroupPart], since: float, now: float) -> list[GroupSpend]:
    """Return the totals of each day from `since` to `now` (Unix seconds), oldest first, with days without a run."""
    found = _grouped((_day(part.started), part) for part in parts)
    days = dict.fromkeys([*(_day(at) for at in _times_on_each_day(since, now)), *found])
    return [found.get(day) or GroupSpend(name=day) for day in sorted(days)]


def by_loop(parts: Sequence[GroupPart]) -> list[GroupSpend]:
    """Return the totals of each loop that ran, most expensive first."""
    found = _grouped((part.loop, part) for part in parts).values()
    return sorted(found, key=lambda each: (-(each.usd or 0.0), -each.tokens, each.name))


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _times_on_each_day(since: float, now: float) -> Iterable[float]:
    """Yield at least one time on each day of the period, but only for its last 400 days."""
    at = max(since, now - 400 * 86_400)
    while at < now:
        yield at
        at += 43_200
    yield now


def _grouped(named: Iterable[tuple[str, GroupPart]]) -> dict[str, GroupSpend]:
    found: dict[str, GroupSpend] = {}
    for name, part in named:
        known = found.get(name) or GroupSpend(name=name)
        found[name] = GroupSpend(
            name=name,
            runs=known.runs + 1,
            complete=known.complete + part.is_complete,
            steps=known.steps + part.spent.steps,
            tokens=known.tokens + part.spent.tokens.total,
            usd=None if known.usd is None or part.spent.unpriced else known.usd + part.spent.usd,
        )
    return found
