"""What `rundry handoffs` and `rundry report` print. No textual in here."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from rundry.agent import (
    Advice,
    PendingProposal,
    Report,
    Share,
    UserError,
    clock,
    coverage_words,
    estimate_words,
    pending,
    plural,
    report,
    short,
)

from ..border.json_out import print_json
from ..setup.start import folder_of, workspace_of
from ..text import one_line, path_line

_TASK, _SIGNATURE = 70, 60
_MOST = 12
"""Rows of one table; the rest stands in --json."""
_SIGNS = {"too tight": "!", "too loose": "~", "fits": " ", "unknown": "?"}


def print_handoffs(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Each run that waits for a person, the newest first."""
    waiting_runs = pending(folder_of(flags), str(workspace_of(flags)) if flags.get("cwd") else None)
    if as_json:
        print_json(waiting_runs)
        return 0
    if not waiting_runs:
        _say("no runs are waiting for a person")
    for place, run in enumerate(waiting_runs):
        age = clock(max(0.0, time.time() - run.since))
        _say(f"{run.run_id}  {run.waits}  for {age}  {_cut(run.task, _TASK)}", gap=place > 0)
        _say(f"  why      {_cut(run.reason, 200)}")
        _say(f"  next     {_cut(run.suggested_action, 200)}")
        for waiting in run.proposals:
            _say(f"  digest   {waiting.digest[:12]}  {_cut(_proposal(waiting), 55)}")
        if (found := run.suspect) is not None:
            _say(f"  digest   {found.digest[:12]}  {_cut(f'suspect check: {found.command}', 55)}")
        _say(f"  resume   {one_line(run.take_up)}")
    return 0


def _proposal(waiting: PendingProposal) -> str:
    what = f"{waiting.tool} {path_line(waiting.path) if waiting.path else waiting.command or ''}".strip()
    size = f"  +{waiting.added} -{waiting.removed}, {plural(waiting.hunks, 'hunk')}" if waiting.path else ""
    return f"{what}{size}{'  in conflict' if waiting.conflict else ''}"


def print_report(flags: Mapping[str, object], *, days: float, as_json: bool) -> int:
    """What the runs of these days add up to. Raises UserError."""
    if not (math.isfinite(days) and days > 0):
        raise UserError(f"--days {days:g}: give a number of days above 0")
    told = report(folder_of(flags), days, time.time())
    if as_json:
        print_json(told)
        return 0
    damaged = f", {told.unreadable - told.newer} damaged" if told.unreadable > told.newer else ""
    newer = f", {told.newer} of a newer rundry" if told.newer else ""
    _say(f"{plural(told.runs, 'run')} in {days:g} days{damaged}{newer}")
    if told.runs:
        _print_shares(told)
        _print_besides(told)
        _say("limits", gap=True)
        for advice in told.advice:
            _say(_advice(advice))
    return 0


def _print_shares(told: Report) -> None:
    """Exits by reason, and how much of each limit was used: median and 90th percentile."""
    columns = ("steps", "tokens", "usd", "seconds")
    _say(f"{'ended on':<14}{'runs':>6}{'':>6}" + "".join(f"{name:>16}" for name in columns), gap=True)
    rows = [(each.reason, each.runs, each.share, each.budget) for each in told.exits]
    for reason, runs, share, budget in (*rows, ("all", told.runs, 1.0, told.budget)):
        shares = "".join(f"{_share(budget.get(name)):>16}" for name in columns)
        _say(f"{reason:<14}{runs:>6}{share:>6.0%}{shares}")
    _say("of each limit: median, 90th percentile")


def _print_besides(told: Report) -> None:
    if told.evidenced:
        _say("complete runs, by evidence", gap=True)
        for kind in told.evidenced:
            _say(f"{kind.runs:>6}x  {kind.kind}")
    if told.detectors:
        _say("detectors", gap=True)
        for each in told.detectors[:_MOST]:
            did = ", ".join(f"{name} {count}" for name, count in each.responses.items())
            signature = _cut(each.signature, _SIGNATURE)
            _say(f"{each.firings:>6}x  {each.kind:<12} {signature:<{_SIGNATURE}}  {plural(each.runs, 'run')}  {did}")
    if told.handoffs:
        _say("hand-offs", gap=True)
        for handed in told.handoffs[:_MOST]:
            _say(f"{handed.times:>6}x  {_cut(handed.reason, 90)}")
    if told.searches:
        _say("searches (what is unseen is an estimate)", gap=True)
        for each in told.searches[:_MOST]:
            gap = "" if each.complete else ", not complete"
            _say(f"{each.run_id}  {each.reason}{gap}; {estimate_words(each.found, each.estimate)}")
            _say(f"{'':>{len(each.run_id)}}  read {coverage_words(each.coverage)}")
    if told.models:
        _say(f"{'model':<40}{'calls':>8}{'in':>10}{'out':>10}{'usd':>14}", gap=True)
        for model in told.models[:_MOST]:
            usd = "no price" if model.usd is None else f"{'~' if model.estimated else ''}{model.usd:.4f}"
            used = f"{model.calls:>8}{short(model.tokens_in):>10}{short(model.tokens_out):>10}{usd:>14}"
            _say(f"{_cut(model.model, 38):<40}{used}")


def _share(share: Share | None) -> str:
    return "-" if share is None else f"{share.median:.0%}, {share.p90:.0%}"


def _advice(advice: Advice) -> str:
    return f"{_SIGNS[advice.verdict]} {advice.limit:<8} {advice.verdict:<10} {advice.why}"


def _cut(text: str, most: int) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def _say(line: str, *, gap: bool = False) -> None:
    """Print one line, with an empty one above it for `gap`."""
    if gap:
        print("")
    print(one_line(line))
