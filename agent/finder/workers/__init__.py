"""What works an item without a model: a command or a function of the user's. The crawler stands beside it."""

from .command import CommandWorker
from .python import PythonWorker
from .worker import ReportedFinding, Worked, Worker, WorkItem

__all__ = ["CommandWorker", "PythonWorker", "ReportedFinding", "WorkItem", "Worked", "Worker"]
