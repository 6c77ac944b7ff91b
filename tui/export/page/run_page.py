"""The page of one run: verdict, figures, plots, findings, files and steps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rundry.agent import clock, end_word, held_words, money, plural, short, title_of, void_words

from ...control.end_words import proof_rows
from ...start.confirmed_findings import place_of
from .frame import page_end, page_start
from .page_steps import steps_html
from .page_text import Words, escaped
from .plots import Plot, bar_plot, line_plot

if TYPE_CHECKING:
    from rundry.agent import Bars, FinderFacts, Finding, ViewState

    from ..read_run import Recorded

_BARS = 60
_ORDER = {"confirmed": 0, None: 1, "refuted": 2}


def run_page(run: Recorded) -> Iterator[str]:
    """Yield the page, piece by piece."""
    state, words = run.state, Words(run.hide)
    title = title_of(state.task) or state.run_id
    yield from page_start(words.line(title))
    yield f"<h1>{words.line(title)}</h1>"
    yield from _verdict(state, words)
    yield from _figures(state)
    yield "<dl>"
    for name, value in _facts(run):
        yield f"<dt>{name}</dt><dd>{words.line(value)}</dd>"
    yield "</dl>"
    plots = [plot for plot in _plots(run) if plot]
    if plots:
        yield f'<h2>Meters</h2><div class="plots">{"".join(plots)}</div>'
    if state.finder is not None:
        yield from _findings(state, state.finder, words)
    if state.outcome is not None and state.outcome.files_changed:
        yield f"<h2>Changed files</h2>{_list(state.outcome.files_changed, words)}"
    yield "<h2>Steps</h2>"
    yield from steps_html(run, words)
    yield page_end()


def _verdict(state: ViewState, words: Words) -> Iterator[str]:
    ended = state.outcome
    if ended is None:
        yield f'<div class="verdict partly"><strong>… not ended</strong> {escaped(state.phase)}</div>'
        return
    colour, sign = ("good", "✓") if ended.complete else ("bad", "✗")
    gap = "" if ended.complete else ' <span class="dim">not complete</span>'
    yield f'<div class="verdict {colour}"><strong>{sign} {end_word(ended)}</strong> '
    void = f"{void_words(ended)}; it was {ended.reason.words}: " if void_words(ended) else ""
    yield f"{void}{words.line(ended.detail)}{gap}"
    rows = [*proof_rows(ended)]
    if ended.evidence is not None and ended.evidence.not_guaranteed:
        rows.append(("not guaranteed", "; ".join(ended.evidence.not_guaranteed)))
    if ended.failed_items:
        rows.append(("failed permanently", ", ".join(ended.failed_items[:20])))
    if rows:
        yield f"<dl>{''.join(f'<dt>{label}</dt><dd>{words.line(text)}</dd>' for label, text in rows)}</dl>"
    yield "</div>"


def _figures(state: ViewState) -> Iterator[str]:
    spent, ended = state.common.ledger.spent, state.outcome
    usd = "no price" if spent.unpriced else f"{'~' if spent.estimated else ''}${money(spent.usd)}"
    seconds = ended.seconds if ended is not None else state.busy_seconds(state.last_at)
    figures = [
        (str(spent.steps), "steps"),
        (short(spent.tokens.total), "tokens"),
        (usd, "cost"),
        (clock(seconds), "time"),
    ]
    if not spent.tokens.total:  # no model worked
        del figures[1:3]
    if state.finder is not None:
        figures += [(f"{state.finder.seen:,}", "seen"), (str(len(state.finder.findings)), "findings")]
    if ended is not None and ended.files_changed:
        figures.append((str(len(ended.files_changed)), "files changed"))
    if spent.held:
        amount, _, why = held_words(spent.held).removeprefix("held: ").partition(" for ")
        figures.append((amount, f"held for {why}"))
    cells = "".join(f"<div><strong>{escaped(value)}</strong><span>{name}</span></div>" for value, name in figures)
    yield f'<div class="figures">{cells}</div>'


def _facts(run: Recorded) -> Iterator[tuple[str, str]]:
    state = run.state
    yield "run", state.run_id
    yield "loop", state.loop.value if state.loop is not None else "-"
    yield "model", " ".join(part for part in (state.model, state.effort) if part)
    yield "folder", state.workspace
    yield "began", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(run.began))
    yield "sandbox", state.sandbox or "none"
    for share in state.shares.values() if len(state.shares) > 1 else ():
        usd = "no price" if share.usd is None else f"${money(share.usd)}"
        yield (
            "spend",
            f"{share.model}: {plural(share.calls, 'call')}, {short(share.tokens_in + share.tokens_out)} tokens, {usd}",
        )


def _plots(run: Recorded) -> Iterator[str]:
    points, budget = run.samples.points, run.state.budget
    limits = (None, None, None) if budget is None else (budget.tokens, budget.usd, budget.seconds)
    series: Sequence[Plot] = (
        Plot("tokens", [(p.step, p.tokens) for p in points], short, limit=limits[0]),
        Plot("cost", [(p.step, p.usd) for p in points], lambda usd: f"${money(usd)}", limit=limits[1]),
        Plot("time", [(p.step, p.seconds) for p in points], clock, limit=limits[2]),
        Plot("context", [(p.step, p.context) for p in points if p.context is not None], lambda share: f"{share:.0%}"),
        Plot(
            "failing tests",
            [(p.step, p.failing) for p in points if p.failing is not None],
            lambda count: str(round(count)),
            stepped=True,
        ),
        Plot("score", run.samples.scores, lambda score: f"{score:g}", stepped=True),
    )
    for plot in series:
        if any(value for _, value in plot.points):
            yield line_plot(plot)
    yield _surfaced(run.state.progress.surfaced)


def _surfaced(bars: Bars) -> str:
    """Return how many new items surfaced over time."""
    counts = bars.counts
    group = -(-len(counts) // _BARS) if counts else 1
    sums = [sum(counts[at : at + group]) for at in range(0, len(counts), group)]
    named = [(clock(at * group * bars.seconds), float(total)) for at, total in enumerate(sums)]
    return bar_plot("new items over time", named, lambda count: f"{count:,.0f}")


def _list(paths: Sequence[str], words: Words) -> str:
    return f'<p class="mono">{"<br>".join(words.line(path) for path in paths)}</p>'


def _findings(state: ViewState, facts: FinderFacts, words: Words) -> Iterator[str]:
    """Yield a table for each lens with verdict, title and place of its findings; text and reasons are folded."""
    found = sorted(facts.findings.values(), key=lambda each: (_ORDER[each.verdict], each.seq))
    if not found:
        return
    counts = (
        f"{facts.confirmed - facts.unverified} confirmed, {facts.refuted} refuted, {facts.judging} without a verdict"
    )
    counts += f", {facts.unverified} unverified" if facts.unverified else ""
    yield f'<h2>Findings <span class="dim">{counts}</span></h2>'
    lenses = [*facts.lenses]
    for lens in lenses:
        own = [finding for finding in found if finding.source == lens]
        if own:
            yield f'<h3>{words.line(lens)} <span class="dim">{plural(len(own), "finding")}</span></h3>'
            yield from _table(own, state, facts, words)
    if others := [finding for finding in found if finding.source not in lenses]:
        yield "<h3>Other sources</h3>" if len(others) < len(found) else ""
        yield from _table(others, state, facts, words, has_source=True)


def _table(
    found: Sequence[Finding], state: ViewState, facts: FinderFacts, words: Words, *, has_source: bool = False
) -> Iterator[str]:
    yield f"<table><tr><th>verdict</th><th>finding</th><th>place</th>{'<th>by</th>' if has_source else ''}</tr>"
    for finding in found:
        sign, colour = _verdict_of(finding)
        yield f'<tr><td class="{colour}">{sign}</td><td>{_finding(finding, facts, words)}</td>'
        yield f'<td class="mono">{words.line(place_of(finding, state.workspace))}</td>'
        yield f'<td class="dim">{words.line(finding.source)}</td></tr>' if has_source else "</tr>"
    yield "</table>"


def _verdict_of(finding: Finding) -> tuple[str, str]:
    votes = f" {finding.stands}/{len(finding.votes)}" if finding.votes else ""
    if finding.verdict is None:
        return "… no verdict", "partly"
    if finding.by == "none" and finding.verdict == "confirmed":
        return "unverified", "partly"
    by = " by a person" if finding.by == "person" else votes
    return (f"✓ confirmed{by}", "good") if finding.verdict == "confirmed" else (f"✗ refuted{by}", "bad")


def _finding(finding: Finding, facts: FinderFacts, words: Words) -> str:
    title = words.line(finding.title)
    same = facts.findings.get(finding.duplicate_of or "")
    parts = [f'<p class="dim">the same as: {words.line(same.title)}</p>'] if same is not None else []
    if finding.detail:
        parts.append(words.markdown(finding.detail))
    if finding.place and finding.evidence:
        parts.append(f"<pre>{words.lines(finding.evidence)}</pre>")
    reasons = dict.fromkeys([*finding.reasons, *(vote.reason for vote in finding.votes)])
    parts += [f'<p class="dim">{words.lines(reason)}</p>' for reason in reasons if reason]
    return f"<details><summary>{title}</summary>{''.join(parts)}</details>" if parts else title
