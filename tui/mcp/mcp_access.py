"""Find the runs that a client may see and control. Everything that is refused raises UserError with the reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import (
    GateMode,
    Journal,
    RunLine,
    UserError,
    ViewState,
    find_run,
    is_client,
    list_runs,
    newest_as_of_now,
)

if TYPE_CHECKING:
    from .allowed_runs import Allowed


def visible_runs(allowed: Allowed, *, below: Path | None = None) -> list[RunLine]:
    """Return the runs below the allowed folders, newest first. `below`: only those in this folder or below it."""
    every = [line for line in list_runs(allowed.journals) if line.workspace and allowed.covers(line.workspace)]
    lines = newest_as_of_now(every)
    return lines if below is None else [line for line in lines if Path(line.workspace).is_relative_to(below)]


def open_run(allowed: Allowed, run: str) -> Journal:
    """Open the journal of a run that this client may see. Raises UserError, JournalError.

    A run outside of the allowed folders is reported like one that does not exist.
    """
    journal = Journal.open(find_run(run, allowed.journals, None))
    home = os.path.realpath(journal.spec.home)  # of a run in a worktree, the user's folder; it may be a link by now
    if allowed.covers(home) and allowed.covers(journal.spec.home):
        return journal
    journal.close()
    raise UserError(f"no run {run!r} in {allowed.journals}: list_runs lists the runs that exist")


def require_control(allowed: Allowed, journal: Journal, state: ViewState, *, only_to_stop: bool = False) -> None:
    """Raise UserError unless clients may control this run.

    `only_to_stop`: the client asks the run to do less, which needs no look at the gate.
    """
    spec = journal.spec
    if not (is_client(spec.started_by) or allowed.any_run):
        raise UserError(
            f"{spec.run_id} was not started through MCP: a person can control it, or start the server with --any-run"
        )
    if not only_to_stop and allowed.is_too_wide(state.gate_mode):
        raise UserError(
            f"the gate of {spec.run_id} is set to {state.gate_mode.value}, which is wider than this server allows "
            f"({_widest(allowed.gate)})"
        )


def allowed_folder(allowed: Allowed, folder: str | None) -> Path:
    """Return the folder that a client named, resolved; default: the first allowed one. Raises UserError.

    A folder outside of the allowed ones is not looked at, so that a client cannot learn whether it exists.
    """
    first = allowed.folders[0]
    if folder is None:
        return first
    try:
        found = Path(first, folder).resolve()
    except (OSError, ValueError, RuntimeError):
        found = None
    if found is None or not allowed.covers(found):
        names = ", ".join(map(str, allowed.folders))
        raise UserError(f"{folder[:200]!r} is not below a folder that this server allows: {names}")
    if not found.is_dir():
        raise UserError(f"{folder[:200]!r} is not a folder")
    return found


def _widest(mode: GateMode) -> str:
    return f"{mode.value}; --allow-auto allows all" if mode is not GateMode.AUTO else mode.value
