"""Return memory that was freed but is still held by the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def return_freed_memory() -> None:
    """Return freed memory to the system, if the C library is glibc.

    Each step allocates and frees blocks of all sizes (requests, answers, files, compressed events). glibc keeps the
    gaps between the remaining blocks: half of a runner's heap, and more with each hundred steps.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
