"""Files identified by path and digest: their approved state, what differs from it, and the way back to it."""

from .marks import Mark, Seen, read_mark
from .names import SKIPPED, NameIndex
from .put_back import PutBack
from .seals import KEPT, Difference, Sealed, Seals

__all__ = ["KEPT", "SKIPPED", "Difference", "Mark", "NameIndex", "PutBack", "Sealed", "Seals", "Seen", "read_mark"]
