"""The rows of the board around its list: the plot and the summary, what is in progress, and how the search ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rundry.agent import (
    Flight,
    LimitName,
    Reason,
    RunEnded,
    end_word,
    is_paused_between_steps,
    noun_for,
    reached_limit,
    short,
)

from ..lines.draw_runs import Run, fold, width_of
from ..text.show_text import one_line
from .discovery_plot import plot, sparkline
from .item_rows import without_host
from .row_cells import Row, beside, blank, foreign, grouped, left, path, right, since

if TYPE_CHECKING:
    from rundry.agent import ClusterWorker

    from .board_data import BoardData

_LEAST = 16
"""Height of the board from which the plot has an axis."""
_GAP = 3
_WIDEST = 90
"""Width of the widest plot in cells."""
_LABEL = 10
"""Width of the names in the summary."""
_KIND = 9
"""Width of the kind of a work in progress."""
_NAME = 22
"""Greatest width of the name of a worker; the widths of the other columns follow."""
_LOAD = 6
_ITEMS = 10
_CPU = 6
_MEMORY = 9
_WITH_MEMORY = 68
"""Cells from which on the memory is shown."""
_FIXES: dict[LimitName | None, str] = {
    "tokens": "/limit tokens N",
    "usd": "/limit usd N",
    "seconds": "/limit time 1h",
    "deadline": "/limit deadline 1h",
}


def top(data: BoardData, width: int, height: int, *, is_wide: bool) -> list[Row]:
    """Return the plot and the summary for a board of this size, without the blank row below."""
    if height < _LEAST:
        return [_line(data, width), *_fitting(data, width, 1 if height < 12 else 2)]
    if not is_wide:
        rows = 2 if height < 22 else 3
        return [*_plot(data, width, rows), *_fitting(data, width, 3 if height < 22 else 5)]
    half = min(_WIDEST, max(44, width * 2 // 5))
    drawn = _plot(data, half, 4 if height < 36 else 6)
    room = width - half - _GAP
    told = [left(row, room) for row in _summary(data, room)[: len(drawn)]]
    return beside(drawn, told, half, _GAP)


def _fitting(data: BoardData, width: int, count: int) -> list[Row]:
    """Return the rows that matter most where not all fit: the estimate and the dry state before the coverage."""
    told = _summary(data, width)
    if len(told) > count and data.by_lenses:
        told = [told[0], *told[2:], told[1]]
    return [left(row, width) for row in told[:count]]


def _points(data: BoardData) -> tuple[str, list[int], str, str]:
    """Return the label of the plot, its counts, and the labels of its first and its last bar."""
    if not data.by_lenses:
        bars = data.state.progress.surfaced
        label = "new a second" if bars.seconds == 1 else f"new in {since(bars.seconds)}"
        return label, list(bars.counts), "0s", since(len(bars.counts) * bars.seconds)
    facts = data.facts
    points = [*facts.points]
    if facts.pass_open and facts.pass_new and facts.stretch == 1:
        points.append(facts.pass_new)
    label = "new per pass" if facts.stretch == 1 else f"new in {facts.stretch} passes"
    return label, points, "pass 1", str(max(1, len(points) * facts.stretch))


def _line(data: BoardData, width: int) -> Row:
    """Return the plot in one row."""
    palette = data.palette
    label, points, _, _ = _points(data)
    named: Row = [(f"{label}  ", palette.dim)]
    if not any(points):
        return [*named, ("nothing yet", palette.faint)]
    return [*named, (sparkline(points, max(1, width - width_of(named))), palette.meter_ok)]


def _plot(data: BoardData, width: int, height: int) -> list[Row]:
    palette = data.palette
    label, points, first, last = _points(data)
    size = len(label) + 2
    drawn = plot(points, width - size, height, first, last)
    rows: list[Row] = []
    for y, (tick, bars) in enumerate(drawn.rows):
        name = label if y == 0 else ""
        empty = "nothing yet" if not any(points) and y == height // 2 else ""
        rows.append(
            [
                (name.ljust(size), palette.dim),
                (tick, palette.faint),
                (empty, palette.faint) if empty else (bars, palette.meter_ok),
            ]
        )
    return [*rows, [blank(size), (drawn.axis, palette.faint)]]


def _counts(data: BoardData, width: int) -> Row:
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


def _summary(data: BoardData, width: int) -> list[Row]:
    """Return the rows of the summary, the most important one first."""
    if not data.by_lenses:
        return [*_progress(data, width), _counts(data, width)]
    rows = [_counts(data, width), _coverage(data, width), _estimate(data, width), _dry(data)]
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


def flights(data: BoardData, width: int, height: int) -> list[Row]:
    """Return a heading and a row for each work in progress, at most `height` rows."""
    palette = data.palette
    now = data.facts.flights
    found = [now[work] for work in data.slots if work in now] if data.slots else list(now.values())
    if height < 1:
        return []
    heading: Row = [("in flight", palette.dim), (f"{len(found)}".rjust(4), palette.bright if found else palette.faint)]
    if not data.by_lenses:
        heading += _pace(data)
    rows = [heading]
    fit = height - 1
    shown = found if len(found) <= fit else found[: max(0, fit - 1)]
    rows += [_flight(data, flight, width) for flight in shown]
    if len(shown) < len(found) and fit > 0:
        rows.append([(f"and {len(found) - len(shown)} more", palette.faint)])
    return rows


def failures(data: BoardData, width: int, height: int) -> list[Row]:
    """Return how items failed, the most frequent failure first."""
    kinds = sorted(data.state.progress.failures.items(), key=lambda each: -each[1].times)
    palette = data.palette
    if not kinds or height < 2:
        return []
    rows: list[Row] = [[("failures", palette.dim)]]
    for kind, count in kinds[: height - 1]:
        fate = f"{grouped(count.final)} failed" if count.final else "retried"
        style = palette.verdict_partly if count.final else palette.dim
        number = right([(grouped(count.times), palette.code)], 6)
        rows.append([*number, blank(2), *left(foreign(kind, palette.code, palette), width - 8 - 15), (fate, style)])
    return rows


def _pace(data: BoardData) -> Row:
    palette = data.palette
    if data.is_over:
        return []
    pace = data.state.progress.pace(data.now)
    what = "pages a second" if data.is_crawl else "items a second"
    number = f"{pace:.0f}" if pace >= 9.95 else f"{pace:.1f}"
    return [(number.rjust(9), palette.bright if pace else palette.faint), (f" {what}", palette.dim)]


def _in_worktree(data: BoardData, flight: Flight, doing: str) -> str:
    """Put the worktree of an item before what it does, in a migration with worktrees."""
    search, tree = data.state.search, data.facts.worktrees.trees.get(flight.about)
    if tree is not None:
        return f"worktree {tree}  {doing}".rstrip()
    return doing or ("waits for a worktree" if search is not None and search.parallel > 1 else "")


def _flight(data: BoardData, flight: Flight, width: int) -> Row:
    palette = data.palette
    is_held = is_paused_between_steps(data.state, flight)
    age = right([("" if is_held else since(data.now - flight.since), palette.dim)], 6)
    doing = "paused" if is_held else data.state.progress.doing.get(flight.work, "")
    if flight.kind == "item":
        place = without_host(data, flight.about).removeprefix(f"{data.state.workspace}/")
        doing = _in_worktree(data, flight, doing)
        again: Row = [(f"  try {flight.attempt}", palette.verdict_partly)] if flight.attempt > 1 else []
        room = width - 6 - (7 if again else 0) - 1
        if doing and not data.is_crawl and room > 30:
            half = room // 2
            return [
                *left(path(place, palette.code, palette, half - 2), half),
                *left(foreign(doing, palette.dim, palette), room - half + 1),
                *left(again, 7 if again else 0),
                *age,
            ]
        return [
            *left(path(place, palette.code, palette, room), room + 1),
            *left(again, 7 if again else 0),
            *age,
        ]
    about = flight.about
    finding = data.facts.findings.get(about)
    name = finding.title if finding is not None else "what is missing?" if flight.kind == "critic" else about
    room = width - _KIND - 6
    short = room * 3 // 5 if doing else room
    return [
        *left([(flight.kind, palette.dim)], _KIND),
        *left(foreign(name, palette.code, palette), short - 2),
        blank(2),
        *left(foreign(doing, palette.dim, palette), room - short),
        *age,
    ]


def workers(data: BoardData, width: int, height: int) -> list[Row]:
    """Return a heading and a row for each worker, at most `height` rows; empty for a search without a cluster."""
    executor = data.spec.executor
    if executor is None or height < 2:
        return []
    palette, found = data.palette, data.state.progress.workers
    threads = sum(one.threads for one in found if not one.refused)
    busy = sum(min(one.threads, one.batches) for one in found)
    heading: Row = [("workers", palette.dim), (f"{len(found)}".rjust(4), palette.bright if found else palette.faint)]
    if not found:
        return [heading, [("waiting for the cluster", palette.verdict_partly)]]
    heading += [(f"{busy}/{threads}".rjust(9), palette.bright), (" threads busy", palette.dim)]
    fit = height - 1
    shown = found if len(found) <= fit else found[: max(0, fit - 1)]
    hosts = {one.name.rpartition(":")[0] for one in found}
    skipped = len(hosts.pop()) if len(hosts) == 1 else 0
    rows = [heading, *(_worker(data, one, one.name[skipped:], width) for one in shown)]
    if len(shown) < len(found):
        rows.append([(f"and {len(found) - len(shown)} more", palette.faint)])
    return rows


def _worker(data: BoardData, one: ClusterWorker, name: str, width: int) -> Row:
    """Return the row of a worker. `name`: without the host if all workers have the same one."""
    palette = data.palette
    memory = _MEMORY if width >= _WITH_MEMORY else 0
    busy = min(one.threads, one.batches)
    used = _LOAD + _ITEMS + _CPU + memory
    named = min(_NAME, max(8, len(name) + 1), width - used)
    room = width - used - named - 2
    row: Row = [
        *left([(name, palette.code)], named),
        *right([(f"{busy}/{one.threads}", palette.bright if busy else palette.faint)], _LOAD),
        *right([(f"{grouped(one.items)} {noun_for(one.items, 'item')}", palette.dim)], _ITEMS),
        *right([(f"{one.cpu:.0f} %", palette.dim)], _CPU),
    ]
    if memory:
        row += right([(f"{one.memory / 1_000_000:,.0f} MB", palette.dim)], memory)
    if one.refused and room > 3:
        row += [blank(2), *left([(one.refused, palette.verdict_partly)], room)]
    elif one.doing and room > 3:
        row += [blank(2), *left(path(without_host(data, one.doing), palette.code, palette, room), room)]
    return row


def bottom(data: BoardData, width: int, height: int) -> list[Row]:
    """Return what the search waits for, or how it ended: at most `height` rows, the most important one first."""
    state, palette = data.state, data.palette
    if state.outcome is not None:
        rows = _ended(data, state.outcome, width)
        return rows if len(rows) <= height else [*rows[: height - 1], rows[-1]]  # the next step is always shown
    if data.is_over:
        words = [("runner gone", palette.verdict_partly), ("  it was not at its end", palette.dim)]
        return [words, _next(data, "")][:height]
    if state.paused:
        until = "you press {pause} to resume" if data.acts else "it is resumed"
        way = data.keymap.named(f"   no new work starts until {until}")
        return [[("paused", palette.bright), (way, palette.dim)]][:height]
    return [row for row in (_asks(data, width), _waits(data), _critic(data)) if row][:height]


def _asks(data: BoardData, width: int) -> Row:
    """Return the question that waits for an answer, in one row; the transcript shows it in full, with its options."""
    question, palette = data.state.question, data.palette
    if question is None:
        return []
    key: Row = [(f"   {data.keymap.shown('board')}", palette.bright), (" shows it", palette.dim)]
    asked: Row = [("asks", palette.verdict_partly), blank(3), (one_line(question.question), palette.code)]
    return [*left(asked, width - width_of(key)), *key]


def _waits(data: BoardData) -> Row:
    palette, facts = data.palette, data.facts
    if facts.flights:
        return []
    if data.next_due is not None and data.next_due > data.now and facts.queued <= data.waiting:
        in_ = since(data.next_due - data.now + 0.999)
        return [("waits", palette.bright), (f"   retry of the next item in {in_}", palette.dim)]
    due = [lens.due for lens in facts.lenses.values() if lens.failures and lens.failed is None and lens.due > data.now]
    if due:
        in_ = since(min(due) - data.now + 0.999)
        return [("waits", palette.bright), (f"   retry of a failed lens in {in_}", palette.dim)]
    return []


def _critic(data: BoardData) -> Row:
    critic = data.facts.critic
    palette = data.palette
    if critic is None or not critic.text:
        return []
    style = palette.bright if critic.lenses else palette.dim
    return [("critic  ", palette.dim), *foreign(critic.text, style, palette)]


def _ended(data: BoardData, outcome: RunEnded, width: int) -> list[Row]:
    """Return `dry, not complete`, each gap in a row of its own, and the next steps."""
    palette = data.palette
    is_dry = outcome.reason is Reason.DRY
    word = end_word(outcome)
    if is_dry:
        word = "dry" if outcome.complete else "dry, not complete"
    style = palette.verdict_good if outcome.complete else palette.verdict_partly
    sign = "✓ " if outcome.complete else "~ "
    how, *rest = outcome.detail.split("; ") if is_dry else [outcome.detail]
    gaps = rest[1:] if is_dry else _open(data)
    gap_rows: list[Row] = [[blank(2), *foreign(gap, palette.verdict_partly, palette)] for gap in gaps]
    if data.has_end_panel:
        return [] if is_dry else gap_rows  # the panel has the detail, which names the gaps of a dry search
    head: Row = [(sign + word, style), blank(3), *foreign(how, palette.code, palette)]
    first, *more = fold(head, width)
    rows: list[Row] = [list(first), *([blank(len(sign + word) + 3), *row] for row in more)]
    rows += gap_rows
    if not outcome.complete or data.facts.findings or not data.by_lenses:
        rows.append(_next(data, "" if outcome.complete else _fix(outcome)))
    return rows


def _open(data: BoardData) -> list[str]:
    facts = data.facts
    waits = f"{grouped(facts.queued)} {noun_for(facts.queued, 'item')} {'waits' if facts.queued == 1 else 'wait'}"
    found = [f"{waits} in the queue"] if facts.queued else []
    if facts.set_aside:
        found.append(f"{grouped(facts.set_aside)} {noun_for(facts.set_aside, 'item')} failed permanently")
    return found


def _fix(outcome: RunEnded) -> str:
    return _FIXES.get(reached_limit(outcome), "/limit steps N") if outcome.reason is Reason.BUDGET else ""


def _next(data: BoardData, fix: str) -> Row:
    palette, outcome = data.palette, data.state.outcome
    row: Row = [("next  ", palette.dim)]
    if fix:
        row += [(fix, palette.bright), (" to continue   or ", palette.dim)]
    if outcome is None or not outcome.complete:
        row += [(f"rundry resume {one_line(data.state.run_id)}", palette.bright)]
        row += [] if fix else [(" to continue", palette.dim)]
    else:
        row += [(data.keymap.shown("to_gate"), palette.bright), (" goes through what was found", palette.dim)]
    return row
