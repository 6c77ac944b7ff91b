"""Record the approved state of guarded files by digest, compare the files with it, and restore it."""

from .marks import Mark, StampedMark, read_mark
from .names import SKIPPED, NameIndex, TooManyNames
from .restore import SealRestorer
from .seals import LARGEST_STORED, Difference, Sealed, Seals

__all__ = [
    "LARGEST_STORED",
    "SKIPPED",
    "Difference",
    "Mark",
    "NameIndex",
    "SealRestorer",
    "Sealed",
    "Seals",
    "StampedMark",
    "TooManyNames",
    "read_mark",
]
