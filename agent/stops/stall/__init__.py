"""Detect runs that repeat themselves."""

from .chant import find_chant
from .observation import Call, Finding, Observation
from .spellings import one_spelling
from .watch import Judge, StallWatch

__all__ = ["Call", "Finding", "Judge", "Observation", "StallWatch", "find_chant", "one_spelling"]
