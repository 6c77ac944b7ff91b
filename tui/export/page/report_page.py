"""The report over several days as a page."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

from rundry.agent import Report, Share, money, plural, short, stall_name

from ...text.show_text import one_line
from ..report import report_plots, summary
from .frame import page_end, page_start
from .page_text import escaped
from .plots import bar_plot, share_bar

_PARTS = re.compile(r"\S+(?: \S+)*")
"""The parts of a bar's words: on a terminal, two blanks or more separate them."""

_LIMITS = ("steps", "tokens", "usd", "seconds")


def report_page(told: Report) -> Iterator[str]:
    """Yield the page, piece by piece."""
    until = told.since + told.days * 86_400
    title = f"{plural(told.runs, 'run')} in {plural(told.days, 'day')}"
    yield from page_start(escaped(f"rundry report: {title}"))
    yield f"<h1>{escaped(title)}</h1>"
    span = " to ".join(time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) for at in (told.since, until))
    yield f'<p class="dim">{span}</p>'
    yield '<div class="figures">'
    for words in summary(told).split("   "):
        value, _, unit = words.partition(" ")
        yield f"<div><strong>{escaped(value)}</strong><span>{escaped(unit or 'cost')}</span></div>"
    yield "</div>"
    if not told.runs:
        yield '<p class="dim">No run began in this period.</p>'
        yield page_end()
        return
    yield '<h2>By day</h2><div class="plots">'
    yield bar_plot("spend by day", [(day.name, day.usd or 0.0) for day in told.by_day], lambda usd: f"${money(usd)}")
    yield bar_plot("tokens by day", [(day.name, float(day.tokens)) for day in told.by_day], short)
    yield bar_plot("steps by day", [(day.name, float(day.steps)) for day in told.by_day], lambda n: f"{n:,.0f}")
    yield bar_plot("runs by day", [(day.name, float(day.runs)) for day in told.by_day], lambda n: f"{n:,.0f}")
    yield "</div>"
    for plot in report_plots(told):
        if "by day" not in plot.title:
            yield f"<h2>{escaped(plot.title[0].upper() + plot.title[1:])}</h2>"
            highest = max(bar.value for bar in plot.bars)
            rows = [
                (bar.label, share_bar(bar.value / highest), ", ".join(_PARTS.findall(bar.words))) for bar in plot.bars
            ]
            yield _bars(rows)
    yield "<h2>Use of limits</h2>"
    yield from _limits(told)
    yield from _besides(told)
    yield page_end()


def _bars(rows: Sequence[tuple[str, str, str]]) -> str:
    cells = "".join(
        f'<tr><td class="label">{escaped(one_line(label))}</td><td class="bar">{bar}</td>'
        f'<td class="num">{escaped(words)}</td></tr>'
        for label, bar, words in rows
    )
    return f"<table>{cells}</table>"


def _limits(told: Report) -> Iterator[str]:
    names = "".join(f'<th class="num">{name}</th>' for name in _LIMITS)
    yield f'<table><tr><th>ended on</th><th class="num">runs</th>{names}</tr>'
    rows = [(each.reason, each.runs, each.budget) for each in told.exits]
    for reason, runs, budget in (*rows, ("all", told.runs, told.budget)):
        shares = "".join(f'<td class="num">{_share(budget.get(name))}</td>' for name in _LIMITS)
        yield f'<tr><td>{escaped(reason)}</td><td class="num">{runs}</td>{shares}</tr>'
    yield '</table><p class="dim">of each limit: median, 90th percentile</p><table>'
    for advice in told.advice:
        yield f"<tr><td>{escaped(advice.limit)}</td><td>{advice.verdict}</td><td>{escaped(advice.why)}</td></tr>"
    yield "</table>"


def _besides(told: Report) -> Iterator[str]:
    if told.evidenced:
        yield "<h2>Complete runs, by evidence</h2>"
        most = max(kind.runs for kind in told.evidenced)
        yield _bars([(kind.kind, share_bar(kind.runs / most), str(kind.runs)) for kind in told.evidenced])
    if told.detectors:
        yield "<h2>Detectors</h2><table>"
        for each in told.detectors:
            yield f'<tr><td class="num">{each.firings}</td><td>{escaped(stall_name(each.kind))}</td>'
            yield f'<td class="mono">{escaped(one_line(each.signature))}</td></tr>'
        yield "</table>"
    if told.hooks:
        yield '<h2>Hooks</h2><table><tr><th class="num">ran</th><th class="num">refused</th><th class="num">failed</th>'
        yield "<th>on</th><th>command</th></tr>"
        for hook in told.hooks:
            yield "<tr>" + "".join(f'<td class="num">{n}</td>' for n in (hook.times, hook.refused, hook.failed))
            yield f'<td>{hook.on}</td><td class="mono">{escaped(one_line(hook.command))}</td></tr>'
        yield "</table>"
    if told.handoffs:
        yield "<h2>Hand-offs</h2><table>"
        for handed in told.handoffs:
            yield f'<tr><td class="num">{handed.times}</td><td>{escaped(one_line(handed.reason))}</td></tr>'
        yield "</table>"


def _share(share: Share | None) -> str:
    return "-" if share is None else f"{share.median:.0%}, {share.p90:.0%}"
