"""Locate, list, name and delete runs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..journal.claim import claim
from ..protocol import RunHeld, UserError
from .listing.folder import RunsFolder, journals
from .listing.tree import is_left_to_parent

if TYPE_CHECKING:
    from .listing.line import RunLine

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_LIST = 8


def new_run_id(now: float) -> str:
    """Return a new id such as `20261121-014233-k3f9x` (UTC). Ids sort by `now`, also within a second."""
    part = int(now % 1 * 36**2)
    noise = int.from_bytes(os.urandom(4)) % 36**3
    letters = (part // 36, part % 36, noise // 36**2, noise // 36 % 36, noise % 36)
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(now)) + "".join(_LETTERS[n] for n in letters)


def runs_dir(explicit: str | None, env: Mapping[str, str]) -> Path:
    """Return the folder of all journals: `explicit`, RUNDRY_RUNS_DIR, or the user's folder for application state."""
    given = explicit or env.get("RUNDRY_RUNS_DIR")
    if given:
        return Path(given).expanduser().absolute()
    state = env.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():
        return Path(state) / "rundry" / "runs"
    from platformdirs import user_state_dir  # costs 10 ms

    return Path(user_state_dir("rundry")) / "runs"


def journal_path(folder: Path, run_id: str) -> Path:
    """Return the path of the run's journal."""
    return folder / f"{run_id}.db"


def find_run(ref: str | None, folder: Path, workspace: Path | None) -> Path:
    """Return the path of the journal of a run. `ref`: its id, an unambiguous prefix of the id, or a path.

    Without `ref`, return the newest unfinished run of the workspace, or of all workspaces. Raises UserError.
    """
    if ref is None:
        return _newest_unfinished(folder, workspace)
    given = Path(ref).expanduser()
    if given.name != ref or given.suffix == ".db":
        for path in (given, folder / given):
            if path.is_file():
                return path.absolute()
        raise UserError(f"there is no journal at {ref}: `rundry runs` lists the runs that exist")
    ids = [path.stem for path in journals(folder)]
    fitting = [ref] if ref in ids else [run_id for run_id in ids if ref and run_id.startswith(ref)]
    if len(fitting) == 1:
        return journal_path(folder, fitting[0])
    if not fitting:
        raise UserError(f"no run {ref!r} in {folder}: `rundry runs` lists the runs that exist")
    shown = ", ".join(fitting[:_LONGEST_LIST]) + (", ..." if len(fitting) > _LONGEST_LIST else "")
    raise UserError(f"{ref!r} matches {len(fitting)} runs ({shown}): write more of the id")


def list_runs(folder: Path) -> list[RunLine]:
    """Return all runs, newest first; for an unreadable run, the line says why. Empty if the folder does not exist."""
    with RunsFolder(folder) as runs:
        return list(runs.lines())


def delete_run(path: Path) -> None:
    """Delete the journal of a run that no process holds, with all files of the run in its folder.

    Raises UserError if the run is in use or its files cannot be removed.
    """
    try:
        with claim(path):
            beside = [each for each in path.parent.glob(f"{escape(path.name)}?*") if each.is_file()]
            path.unlink()
            for each in beside:
                each.unlink(missing_ok=True)
            shutil.rmtree(path.with_suffix(".snapshots"), ignore_errors=True)
    except RunHeld as error:
        raise UserError(f"the run {path.stem} is in use: stop it first ({error})") from error
    except OSError as error:
        raise UserError(f"the run {path.stem} cannot be deleted: {error.strerror}") from error


def _newest_unfinished(folder: Path, workspace: Path | None) -> Path:
    wanted = None if workspace is None else str(workspace.resolve())
    with RunsFolder(folder) as runs:
        lines = list(runs.lines())
    for line in lines:
        if not line.is_finished and wanted in (None, line.workspace) and not is_left_to_parent(line, lines):
            return Path(line.path)
    where = "" if wanted is None else f" of {wanted}"
    raise UserError(f"no unfinished run{where} in {folder}: `rundry runs` lists all runs")
