"""Summaries of the runs in a folder, for lists and reports, with an index that avoids reading each journal again."""

from .folder import RunsFolder, journals
from .line import RunLine
from .tally import LIMITS, RunStallCount, RunTally
from .tree import as_tree, is_left_to_parent

__all__ = ["LIMITS", "RunLine", "RunStallCount", "RunTally", "RunsFolder", "as_tree", "is_left_to_parent", "journals"]
