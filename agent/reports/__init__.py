"""Read journals: lists of runs, reports, waiting proposals, hand-off records, exports."""

from .listing import RunLine
from .runs import find_run, journal_path, list_runs, new_run_id, runs_dir

__all__ = ["RunLine", "find_run", "journal_path", "list_runs", "new_run_id", "runs_dir"]
