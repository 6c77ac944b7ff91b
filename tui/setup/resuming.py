"""Which run, what is different when it goes on, and the command that does it. No textual in here."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import msgspec

from rundry.agent import (
    LIMITS,
    Budget,
    GateMode,
    Journal,
    LimitValue,
    ModelSpec,
    Outcome,
    ProposalOpened,
    Reason,
    ResumeChanges,
    RunEnded,
    Setting,
    UserError,
    ViewState,
    find_run,
    list_runs,
    misfit,
    what_waits,
)

from ..deciding.question import SHORT
from .start import Setup, folder_of, workspace_of

_LIMITS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}


def find(ref: str | None, flags: Mapping[str, object]) -> Path:
    """The journal that `ref` names; without it this workspace's newest unfinished run. Raises UserError."""
    return find_run(ref, folder_of(flags), workspace_of(flags))


def find_any(ref: str | None, flags: Mapping[str, object]) -> Path:
    """The same, but without `ref` the newest run, ended or not. Raises UserError."""
    if ref is not None:
        return find(ref, flags)
    folder, workspace = folder_of(flags), str(workspace_of(flags))
    for line in list_runs(folder):
        if line.workspace == workspace:
            return Path(line.path)
    raise UserError(f"no run of {workspace} in {folder}: `rundry runs` lists all runs")


def changes_from(flags: Mapping[str, object], hint: str | None, path: Path) -> ResumeChanges:
    """The options that were given besides, as changes to that journal's run. Raises RundryError."""
    setup = Setup(flags, headless=False, begins=False)
    asked = setup.settings.given
    budget = setup.preview().budget or Budget()
    limits: dict[str, LimitValue] = {field: getattr(budget, field) for name, field in _LIMITS.items() if name in asked}
    limits |= _other_limits(asked, path)
    mode = setup.settings.get("gate", GateMode) if "gate" in asked else None
    return ResumeChanges(
        limits=limits,
        model=setup.model if "model" in asked else _with_effort(setup, path) if "effort" in asked else None,
        gate=mode,
        unsandboxed_ok=mode is GateMode.AUTO,
        on_ask=setup.settings.get("on_ask", str) if "on_ask" in asked else None,
        on_stall=setup.settings.get("on_stall", str) if "on_stall" in asked else None,
        hint=hint,
        damaged=bool(flags.get("damaged")),
    )


def with_decision(changes: ResumeChanges, decided: ResumeChanges | None) -> ResumeChanges:
    """The same changes with a person's decision."""
    if decided is None:
        return changes
    return msgspec.structs.replace(changes, decision=decided.decision, accept=decided.accept)


def _other_limits(asked: Mapping[str, Setting], path: Path) -> dict[str, LimitValue]:
    """Those that are not of the budget. Raises UserError for one that the run does not have."""
    names = [name for name in LIMITS if name in asked]
    rates = cast("dict[str, str]", asked["quota"].value) if "quota" in asked else {}
    if not (names or rates):
        return {}
    journal = Journal.open(path)
    spec = journal.spec
    journal.close()
    for name in names:
        if why := misfit(spec, name):
            raise UserError(f"--{name.replace('_', '-')}: {why}. Remove it")
    limits = {name: cast("LimitValue", asked[name].value) for name in names}
    return limits | {tool: None if rate == "none" else rate for tool, rate in rates.items()}


def _with_effort(setup: Setup, path: Path) -> ModelSpec | None:
    """The run's own model with the effort that was asked for."""
    journal = Journal.open(path)
    try:
        model = what_waits(journal).model
    finally:
        journal.close()
    return None if model is None else msgspec.structs.replace(model, effort=setup.settings.get("effort", str))


def way_on(
    ended: RunEnded | Outcome,
    run_id: str,
    budget: Budget,
    flags: Mapping[str, object],
    *,
    attended: bool = False,
    waiting: Iterable[ProposalOpened] = (),
) -> str | None:
    """`resume with: rundry resume RUN --steps 60 --headless`; None where nothing is left to go on with.

    After a budget it names the option that raises the limit, above what it was. `attended`: on a screen. `waiting`:
    the open proposals; the first one is to be decided on.
    """
    if ended.complete or ended.reason is Reason.REFUSED:
        return None
    words, headless = ["rundry", "resume", run_id], [] if attended else ["--headless"]
    if flags.get("runs_dir"):
        words += ["--runs-dir", shlex.quote(str(flags["runs_dir"]))]
    if ended.reason is Reason.HANDOFF and (opened := next(iter(waiting), None)) is not None:
        named = [*words[2:], "--digest", opened.digest[:SHORT], *headless]
        return f"decide with: {' '.join(['rundry', 'approve', *named])} (or: rundry reject)"
    match ended.reason:
        case Reason.BUDGET:
            words += [*_raised(ended, budget), *headless]
        case Reason.USER | Reason.ERROR | Reason.DRY:
            words += headless
        case _:
            words += ["--hint", '"..."']
    return f"resume with: {' '.join(words)}"


def raised(ended: RunEnded | Outcome, budget: Budget) -> tuple[str, str] | None:
    """The limit that was reached (the words of its detail are those of stops/budget.py), and a value with room above
    it and above what was used: a limit can be lowered below that. None where no limit ended it.
    """
    if "until the deadline" in ended.detail:
        return "deadline", "10m"
    match ended.detail.split(" budget", 1)[0]:
        case "step" if budget.steps is not None:
            most = max(budget.steps, ended.steps)
            return "steps", str(max(most + 1, math.ceil(most * 1.5)))
        case "token" if budget.tokens is not None:
            return "tokens", str(max(2 * budget.tokens, 2 * ended.tokens.total, 10_000))
        case "cost" if budget.usd is not None:
            return "usd", f"{max(2 * budget.usd, 2 * (ended.usd or 0.0), 0.1):g}"
        case "time" if budget.seconds is not None:
            seconds = max(60, math.ceil(2 * max(budget.seconds, ended.seconds)))
            return "time", f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"
        case _:
            return None


def ended_on_limit(state: ViewState) -> bool:
    """The run goes on as soon as that limit is raised."""
    return state.outcome is not None and state.budget is not None and raised(state.outcome, state.budget) is not None


def _raised(ended: RunEnded | Outcome, budget: Budget) -> list[str]:
    found = raised(ended, budget)
    return [] if found is None else [f"--{found[0]}", found[1]]
