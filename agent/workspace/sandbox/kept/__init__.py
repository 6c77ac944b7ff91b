"""Restore places of the workspace after a command, if the sandbox cannot protect them."""

from .copies import Copies
from .other_names import HiddenNames
from .restore import KeptPlaces, Protected, moved_aside

__all__ = ["Copies", "HiddenNames", "KeptPlaces", "Protected", "moved_aside"]
