"""Print the results of `rundry handoffs` and `rundry report`. Does not import textual."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rundry.agent import (
    Advice,
    HookCount,
    PendingProposal,
    Report,
    Share,
    clock,
    coverage_words,
    estimate_words,
    held_words,
    list_runs,
    pending,
    plural,
    report,
    short,
    stall_name,
    title_of,
)

from ..export.page.report_page import report_page
from ..export.report import plot_lines, report_plots, summary
from ..export.writing import as_bytes, write_new
from ..start.run_folders import folder_of, workspace_of
from ..text.json_out import print_json
from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line, path_line

_TASK, _SIGNATURE = 70, 60
_MOST = 12
"""Number of rows of a table; `--json` has all."""
_NARROWEST, _WIDE = 40, 160
_SIGNS = {"too tight": "!", "too loose": "~", "fits": " ", "unknown": "?"}


def print_handoffs(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print each run that waits for a person, the newest first. Return 0."""
    waiting_runs = pending(list_runs(folder_of(flags)), str(workspace_of(flags)) if flags.get("cwd") else None)
    if as_json:
        print_json(waiting_runs)
        return 0
    if not waiting_runs:
        _say("no runs are waiting for a person")
    for place, run in enumerate(waiting_runs):
        age = clock(max(0.0, time.time() - run.since))
        _say(f"{run.run_id}  {run.waits}  for {age}  {_cut(title_of(run.task), _TASK)}", gap=place > 0)
        _say(f"  why      {_cut(run.reason, 200)}")
        _say(f"  next     {_cut(run.suggested_action, 200)}")
        for waiting in run.proposals:
            _say(f"  digest   {waiting.digest[:12]}  {_cut(_proposal(waiting), 55)}")
        if (found := run.suspect) is not None:
            _say(f"  digest   {found.digest[:12]}  {_cut(f'suspect check: {found.command}', 55)}")
        _say(f"  resume   {one_line(run.take_up)}")
    return 0


def _proposal(waiting: PendingProposal) -> str:
    if waiting.effects:
        return f"changes of a command: {'; '.join(map(one_line, waiting.effects))}"
    what = f"{waiting.tool} {path_line(waiting.path) if waiting.path else waiting.command or ''}".strip()
    size = f"  +{waiting.added} -{waiting.removed}, {plural(waiting.hunks, 'hunk')}" if waiting.path else ""
    return f"{what}{size}{'  in conflict' if waiting.conflict else ''}"


def print_report(flags: Mapping[str, object], *, days: float, as_json: bool, html: str | None = None) -> int:
    """Print a summary of the runs of these days, with plots on a terminal. Return the exit code.

    `html`: a new file for the page, or `-` for standard output.
    """
    told = report(folder_of(flags), days, time.time())
    if as_json:
        print_json(told)
        return 0
    if html is not None:
        return _write_page(told, html)
    damaged = f", {told.unreadable - told.newer} damaged" if told.unreadable > told.newer else ""
    newer = f", {told.newer} of a newer rundry" if told.newer else ""
    _say(f"{plural(told.runs, 'run')} in {plural(days, 'day')}{damaged}{newer}")
    if told.runs:
        _say(summary(told))
        if words := held_words(told.held):
            _say(words)
        if told.restarts:
            _say(f"{plural(told.restarts, 'restart')} after an answer, in {plural(told.restarted_runs, 'run')}")
        if sys.stdout.isatty():
            print("")
            for line in plot_lines(report_plots(told), _width()):
                print(one_line(line))
        else:
            _print_groups(told)
        _print_shares(told)
        _print_besides(told)
        _say("limits", gap=True)
        for advice in told.advice:
            for line in textwrap.wrap(_advice(advice), _width(), subsequent_indent=" " * 22):
                _say(line)
    return 0


def _write_page(told: Report, target: str) -> int:
    pieces = as_bytes(report_page(told))
    if target == "-":
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    else:
        write_new(Path(target), pieces, option="--html")
        _say(f"written to {target}")
    return 0


