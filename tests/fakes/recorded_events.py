"""Events that a part of a run recorded, in a list."""

from __future__ import annotations

from rundry.agent.protocol import Event


class RecordedEvents(list[Event]):
    """The events that a part of a run recorded, in their order."""

    def record(self, event: Event) -> None:
        self.append(event)
