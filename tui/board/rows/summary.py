"""The results of the search so far: counts, coverage of each lens, the estimate, and the dry streak."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rundry.agent import short

from ...lines.draw import Run, width_of
from .cells import Row, blank, foreign, grouped, since

if TYPE_CHECKING:
    from ..board_data import BoardData

_LABEL = 10


def counts(data: BoardData, width: int) -> Row:
    """Return `frontier 38    seen 1 204 …`, each in a field of its own, so that none moves another."""
    facts, palette = data.facts, data.palette
    fields = [
        ("frontier", facts.queued, 6),
        ("seen", facts.seen, 6),
        *([] if data.by_lenses else [("done", facts.done, 6)]),
        ("duplicates", facts.duplicates, 7),
        ("retry", data.waiting, 4),
        ("failed", facts.set_aside, 4),
    ]
    row: Row = []
    for gap, shrink, is_tight in ((2, 0, False), (1, 0, False), (1, 1, False), (1, 1, True), (0, 1, True)):
        row = []
        for whole, count, size in fields:
            name = "twice" if is_tight and whole == "duplicates" else whole
            is_bad = name == "failed" and count
            style = palette.verdict_partly if is_bad else palette.bright if count else palette.faint
            number = grouped(count) + (" !" if is_bad else "")
            row += [(f"{name} ", palette.dim), (number.ljust(size - shrink), style), blank(gap)]
        if width_of(row) - gap <= width:
            break
    return row


def summary(data: BoardData, width: int) -> list[Row]:
    """Return the rows, the most important one first; which of them fit is for the layout."""
    if not data.by_lenses:
        return [*_progress(data, width), counts(data, width)]
    rows = [counts(data, width), _coverage(data, width), _estimate(data, width), _dry(data)]
    return [row for row in rows if row]


def _named(data: BoardData, name: str) -> Run:
    return (name.ljust(_LABEL), data.palette.dim)


def _coverage(data: BoardData, width: int) -> Row:
    """Return `coverage  taint 61 %  auth 44 %  cache 0 % !`: lines read, of the lines in scope."""
    palette, scope = data.palette, data.facts.scope
    row: Row = [_named(data, "coverage")]
    if scope is None or not scope.lines:
        return [*row, ("the files in scope are not counted yet", palette.faint)]
    lenses = list(data.facts.lenses.values())
    for at, lens in enumerate(lenses):
        share = data.facts.read_by(lens.name).lines / scope.lines
        is_new = not lens.passes
        sign = " !" if is_new and not data.is_over else ""
        part: Row = [
            *foreign(lens.name, palette.dim, palette),
            (f" {percent(share)}{sign}", palette.verdict_partly if sign else palette.code if share else palette.faint),
            blank(2),
        ]
        rest = f"and {len(lenses) - at} more"
        if width_of(row) + width_of(part) + (0 if at == len(lenses) - 1 else len(rest)) > width:
            return [*row, (rest, palette.faint)]
        row += part
    return row


def percent(share: float) -> str:
    """Return a share in percent; 0 and 100 only if it is exactly that."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{min(100 if share >= 1 else 99, round(share * 100))} %"


def _estimate(data: BoardData, width: int) -> Row:
    """Return `unseen    about 4 (1 to 11)  an estimate: beta-binomial from 4 lenses, 95 %`."""
    palette, estimate = data.palette, data.facts.estimate()
    row: Row = [_named(data, "unseen")]
    if estimate is None:
        return [*row, ("no estimate: it needs 4 independent lenses with one prompt", palette.faint)]
    low, about, high = math.floor(estimate.low), math.floor(estimate.unseen + 0.5), math.ceil(estimate.high)
    row.append((f"about {about:,} ({low:,} to {high:,})", palette.code))
    for source in (
        f"  an estimate: {estimate.method} from {estimate.lenses} lenses, 95 %",
        f"  an estimate: {estimate.method}, 95 %",
        "  an estimate",
    ):
        if width_of(row) + len(source) <= width:
            return [*row, (source, palette.dim)]
    return row


def _dry(data: BoardData) -> Row:
    """Return `dry       ●○  1 of 2 passes without a new key`."""
    palette, facts, wanted = data.palette, data.facts, data.spec.dry_passes
    streak = min(facts.streak, wanted)
    dots = "●" * streak + "○" * (wanted - streak) if wanted <= 12 else f"{streak}/{wanted}"
    words = f"{streak} of {wanted} passes in a row without a new key"
    style = palette.verdict_good if streak >= wanted else palette.bright if streak else palette.dim
    return [_named(data, "dry"), (dots, style), blank(2), (words, palette.dim)]


def _progress(data: BoardData, width: int) -> list[Row]:
    """Return a bar with the share that is done and the remaining time if the total is known, then the rate."""
    palette, facts = data.palette, data.facts
    total, ended = data.pool, facts.done + facts.set_aside + facts.skipped
    rate = data.state.progress.rate(data.now)
    speed: Row = [_named(data, "rate")]
    if data.is_over:
        speed = []
    elif rate is None:
        speed.append(("not known yet", palette.faint))
    else:
        speed.append((_speed(rate, "page" if data.is_crawl else "item"), palette.code))
    if total is None:
        done: Row = [_named(data, "done"), (grouped(ended), palette.bright)]
        if not data.is_over:
            done.append(("  the total is not known: new items keep coming", palette.faint))
        return [row for row in (done, speed) if row]
    share = ended / total if total else 1.0
    size = max(8, min(30, width - 45))
    filled = min(size, int(share * size))
    done = [
        _named(data, "done"),
        ("━" * filled, palette.meter_ok),
        ("─" * (size - filled), palette.faint),
        (f"  {grouped(ended)} of {grouped(total)}", palette.bright),
        (f"  {percent(share)}", palette.code),
    ]
    if rate and not data.is_over and ended < total:
        speed.append((f"  about {since((total - ended) / rate)} left", palette.code))
    return [row for row in (done, speed) if row]


def _speed(rate: float, what: str) -> str:
    """Return `3.2 pages a second`, or `4 items a minute` if it is slow."""
    for factor, unit in ((1, "second"), (60, "minute"), (3600, "hour")):
        if rate * factor >= 1 or unit == "hour":
            number = rate * factor
            text = short(round(number)) if number >= 10_000 else f"{number:.0f}" if number >= 9.95 else f"{number:.1f}"
            return f"{text} {what}s a {unit}"
    raise AssertionError("the loop returns for the last unit")
