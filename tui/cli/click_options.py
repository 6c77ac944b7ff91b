"""The options of the command line, grouped by purpose. Imports only click."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar

import click

from ..text.output_kind import Output
from .option_kinds import KindsOption, RealNumber, WholeNumber, loops, recipes

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]


def _option(*names: str, **about: Any) -> Callable[[bool], Option]:  # noqa: ANN401 - click's own keywords
    def make(hidden: bool) -> Option:
        return click.option(*names, hidden=hidden, **about)

    return make


_RUN: Mapping[str, Callable[[bool], Option]] = {
    "model": _option("-m", "--model", metavar="NAME", help="As litellm knows it, e.g. ollama_chat/qwen3:8b."),
    "api_base": _option("--api-base", metavar="URL", help="An OpenAI-compatible server."),
    "effort": _option(
        "--effort", metavar="HOW", help="How much the model reasons: none, minimal, low, medium, high or xhigh."
    ),
    "loop": _option(
        "--loop",
        metavar="KIND",
        cls=KindsOption,
        kinds=loops,
        help="{kinds}. Default: interval with --every, improve with --score, "
        "goal with a check or --headless, else chat.",
    ),
    "plan": _option(
        "--plan",
        is_flag=True,
        default=None,
        help="First a plan with its check: you accept it before anything changes.",
    ),
    "until": _option(
        "--until", multiple=True, metavar="CMD", help="Done when this command exits with 0. May be repeated."
    ),
    "until_file": _option(
        "--until-file", multiple=True, metavar="PATH", help="Done when this file exists and is not empty."
    ),
    "until_py": _option(
        "--until-py", multiple=True, metavar="FILE:FUNCTION", help="Done when this function returns true."
    ),
    "schema": _option("--schema", metavar="FILE", help="Done when the final answer matches this JSON Schema."),
    "require": _option(
        "--require",
        multiple=True,
        metavar="ACTION",
        help="Require this action: TOOL, run_command:PROGRAM ARGUMENTS (exited with 0), edit_file:PATH; "
        "append :after-last-edit for a call after the last change.",
    ),
    "any": _option("--any", "any_", is_flag=True, default=None, help="One of the conditions is enough; default: all."),
    "guard": _option(
        "--guard", multiple=True, metavar="GLOB", help="Ask before these files change; `none` switches the guard off."
    ),
    "scope": _option("--scope", multiple=True, metavar="GLOB", help="These files may change, too. /scope lists all."),
    "verify": _option("--verify", metavar="WHEN", help="Check on every-step, on-change (default) or on-claim."),
    "diagnostics": _option(
        "--diagnostics", metavar="WHAT", help="After an edit: ruff, mypy, tsc and others look (on), or none does (off)."
    ),
    "confirm": _option(
        "--confirm", is_flag=True, default=None, help="Once green, the check must also pass in a clean checkout."
    ),
    "confirm_with": _option("--confirm-with", metavar="CMD", help="Like --confirm, but with this command."),
    "setup": _option(
        "--setup", metavar="CMD", help="Prepares a fresh checkout (npm ci), for the judge of a result. Runs once."
    ),
    "holdout": _option(
        "--holdout", metavar="CMD", help="Once judged, this second check must pass. The model never sees its output."
    ),
    "holdout_files": _option(
        "--holdout-files", multiple=True, metavar="GLOB", help="With --holdout: only its command can read these files."
    ),
    "every": _option(
        "--every", metavar="D", help="Interval: start a new pass at this interval (5m); commit it or roll it back."
    ),
    "worktree": _option(
        "--worktree", is_flag=True, default=None, help="Passes run in a separate git worktree and branch."
    ),
    "edit_format": _option(
        "--edit-format",
        metavar="HOW",
        help="auto (default), tools; or functions, whole, blocks, constrained: the program picks the file.",
    ),
    "restarts": _option(
        "--restarts", metavar="N", help="How often an answer that fails the check is undone and tried again."
    ),
    "commit": _option(
        "--commit", is_flag=True, default=None, help="Make a git commit of each approved edit of the model."
    ),
    "commit_hooks": _option(
        "--commit-hooks",
        is_flag=True,
        default=None,
        help="rundry's commits run the repository's hooks, in the sandbox.",
    ),
    "protected": _option(
        "--protected",
        multiple=True,
        metavar="BRANCH",
        help="Do not start a pass on this branch; default: main, master; or `none`.",
    ),
    "score": _option(
        "--score", metavar="CMD", help="Improve: keep changes that improve the number that this command prints."
    ),
    "goal": _option("--goal", metavar="WAY", help="With --score: max (default) or min."),
    "patience": _option("--patience", metavar="N", help="With --score: end after N passes without improvement (3)."),
    "min_delta": _option(
        "--min-delta", metavar="X", help="With --score: only improvements by more than X count for --patience (0)."
    ),
    "repeat": _option("--repeat", metavar="N", help="With --score: measure N times and compare the medians (1)."),
    "tries": _option(
        "--tries", metavar="N", help="With --until or --score: N candidates side by side; keep the best one (1)."
    ),
    "pass_loop": _option(
        "--pass-loop", metavar="LOOP", help="With --score: `goal` makes each pass a run of its own, with --until CMD."
    ),
    "pass_steps": _option("--pass-steps", metavar="N", help="Steps of one pass (30 with --every, 15 with --score)."),
    "cache_ttl": _option("--cache-ttl", metavar="D", help="Paced: how long the prompt cache lives (5m), or none."),
    "otel_content": _option(
        "--otel-content", is_flag=True, default=None, help="Spans sent to OpenTelemetry contain texts of the run."
    ),
    "steps": _option("--steps", metavar="N", help="Limit of steps."),
    "tokens": _option("--tokens", metavar="N", help="Limit of billed tokens, e.g. 200k."),
    "usd": _option("--usd", metavar="X", help="Limit of USD."),
    "time": _option("--time", metavar="D", help="Limit of working time, e.g. 10m."),
    "quota": _option(
        "--quota",
        multiple=True,
        metavar="TOOL=RATE",
        help="Limit the calls of a tool: run_command=30/min, 20/run.",
    ),
    "window": _option("--window", metavar="N", help="A stall: the same action and result N times in a row (4)."),
    "tool_error_rate": _option(
        "--tool-error-rate", metavar="X", help="A stall: this share of the newest tool calls failed (0.8)."
    ),
    "tool_error_calls": _option(
        "--tool-error-calls", metavar="N", help="The number of newest calls for --tool-error-rate (10)."
    ),
    "check_timeout": _option("--check-timeout", metavar="D", help="A check or score may take this long (5m)."),
    "command_timeout": _option(
        "--command-timeout", metavar="D", help="A command may take this long, unless the model sets its time-out (2m)."
    ),
    "park": _option(
        "--park", metavar="D", help="A run that waits with no view attached ends its process after this time (30m)."
    ),
    "deadline": _option("--deadline", metavar="WHEN", help="End of the run: a duration from now, or a time."),
    "context": _option("--context", metavar="N", help="Size of the model's context window in tokens."),
    "price": _option("--price", metavar="IN/OUT", help="USD per million tokens."),
    "gate": _option(
        "--gate",
        metavar="MODE",
        help="What needs no approval: read, ask, effects, edits, auto or stage.",
    ),
    "stage_patch": _option(
        "--stage-patch", metavar="FILE", help="With --gate stage: write what is staged at the end as a patch."
    ),
    "network": _option("--network", is_flag=True, default=None, help="Commands and checks may use the network."),
    "sandbox_env": _option(
        "--sandbox-env", multiple=True, metavar="NAME", help="Commands also get this variable; MYAPP_* for several."
    ),
    "sandbox_host": _option(
        "--sandbox-host", multiple=True, metavar="HOST", help="Commands reach this host without --network; *.x.org."
    ),
    "on_ask": _option("--on-ask", metavar="WHAT", help="Headless, instead of asking: refuse (default) or handoff."),
    "on_stall": _option("--on-stall", metavar="WHAT", help="If the run stalls: handoff or stop."),
    "escalate": _option("--escalate", metavar="NAME", help="If the run stalls: this model takes over, once."),
    "plain": _option("--plain", is_flag=True, help="Lines of words instead of a screen, for screen readers."),
    "quiet": _option("--quiet", is_flag=True, help="No bell, no notification, no title."),
    "cwd": _option("--cwd", metavar="DIR", help="The workspace; default: here."),
    "trust": _option("--trust", is_flag=True, help="Trust this folder's .rundry.toml and the named file, this once."),
    "runs_dir": _option("--runs-dir", metavar="DIR", help="Where journals go (RUNDRY_RUNS_DIR)."),
    "continue": _option("-c", "--continue", "continue_", is_flag=True, help="Continue this folder's newest run."),
}
_SEARCH: Mapping[str, Callable[[bool], Option]] = {
    "concurrency": _option("--concurrency", metavar="N", help="Number of workers (8); migrate: of checks."),
    "dry_passes": _option("--dry-passes", metavar="N", help="Passes in a row without a new result that end it (2)."),
    "refuters": _option("--refuters", metavar="N", help="Verifiers of each new finding (3); 0: none."),
    "retries": _option("--retries", metavar="N", help="Retries of a failed item (3)."),
    "item_steps": _option("--item-steps", metavar="N", help="Steps that one item or lens may take (15)."),
}
"""Limits of a search, which can change when it is resumed."""
set_option = click.option(
    "--set", "set_", multiple=True, metavar="NAME=VALUE", help="Value of a parameter of the spec file or recipe."
)
_HEADLESS = (
    click.option("--headless", is_flag=True, help="No screen: progress on stderr, the answer on stdout."),
    click.option("--json", "json_", is_flag=True, help="With --headless: print one event per line on stdout."),
    click.option(
        "-p", "--print", "print_", is_flag=True, help="No screen: print only the answer; piped input is added to TASK."
    ),
)
_FINDER = (
    click.option("--recipe", metavar="NAME", cls=KindsOption, kinds=recipes, help="{kinds}; without it a spec file."),
    click.option("--task", metavar="TEXT", help="What to search for; research: the question; migrate: how."),
    click.option("--check", metavar="CMD", help="migrate: a file is done when this exits with 0; {file} names it."),
    click.option("--parallel", type=WholeNumber(1, 16), metavar="N", help="migrate: files worked at a time (1)."),
    click.option("--resume", is_flag=True, help="Resume the newest unfinished run of this search."),
    click.option("--every", metavar="D", help="Repeat the search at this interval; needs a budget for all of them."),
    click.option("--max-pages", "max_pages", metavar="N", help="crawl: limit of pages (10000)."),
    click.option("--rate", type=RealNumber(0), metavar="X", help="crawl: requests a second; 0: no limit."),
    click.option("--include", multiple=True, metavar="GLOB", help="crawl: follow only these addresses."),
    click.option("--exclude", multiple=True, metavar="GLOB", help="crawl: never follow these."),
    click.option(
        "--executor", metavar="WHERE", help="Dask workers: dask (local), dask://127.0.0.1:PORT, tls://HOST:PORT."
    ),
    click.option("--host", multiple=True, metavar="HOST", help="Lenses may read pages of this host."),
)
_REVIEW = (
    click.option("--diff", metavar="RANGE", help="Review A..B, A...B or A; default: what changed since HEAD."),
    click.option("--patch", metavar="FILE", help="Review a patch on HEAD; - reads standard input."),
    click.option("--reviewers", type=WholeNumber(1, 16), metavar="N", help="N equal reviewers instead of lenses."),
    click.option("--fix", is_flag=True, help="Repair what is confirmed until --until passes, then review again."),
    click.option("--fail-on", metavar="WHAT", help="Exit with 7 if a finding is confirmed (default), or not (none)."),
    click.option("--comments", metavar="FILE", help="With --headless: write the findings as a review for GitHub."),
)
_LIMITS = ("quota", "window", "tool_error_rate", "tool_error_calls", "check_timeout", "command_timeout", "park")
"""Limits of every run, in addition to its budget."""
_BUDGET = ("steps", "tokens", "usd", "time", "deadline")
SEARCHED = (
    "model",
    "api_base",
    "effort",
    "guard",
    "scope",
    "setup",
    "holdout",
    "holdout_files",
    *_BUDGET,
    "context",
    "price",
    *_LIMITS,
    "gate",
    "network",
    "sandbox_env",
    "sandbox_host",
    "on_ask",
    "on_stall",
    "diagnostics",
    "plain",
    "cwd",
    "trust",
    "runs_dir",
)
"""Options that a search accepts."""
FIXED = (*SEARCHED, "until", "verify", "confirm", "confirm_with", "commit", "commit_hooks", "escalate", "quiet")
"""Options that `rundry fix` accepts."""
RESUMED = (
    "model",
    "api_base",
    "effort",
    *_BUDGET,
    *_LIMITS,
    "pass_steps",
    "patience",
    "min_delta",
    "repeat",
    "tries",
    "gate",
    "on_ask",
    "on_stall",
    "plain",
    "quiet",
    "cwd",
    "trust",
    "runs_dir",
)
"""Options that can change when a run is resumed."""
LIMITED = tuple(_SEARCH)
"""The options that only a search has."""
PLAYED = (
    *_BUDGET,
    "gate",
    "on_ask",
    "on_stall",
    "plain",
    "quiet",
    "cwd",
    "runs_dir",
)
"""Options that the demo accepts: its model, task and check are fixed."""
EDITED = (*(name for name in SEARCHED if name not in ("on_ask", "plain", "cwd")), "until", "verify", "commit")
"""Options that the sessions of an editor accept."""
LOOKED_AT = ("model", "api_base", "effort", "cwd", "trust", "runs_dir")
"""Options that change what `doctor` finds; it only prints the others."""


def run_options(shown: Collection[str] | None = None, *, others: bool = True) -> Callable[[Command], Command]:
    """Add the options of a run. With `shown`, the others are hidden from the help, or left out."""
    return _added(
        [
            make(shown is not None and name not in shown)
            for name, make in _RUN.items()
            if others or shown is None or name in shown
        ]
    )


def finder_options(command: Command) -> Command:
    """Add the options that define a search."""
    return search_limits(_added(list(_FINDER))(command))


def review_options(command: Command) -> Command:
    """Add the options that define a review."""
    return search_limits(_added(list(_REVIEW))(command))


def search_limits(command: Command) -> Command:
    """Add the limits of a search."""
    return _added([make(False) for make in _SEARCH.values()])(command)


def headless_options(command: Callable[..., None], *, json_alone: bool = False) -> Callable[..., None]:
    """Add `--headless`, `--json` and `--print`; the command gets one `output`, which is None for the screen.

    `json_alone`: `--json` needs no `--headless`.
    """

    @wraps(command)
    def with_output(*, headless: bool, json_: bool, print_: bool, **given: object) -> None:
        if json_ and print_:
            raise click.UsageError("--json and --print exclude each other: use one of them")
        if json_ and not (headless or json_alone):
            raise click.UsageError("--json needs --headless: add --headless")
        lines = Output.LINES if headless else None
        command(output=Output.JSON if json_ else Output.ANSWER if print_ else lines, **given)

    return _added(list(_HEADLESS))(with_output)


def _added(options: list[Option]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add
