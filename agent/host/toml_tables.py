"""Data tables that are part of the program: TOML files next to the modules that use them."""

from __future__ import annotations

import threading
import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")
_reading = threading.Lock()
"""msgspec prepares a type on first use, and crashes the process if two threads do that at the same time."""


def read_table(file: Path, kind: type[T]) -> T:
    """Return the content of a TOML file as this type. Thread-safe."""
    with _reading:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), kind)
