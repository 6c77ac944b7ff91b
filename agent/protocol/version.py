"""The version of the program. `importlib.metadata` would take 10 ms to say it."""

from __future__ import annotations

VERSION = "0.1.0"
