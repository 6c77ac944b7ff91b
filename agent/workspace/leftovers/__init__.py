"""Record the temporary files of writes, and remove those that a killed process left."""

from .record import Leftovers, Use

__all__ = ["Leftovers", "Use"]
