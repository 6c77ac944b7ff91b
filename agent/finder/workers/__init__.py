"""Workers that need no model: a command or a Python function of the user. The crawler is in its own package."""

from .command import CommandWorker
from .python import PythonWorker
from .worker import ReportedFinding, Worked, Worker, WorkItem

__all__ = ["CommandWorker", "PythonWorker", "ReportedFinding", "WorkItem", "Worked", "Worker"]
