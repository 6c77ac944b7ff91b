"""Match deny and ask rules against commands, including commands with unknown words."""

from .hits import Hit, hit

__all__ = ["Hit", "hit"]
