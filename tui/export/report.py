"""The plots of `rundry report` as rows of text. Does not import textual."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rundry.agent import GroupSpend, Report, money, plural, short

from ..head.meters import draw_bar
from ..text.shorten_cells import cells_fit
from ..text.show_text import one_line

_TWO_COLUMNS = 110
_GAP = 4
_MOST_DAYS = 31
_MOST = 8


@dataclass(frozen=True, slots=True)
class Bar:
    """One labelled value of a plot."""

    label: str
    value: float
    words: str


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Values next to each other."""

    title: str
    bars: Sequence[Bar]


def report_plots(told: Report) -> list[BarPlot]:
    """Return the plots: spend by day, model and loop, outcomes, and steps by day."""
    is_priced = any(each.usd for each in told.by_day)
    unit = "USD" if is_priced else "tokens"
    models = [
        Bar(
            model.model,
            (model.usd or 0.0) if is_priced else model.tokens_in + model.tokens_out,
            f"{_usd(model.usd)}  {short(model.tokens_in + model.tokens_out)} tokens",
        )
        for model in told.models[:_MOST]
    ]
    days = _grouped_days(told.by_day)
    found = [
        BarPlot(f"spend by day, {unit}", [_spend(each, _day_words(each.name), is_priced) for each in days]),
        BarPlot(f"spend by model, {unit}", models),
        BarPlot(f"spend by loop, {unit}", [_spend(each, each.name, is_priced) for each in told.by_loop]),
        BarPlot("outcomes", [Bar(each.reason, each.runs, f"{each.runs}  {each.share:.0%}") for each in told.exits]),
        BarPlot("steps by day", [Bar(_day_words(each.name), each.steps, str(each.steps)) for each in days]),
    ]
    return [plot for plot in found if any(bar.value for bar in plot.bars)]


def summary(told: Report) -> str:
    """Return the totals of the period in one line."""
    days = told.by_day
    usd = None if any(each.usd is None for each in days) else sum(each.usd or 0.0 for each in days)
    parts = [
        f"{sum(each.complete for each in days)} complete",
        plural(sum(each.steps for each in days), "step"),
        f"{short(sum(each.tokens for each in days))} tokens",
        _usd(usd),
    ]
    return "   ".join(parts)


def plot_lines(plots: Sequence[BarPlot], width: int) -> list[str]:
    """Return the rows for a terminal of that width: two columns where there is room."""
    if width < _TWO_COLUMNS:
        return [line for plot in plots for line in [*_drawn(plot, width), ""]]
    half = (width - _GAP) // 2
    rows: list[str] = []
    for at in range(0, len(plots), 2):
        pair = [_drawn(plot, half) for plot in plots[at : at + 2]]
        right = pair[1] if len(pair) > 1 else []
        rows += [f"{a:<{half}}{' ' * _GAP}{b}".rstrip() for a, b in zip_longest(pair[0], right, fillvalue="")]
        rows.append("")
    return rows


def _drawn(plot: BarPlot, width: int) -> list[str]:
    names = [one_line(bar.label) for bar in plot.bars]
    label = min(max(map(len, names)), max(10, width // 3))
    words = max(len(bar.words) for bar in plot.bars)
    room = max(4, width - label - words - 6)
    highest = max(bar.value for bar in plot.bars) or 1.0
    rows = [plot.title]
    for name, bar in zip(names, plot.bars, strict=True):
        rows.append(f"  {cells_fit(name, label)}  {_bar(bar.value / highest, room):<{room}}  {bar.words:>{words}}")
    return rows


def _bar(share: float, room: int) -> str:
    full, _ = draw_bar(share, room)
    return full or ("╸" if share > 0 else "")


def _spend(group: GroupSpend, label: str, is_priced: bool) -> Bar:
    value = (group.usd or 0.0) if is_priced else group.tokens
    spent = _usd(group.usd) if is_priced else short(group.tokens)
    return Bar(label, value, f"{spent}  {plural(group.runs, 'run'):>7}" if group.runs else "-  " + " " * 7)


def _grouped_days(days: Sequence[GroupSpend]) -> Sequence[GroupSpend]:
    """Return the newest days only: a longer period has too many rows for a screen."""
    return days[-_MOST_DAYS:]


def _day_words(day: str) -> str:
    return time.strftime("%a %d %b", time.strptime(day, "%Y-%m-%d"))


def _usd(usd: float | None) -> str:
    return "no price" if usd is None else f"${money(usd)}"
