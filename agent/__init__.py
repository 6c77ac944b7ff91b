"""The core's public names: all that a screen may import of it. Each is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import *  # noqa: F403

_HOMES: dict[str, str] = {}
"""Name to module, for what is not a word of the protocol."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    home = _HOMES.get(name, "protocol")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
