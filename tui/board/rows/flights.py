"""Who works now, on what, and since when; and how items failed."""

from __future__ import annotations

from rundry.agent import Flight, rests

from ..look import Look
from .cells import Row, blank, foreign, grouped, left, path, right, since

_KIND = 9


def flights(look: Look, width: int, height: int) -> list[Row]:
    """A heading and a row for each work; at most `height` rows."""
    palette = look.palette
    now = look.facts.flights
    found = [now[work] for work in look.slots if work in now] if look.slots else list(now.values())
    if height < 1:
        return []
    heading: Row = [("in flight", palette.dim), (f"{len(found)}".rjust(4), palette.bright if found else palette.faint)]
    if not look.by_lenses:
        heading += _pace(look)
    rows = [heading]
    fit = height - 1
    shown = found if len(found) <= fit else found[: max(0, fit - 1)]
    rows += [_flight(look, flight, width) for flight in shown]
    if len(shown) < len(found) and fit > 0:
        rows.append([(f"and {len(found) - len(shown)} more", palette.faint)])
    return rows


def failures(look: Look, width: int, height: int) -> list[Row]:
    """How items failed, the most frequent first."""
    kinds = sorted(look.state.progress.failures.items(), key=lambda each: -each[1].times)
    palette = look.palette
    if not kinds or height < 2:
        return []
    rows: list[Row] = [[("failures", palette.dim)]]
    for kind, count in kinds[: height - 1]:
        fate = f"{grouped(count.final)} failed" if count.final else "retried"
        style = palette.verdict_partly if count.final else palette.dim
        number = right([(grouped(count.times), palette.code)], 6)
        rows.append([*number, blank(2), *left(foreign(kind, palette.code, palette), width - 8 - 15), (fate, style)])
    return rows


def _pace(look: Look) -> Row:
    palette = look.palette
    if look.is_over:
        return []
    pace = look.state.progress.pace(look.now)
    what = "pages a second" if look.is_crawl else "items a second"
    number = f"{pace:.0f}" if pace >= 9.95 else f"{pace:.1f}"
    return [(number.rjust(9), palette.bright if pace else palette.faint), (f" {what}", palette.dim)]


def _flight(look: Look, flight: Flight, width: int) -> Row:
    palette = look.palette
    is_held = rests(look.state, flight)
    age = right([("" if is_held else since(look.now - flight.since), palette.dim)], 6)
    doing = "paused" if is_held else look.state.progress.doing.get(flight.work, "")
    if flight.kind == "item":
        again: Row = [(f"  try {flight.attempt}", palette.verdict_partly)] if flight.attempt > 1 else []
        room = width - 6 - (7 if again else 0) - 1
        if doing and not look.is_crawl and room > 30:
            half = room // 2
            return [
                *left(path(flight.about, palette.code, palette, half - 2), half),
                *left(foreign(doing, palette.dim, palette), room - half + 1),
                *left(again, 7 if again else 0),
                *age,
            ]
        return [*left(path(flight.about, palette.code, palette, room), room + 1), *left(again, 7 if again else 0), *age]
    about = flight.about
    finding = look.facts.findings.get(about)
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
