"""Summaries of many runs for lists and reports, without reading each journal again."""

from .folder import RunsFolder, journals
from .line import RunLine
from .tally import LIMITS, Firings, RunTally
from .tree import as_tree, is_left_to_parent

__all__ = ["LIMITS", "Firings", "RunLine", "RunTally", "RunsFolder", "as_tree", "is_left_to_parent", "journals"]
