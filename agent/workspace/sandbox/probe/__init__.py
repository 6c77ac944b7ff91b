"""Test the guarantees of a sandbox on this machine by attacking it from the inside."""

from .guarantees import NotHeld, Verdict, not_held, short_list
from .run import ProbeResult, cache_folder, probe
from .stage import AttackStage

__all__ = ["AttackStage", "NotHeld", "ProbeResult", "Verdict", "cache_folder", "not_held", "probe", "short_list"]
