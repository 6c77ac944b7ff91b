"""Find the run to resume, what changes then, and the command for it. Does not import textual."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import msgspec

from rundry.agent import (
    LIMITS,
    ON_ASK,
    ON_STALL,
    Budget,
    GateMode,
    Journal,
    LimitValue,
    LoopKind,
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
    is_left_to_parent,
    list_runs,
    misfit,
    read_executor,
    run_state,
)

from ..deciding.question import SHORT
from .start import Setup, folder_of, workspace_of

_LIMITS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}


def find(ref: str | None, flags: Mapping[str, object]) -> Path:
    """Return the journal that `ref` names; without it, this workspace's newest unfinished run. Raises UserError."""
    return find_run(ref, folder_of(flags), workspace_of(flags))


def find_any(ref: str | None, flags: Mapping[str, object]) -> Path:
    """Return the journal that `ref` names; without it, the newest run, ended or not. Raises UserError."""
    if ref is not None:
        return find(ref, flags)
    folder, workspace = folder_of(flags), str(workspace_of(flags))
    for line in list_runs(folder):
        if line.workspace == workspace:
            return Path(line.path)
    raise UserError(f"no run of {workspace} in {folder}: `rundry runs` lists all runs")


def find_continued(task: str | None, flags: Mapping[str, object]) -> Path:
    """Return the run that `--continue` means: this workspace's newest that is unfinished or a chat. Raises UserError.

    With a task, which becomes the next message, a finished run counts too.
    """
    folder, workspace = folder_of(flags), str(workspace_of(flags))
    lines = list_runs(folder)
    for line in lines:
        is_over = is_left_to_parent(line, lines) or line.is_unreadable or line.reason is Reason.REFUSED
        goes_on = not line.is_finished or task is not None or line.loop == LoopKind.CHAT
        if line.workspace == workspace and goes_on and not is_over:
            return Path(line.path)
    raise UserError(
        f"no run of {workspace} can be continued: start one with `rundry`, or name one with `rundry resume RUN`"
    )


def changes_from(flags: Mapping[str, object], hint: str | None, path: Path) -> ResumeChanges:
    """Return the other options as changes to the run of that journal. Raises RundryError."""
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
        on_ask=setup.settings.choice("on_ask", ON_ASK) if "on_ask" in asked else None,
        on_stall=setup.settings.choice("on_stall", ON_STALL) if "on_stall" in asked else None,
        hint=hint,
        executor=_executor(flags, path),
        damaged=bool(flags.get("damaged")),
    )


def with_decision(changes: ResumeChanges, decided: ResumeChanges | None) -> ResumeChanges:
    """Return the changes with a decision of the user."""
    if decided is None:
        return changes
    return msgspec.structs.replace(changes, decision=decided.decision, accept=decided.accept)


def _other_limits(asked: Mapping[str, Setting], path: Path) -> dict[str, LimitValue]:
    """Return the limits outside of the budget. Raises UserError for one that the run does not have."""
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


def _executor(flags: Mapping[str, object], path: Path) -> str | None:
    """Return another cluster for the run of that journal. Raises UserError if the run does not use one."""
    if flags.get("executor") is None:
        return None
    asked = read_executor(str(flags["executor"])).text
    journal = Journal.open(path)
    finder = journal.spec.finder
    journal.close()
    if finder is None or finder.executor is None:
        raise UserError(
            f"--executor {asked}: a resumed run can move to another cluster, but {path.stem} works on this machine; "
            "leave the option out"
        )
    return asked


def _with_effort(setup: Setup, path: Path) -> ModelSpec:
    """Return the run's own model with the requested effort."""
    journal = Journal.open(path)
    try:
        model = run_state(journal).model
    finally:
        journal.close()
    return msgspec.structs.replace(model, effort=setup.settings.get("effort", str))


def way_on(
    ended: RunEnded | Outcome,
    run_id: str,
    budget: Budget,
    flags: Mapping[str, object],
    *,
    attended: bool = False,
    waiting: Iterable[ProposalOpened] = (),
) -> str | None:
    """Return `resume with: rundry resume RUN --steps 60 --headless`; None if nothing is left to do.

    After a budget it names the option that raises the limit, above its present value. `attended`: the run has a screen.
    `waiting`: the open proposals; the first one needs a decision.
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
    """Return the limit that was reached, and a value above it and above what was used; None if no limit ended the run.

    The words of the detail are those of stops/budget.py. The limit may have been lowered below what was used.
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
    """Return whether the run ended on a limit, so that raising it resumes the run."""
    return state.outcome is not None and state.budget is not None and raised(state.outcome, state.budget) is not None


def _raised(ended: RunEnded | Outcome, budget: Budget) -> list[str]:
    found = raised(ended, budget)
    return [] if found is None else [f"--{found[0]}", found[1]]
