"""Test the guarantees of a sandbox on this machine by attacking it from the inside."""

from .guarantees import NotHeld, Verdict, in_short, not_held
from .run import Probed, cache_folder, probe
from .stage import AttackStage

__all__ = ["AttackStage", "NotHeld", "Probed", "Verdict", "cache_folder", "in_short", "not_held", "probe"]
