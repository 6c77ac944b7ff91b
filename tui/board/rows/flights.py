"""The works in progress, with their duration, and how items failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import Flight, is_paused_between_steps

from .cells import Row, blank, foreign, grouped, left, path, right, since
from .items import without_host

if TYPE_CHECKING:
    from ..board_data import BoardData

_KIND = 9


def flights(data: BoardData, width: int, height: int) -> list[Row]:
    """Return a heading and a row for each work, at most `height` rows."""
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
