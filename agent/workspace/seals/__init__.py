"""Record the approved state of guarded files by digest, compare the files with it, and restore it."""

from .marks import Mark, Seen, read_mark
from .names import SKIPPED, NameIndex
from .restore import SealRestorer
from .seals import KEPT, Difference, Sealed, Seals

__all__ = ["KEPT", "SKIPPED", "Difference", "Mark", "NameIndex", "SealRestorer", "Sealed", "Seals", "Seen", "read_mark"]
