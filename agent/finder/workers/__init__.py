"""What works an item without a model: a command or a function of the user's. The crawler stands beside it."""

from .worker import ReportedFinding, Worked, Worker, WorkItem

__all__ = ["ReportedFinding", "WorkItem", "Worked", "Worker"]
