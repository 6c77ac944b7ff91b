"""The base class of all events, and what several of them name."""

from __future__ import annotations

from typing import Literal

import msgspec

WaitsFor = Literal["message", "gate", "question", "handoff", "pause"]
"""What a run waits for until somebody acts; `pause`: somebody has to continue it after an error or a pause."""


def snake(name: str) -> str:
    """Convert a class name to its name on the wire: `RunStarted` becomes `run_started`."""
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


class EventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake):
    """Base class of events. An event is a fact: it is appended once and never changed."""
