"""A run seen again: from its start, at any speed, at any point. No textual is imported here."""

from .film import Film, Mark
from .player import SPEEDS, Player

__all__ = ["SPEEDS", "Film", "Mark", "Player"]