def _width() -> int:
    return max(_NARROWEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDE


def _print_groups(told: Report) -> None:
    """Print the plots as tables, for a file or a program."""
    for title, groups in (("day", told.by_day), ("loop", told.by_loop)):
        _say(f"{title:<14}{'runs':>6}{'complete':>10}{'steps':>8}{'tokens':>10}{'usd':>14}", gap=True)
        for each in groups:
            usd = "no price" if each.usd is None else f"{each.usd:.4f}"
            counts = f"{each.runs:>6}{each.complete:>10}{each.steps:>8}{short(each.tokens):>10}{usd:>14}"
            _say(f"{each.name:<14}{counts}")


def _print_shares(told: Report) -> None:
    """Print the runs by exit reason, and the used share of each limit as median and 90th percentile."""
    columns = ("steps", "tokens", "usd", "seconds")
    wide = min(16, (_width() - 26) // 4)
    _say(f"{'ended on':<14}{'runs':>6}{'':>6}" + "".join(f"{name:>{wide}}" for name in columns), gap=True)
    rows = [(each.reason, each.runs, each.share, each.budget) for each in told.exits]
    for reason, runs, share, budget in (*rows, ("all", told.runs, 1.0, told.budget)):
        shares = "".join(f"{_share(budget.get(name), is_short=wide < 11):>{wide}}" for name in columns)
        _say(f"{reason:<14}{runs:>6}{share:>6.0%}{shares}")
    _say("of each limit: median" + ("" if wide < 11 else ", 90th percentile"))


def _print_besides(told: Report) -> None:
    if told.evidenced:
        _say("complete runs, by evidence", gap=True)
        for kind in told.evidenced:
            _say(f"{kind.runs:>6}x  {kind.kind}")
    if told.detectors:
        _say("detectors", gap=True)
        for each in told.detectors[:_MOST]:
            did = ", ".join(f"{name} {count}" for name, count in each.responses.items())
            room = max(12, min(_SIGNATURE, _width() - 44))
            name, signature = stall_name(each.kind), _cut(each.signature, room)
            _say(f"{each.firings:>6}x  {name:<12} {signature:<{room}}  {plural(each.runs, 'run')}  {did}")
    _print_hooks(told.hooks[:_MOST])
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
        name = max(16, min(40, _width() - 42))
        _say(f"{'model':<{name}}{'calls':>8}{'in':>10}{'out':>10}{'usd':>14}", gap=True)
        for model in told.models[:_MOST]:
            usd = "no price" if model.usd is None else f"{'~' if model.estimated else ''}{model.usd:.4f}"
            used = f"{model.calls:>8}{short(model.tokens_in):>10}{short(model.tokens_out):>10}{usd:>14}"
            _say(f"{_cut(model.model, name - 2):<{name}}{used}")


def _print_hooks(hooks: Sequence[HookCount]) -> None:
    """Print how often each hook ran, refused and failed; nothing if no hook ran."""
    if hooks:
        _say("hooks", gap=True)
    for hook in hooks:
        results = (("refused", hook.refused), ("failed", hook.failed))
        did = "".join(f", {word} {count}" for word, count in results if count)
        _say(f"{hook.times:>6}x  {hook.on:<14} {_cut(hook.command, _SIGNATURE)}  {plural(hook.runs, 'run')}{did}")


def _share(share: Share | None, *, is_short: bool) -> str:
    if share is None or is_short:
        return "-" if share is None else f"{share.median:.0%}"
    return f"{share.median:.0%}, {share.p90:.0%}"


def _advice(advice: Advice) -> str:
    return f"{_SIGNS[advice.verdict]} {advice.limit:<8} {advice.verdict:<10} {advice.why}"


def _cut(text: str, most: int) -> str:
    return cells_cut(one_line(" ".join(text.split())), most)


def _say(line: str, *, gap: bool = False) -> None:
    """Print one line, with an empty one above it for `gap`."""
    if gap:
        print("")
    print(one_line(cells_cut(one_line(line), _width()) if sys.stdout.isatty() else line))
