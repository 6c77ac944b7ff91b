"""Summarize the runs of several days, and advise on limits that do not fit them (`rundry report`)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ...budget.ledger import ModelUsage
from ...protocol import EVIDENCE_KINDS, EvidenceKind, Held, JournalError, StallKind
from ...protocol.text.counts import plural
from ..search.search_result import SearchResult
from .by_group import GroupPart, GroupSpend, by_day, by_loop
from .by_hook import HookCount, by_hook
from .run_index import RunsFolder
from .run_tally import LIMITS, RunTally
from .void_runs import newest_as_of_now

if TYPE_CHECKING:
    from .run_line import RunLine

ENOUGH = 3
"""Minimum number of runs with a limit for advice about it."""
TIGHT = 0.25
"""A limit is too tight if at least this share of its runs ended on it."""
LOOSE = 0.25
"""A limit is too loose if nine in ten runs used less than this share of it."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The used share of a limit (0 to 1, or above): median and 90th percentile of the runs that had the limit."""

    runs: int
    median: float
    p90: float


class EndCount(msgspec.Struct, frozen=True, kw_only=True):
    """The runs with one reason of their end; `running` and `interrupted` are runs that have not ended."""

    reason: str
    runs: int
    share: float
    budget: dict[str, Share]
    """Used share by limit."""


class StallCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often one detector fired in all runs."""

    kind: StallKind
    signature: str
    firings: int
    runs: int
    responses: dict[str, int]


class HandoffCount(msgspec.Struct, frozen=True, kw_only=True):
    """The hand-offs with one reason."""

    reason: str
    times: int
    runs: list[str]


class EvidenceCount(msgspec.Struct, frozen=True, kw_only=True):
    """Number of complete runs with the same kind of evidence."""

    kind: EvidenceKind
    runs: int


class ModelSpend(msgspec.Struct, frozen=True, kw_only=True):
    """What one model used in all runs."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    """Cost in USD. None means that at least one call had no known price."""
    estimated: bool


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one limit fits the runs, and why."""

    limit: str
    verdict: Literal["too tight", "too loose", "fits", "unknown"]
    """`unknown`: too few runs had the limit."""
    why: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report over all runs of the period."""

    days: float
    since: float
    """Unix seconds."""
    runs: int
    unreadable: int
    """Number of journals that are damaged or from a newer version."""
    newer: int
    """Number of the unreadable journals that are from a newer version."""
    exits: list[EndCount]
    """Most frequent first."""
    budget: dict[str, Share]
    """Used share of all runs, by limit."""
    detectors: list[StallCount]
    handoffs: list[HandoffCount]
    models: list[ModelSpend]
    """Most expensive first."""
    advice: list[Advice]
    evidenced: list[EvidenceCount] = []
    """Complete runs by kind of evidence, strongest kind first."""
    searches: list[SearchResult] = []
    """Newest first."""
    held: Held = Held()
    """What may have been billed in addition, because calls were cut or reported no usage."""
    by_day: list[GroupSpend] = []
    """Each day of the period, oldest first; a run counts on the day on which it began."""
    by_loop: list[GroupSpend] = []
    """Most expensive first."""
    hooks: list[HookCount] = []
    """Most frequent first."""
    restarts: int = 0
    """How often runs started over after an answer in a file format."""
    restarted_runs: int = 0
    """Number of runs that started over."""


@dataclass(frozen=True, slots=True)
class _Run:
    line: RunLine
    tally: RunTally

    @property
    def reason(self) -> str:
        if self.line.is_void:
            return "void"
        return self.tally.reason.value if self.tally.reason is not None else self.line.state

    def share(self, limit: str) -> float | None:
        given = getattr(self.tally.budget, limit)
        if not given or (limit == "usd" and self.tally.ledger.spent.unpriced):
            return None
        return self.tally.used[limit] / float(given)


def report(folder: Path, days: float, now: float) -> Report:
    """Report on the runs of the given number of days before `now` (Unix seconds). Unreadable runs are only counted."""
    since = now - days * 86_400
    runs: list[_Run] = []
    unreadable = newer = 0
    with RunsFolder(folder) as found:
        lines = list(found.lines())
        for line, shown in zip(lines, newest_as_of_now(lines), strict=True):
            if not line.is_unreadable and line.started < since:
                continue
            try:
                runs.append(_Run(shown, found.tally(line)))
            except JournalError:
                unreadable += 1
                newer += line.state == "newer"
    parts = [GroupPart(run.line.started, run.line.loop, run.tally.ledger.spent, run.line.complete) for run in runs]
    return Report(
        days=days,
        since=since,
        runs=len(runs),
        unreadable=unreadable,
        newer=newer,
        exits=_exits(runs),
        budget=_shares(runs),
        detectors=_detectors(runs),
        handoffs=_handoffs(runs),
        models=_models(runs),
        advice=[_advice(limit, runs) for limit in LIMITS],
        evidenced=_evidenced(runs),
        held=_held(runs),
        by_day=by_day(parts, since, now),
        by_loop=by_loop(parts),
        restarts=sum(run.line.restarts for run in runs),
        restarted_runs=sum(run.line.restarts > 0 for run in runs),
        hooks=by_hook(run.tally.hooks for run in runs),
        searches=[run.tally.search for run in runs if run.tally.search is not None],
    )


def _held(runs: Sequence[_Run]) -> Held:
    found = [run.line.held for run in runs]
    return Held(
        tokens=sum(held.tokens for held in found),
        usd=sum(held.usd for held in found),
        cut_calls=sum(held.cut_calls for held in found),
    )


def _exits(runs: Sequence[_Run]) -> list[EndCount]:
    by_reason: dict[str, list[_Run]] = defaultdict(list)
    for run in runs:
        by_reason[run.reason].append(run)
    found = [
        EndCount(reason=reason, runs=len(some), share=len(some) / len(runs), budget=_shares(some))
        for reason, some in by_reason.items()
    ]
    return sorted(found, key=lambda each: (-each.runs, each.reason))


def _evidenced(runs: Sequence[_Run]) -> list[EvidenceCount]:
    counts = Counter(run.line.evidence_kind for run in runs)
    return [EvidenceCount(kind=kind, runs=counts[kind]) for kind in EVIDENCE_KINDS if counts[kind]]


def _shares(runs: Iterable[_Run]) -> dict[str, Share]:
    found: dict[str, Share] = {}
    for limit in LIMITS:
        shares = [share for run in runs if (share := run.share(limit)) is not None]
        if shares:
            found[limit] = Share(runs=len(shares), median=quantile(shares, 0.5), p90=quantile(shares, 0.9))
    return found


def quantile(values: Sequence[float], part: float) -> float:
    """Return a quantile, by linear interpolation between the two nearest values."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * part
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _detectors(runs: Sequence[_Run]) -> list[StallCount]:
    times: Counter[tuple[StallKind, str]] = Counter()
    where: dict[tuple[StallKind, str], set[str]] = defaultdict(set)
    responses: dict[tuple[StallKind, str], Counter[str]] = defaultdict(Counter)
    for run in runs:
        for fired in run.tally.stalls:
            key = (fired.kind, fired.signature)
            times[key] += sum(fired.responses.values())
            where[key].add(run.line.run_id)
            responses[key].update(fired.responses)
    return [
        StallCount(kind=kind, signature=signature, firings=count, runs=len(where[key]), responses=dict(responses[key]))
        for key, count in times.most_common()
        for kind, signature in (key,)
    ]


