"""Read journals for lists of runs, reports, waiting proposals, hand-off records and exports. Writes no journal."""

from .listing import RunLine, as_tree, is_left_to_parent
from .runs import delete_run, find_run, journal_path, list_runs, new_run_id, runs_dir

__all__ = [
    "RunLine",
    "as_tree",
    "delete_run",
    "find_run",
    "is_left_to_parent",
    "journal_path",
    "list_runs",
    "new_run_id",
    "runs_dir",
]
