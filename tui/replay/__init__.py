"""Replay a run from its start, at any speed, at any position. Does not import textual."""

from .player import SPEEDS, Player
from .timeline import Mark, Timeline

__all__ = ["SPEEDS", "Mark", "Player", "Timeline"]
