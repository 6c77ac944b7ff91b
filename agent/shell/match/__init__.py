"""How a rule that denies or asks finds the commands that it is about, also where not every word is known."""

from .hits import Hit, hit

__all__ = ["Hit", "hit"]
