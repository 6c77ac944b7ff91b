"""Detect runs that repeat themselves."""

from .argument_paths import normalise_paths
from .observation import Call, Finding, Observation
from .repetition import find_repetition
from .watch import StallVerdicts, StallWatch

__all__ = ["Call", "Finding", "Observation", "StallVerdicts", "StallWatch", "find_repetition", "normalise_paths"]
