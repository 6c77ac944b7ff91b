"""Restore places of the workspace after a command, if the sandbox cannot protect them."""

from .copies import Copies
from .other_names import HiddenNames
from .restore import KeptPlaces, Protected, move_config_aside

__all__ = ["Copies", "HiddenNames", "KeptPlaces", "Protected", "move_config_aside"]