def _handoffs(runs: Sequence[_Run]) -> list[HandoffCount]:
    where: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for reason in run.tally.handoffs:
            where[reason].append(run.line.run_id)
    found = [HandoffCount(reason=reason, times=len(ids), runs=sorted(set(ids))) for reason, ids in where.items()]
    return sorted(found, key=lambda each: (-each.times, each.reason))


def _models(runs: Sequence[_Run]) -> list[ModelSpend]:
    usages: dict[str, ModelUsage] = defaultdict(ModelUsage)
    for run in runs:
        for model, usage in run.tally.ledger.by_model.items():
            usages[model].add(usage.calls, usage.spent)
    found = [
        ModelSpend(
            model=model,
            calls=usage.calls,
            tokens_in=usage.spent.tokens.in_,
            tokens_out=usage.spent.tokens.out,
            usd=usage.usd,
            estimated=usage.spent.estimated,
        )
        for model, usage in usages.items()
    ]
    return sorted(found, key=lambda each: (-(each.usd or 0.0), -each.tokens_in, each.model))


def _advice(limit: str, runs: Sequence[_Run]) -> Advice:
    having: Mapping[str, float] = {run.line.run_id: share for run in runs if (share := run.share(limit)) is not None}
    ended_on = sum(1 for run in runs if run.tally.limit == limit)
    if len(having) < ENOUGH:
        why = f"{plural(len(having), 'run')} had this limit: too few for advice"
        return Advice(limit=limit, verdict="unknown", why=why)
    if ended_on / len(having) >= TIGHT:
        why = (
            f"{ended_on} of {len(having)} runs ended on it; the median run used {quantile([*having.values()], 0.5):.0%}"
        )
        return Advice(limit=limit, verdict="too tight", why=why)
    if limit == "usd" and not any(having.values()):
        return Advice(limit=limit, verdict="unknown", why=f"none of {len(having)} runs cost anything: local models")
    p90 = quantile([*having.values()], 0.9)
    if p90 < LOOSE:
        why = f"nine in ten of {len(having)} runs used at most {p90:.0%} of it, so it stops a run without progress late"
        return Advice(limit=limit, verdict="too loose", why=why)
    why = f"{ended_on} of {len(having)} runs ended on it, nine in ten used at most {p90:.0%}"
    return Advice(limit=limit, verdict="fits", why=why)
