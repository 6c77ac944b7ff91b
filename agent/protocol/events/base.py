"""The shape that all events share."""

from __future__ import annotations

import msgspec


def snake(name: str) -> str:
    """`RunStarted` is `run_started` on the wire."""
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


class EventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake):
    """An event is a fact: it was appended once and is never changed."""
