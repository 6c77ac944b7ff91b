"""The line above the message box: how long the run still sleeps, and how the score moves."""

from .line import ClockworkLine

__all__ = ["ClockworkLine"]
