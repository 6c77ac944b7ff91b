"""Confirm a result: run its checks in a clean checkout, during the run or later (docs/requirements.md 2.3.9)."""

from .dependencies import Dependencies
from .live import confirm

__all__ = ["Dependencies", "confirm"]
