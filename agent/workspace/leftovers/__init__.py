"""Record temporary files next to files that are written, and remove them after a kill."""

from .record import Leftovers, Use

__all__ = ["Leftovers", "Use"]
