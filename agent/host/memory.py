"""Return freed memory that the C library still holds to the operating system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def return_freed_memory() -> None:
    """Return freed memory to the operating system, if the C library is glibc.

    Each step allocates and frees blocks of all sizes (requests, answers, files, compressed events). glibc keeps the
    gaps between the remaining blocks, which can be half of a runner's heap and grow with the number of steps.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
