"""Summaries of many runs for lists and reports, without reading each journal again."""

from .folder import RunsFolder, journals
from .line import RunLine
from .tally import LIMITS, Firings, RunTally, Spend

__all__ = ["LIMITS", "Firings", "RunLine", "RunTally", "RunsFolder", "Spend", "journals"]
