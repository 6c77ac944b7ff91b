"""The transcript of a run."""

from .search import Found
from .widget import Transcript

__all__ = ["Found", "Transcript"]
