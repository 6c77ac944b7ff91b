"""The base class of all events."""

from __future__ import annotations

import msgspec


def snake(name: str) -> str:
    """Convert a class name to its name on the wire: `RunStarted` becomes `run_started`."""
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


class EventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake):
    """Base class of events. An event is a fact: it is appended once and never changed."""
