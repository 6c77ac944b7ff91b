"""Find the run to resume, and what changes then. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping
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
    Reason,
    ResumeChanges,
    Setting,
    UserError,
    find_run,
    is_left_to_parent,
    is_own_journal,
    limit_problem,
    list_runs,
    read_executor,
    require_own_journal,
    run_state,
)

from .new_run import Setup
from .run_folders import folder_of, workspace_of

_LIMITS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}


def find(ref: str | None, flags: Mapping[str, object]) -> Path:
    """Return the journal that `ref` names; without it, this workspace's newest unfinished run. Raises UserError."""
    return find_run(ref, folder_of(flags), workspace_of(flags))


def find_own(ref: str | None, flags: Mapping[str, object]) -> Path:
    """Return `find()` of a run that is going to continue. Raises NotTrusted for a journal from elsewhere, UserError."""
    return _trusted(find(ref, flags), flags)


def find_any_own(ref: str | None, flags: Mapping[str, object]) -> Path:
    """Return `find_any()` of a run whose checks run or that is continued. Raises as `find_own()`."""
    return _trusted(find_any(ref, flags), flags)


def _trusted(path: Path, flags: Mapping[str, object]) -> Path:
    folder = folder_of(flags)
    require_own_journal(path, folder, trust=bool(flags.get("trust")))
    if not is_own_journal(path, folder):
        _require_events(path)
    return path


def _require_events(path: Path) -> None:
    """Raise UserError for a copy without events: with those, what the run has spent is lost."""
    journal = Journal.open(path)
    try:
        is_empty = journal.last_seq() <= 0
    finally:
        journal.close()
    if is_empty:
        raise UserError(
            f"{path} has no events, most likely because it was copied without {path.name}-wal, which holds them. "
            "Copy that file, too, or copy the run with `rundry backup`"
        )


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
    """Return the changes with a decision of the person."""
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
        if why := limit_problem(spec, name):
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
