"""Workers that need no model: a command or a Python function of the user. The crawler is in its own package."""

from .command import CommandWorker
from .python import PythonWorker
from .worker import ItemResult, ReportedFinding, Worker, WorkItem

__all__ = ["CommandWorker", "ItemResult", "PythonWorker", "ReportedFinding", "WorkItem", "Worker"]
