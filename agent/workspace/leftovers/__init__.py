"""Temporary files next to files that are written: recorded while they exist, removed after a kill."""

from .record import Leftovers, Use

__all__ = ["Leftovers", "Use"]
