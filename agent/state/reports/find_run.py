"""Find the run that a person means."""

from __future__ import annotations

from pathlib import Path

from ...protocol import UserError
from .run_files import journal_path
from .run_index import RunsFolder, journals
from .run_tree import is_left_to_parent

_LONGEST_LIST = 8


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


def _newest_unfinished(folder: Path, workspace: Path | None) -> Path:
    wanted = None if workspace is None else str(workspace.resolve())
    with RunsFolder(folder) as runs:
        lines = list(runs.lines())
    for line in lines:
        if not line.is_finished and wanted in (None, line.workspace) and not is_left_to_parent(line, lines):
            return Path(line.path)
    where = "" if wanted is None else f" of {wanted}"
    raise UserError(f"no unfinished run{where} in {folder}: `rundry runs` lists all runs")
