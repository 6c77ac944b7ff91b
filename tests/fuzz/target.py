"""What a target is: a function that takes any bytes and raises only if something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One reader of foreign bytes."""

    run: Callable[[bytes], None]
    """Raise for a defect: an exception that the reader does not promise, or a broken property."""
    seeds: tuple[bytes, ...]
    """Inputs that the reader understands, to be damaged."""
    words: tuple[bytes, ...] = ()
    """Pieces that mean something to the reader."""
