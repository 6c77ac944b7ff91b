"""Lists that grow with a run and keep only their newest items in memory."""

from .packed import PackedLog
from .stored import drop_stored, read_from, store, with_digest, without_digest

__all__ = ["PackedLog", "drop_stored", "read_from", "store", "with_digest", "without_digest"]
