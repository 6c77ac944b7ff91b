"""Messages of a person that wait for the end of the step, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...protocol import Event, Queued, Said, Unqueued


@dataclass(slots=True)
class MessageQueue:
    """Messages that were queued and neither sent to the model nor removed yet."""

    messages: dict[int, Queued] = field(default_factory=dict[int, Queued])
    """Messages by their id. An edited message keeps its place."""

    @property
    def in_order(self) -> list[Queued]:
        """The messages in the order of their ids."""
        return [self.messages[queued_id] for queued_id in sorted(self.messages)]

    def apply(self, event: Event) -> None:
        """Fold the next event of the types in `QUEUE_EVENTS`."""
        match event:
            case Queued(queued_id=queued_id) as queued:
                self.messages[queued_id] = queued
            case Unqueued(queued_id=queued_id) | Said(queued_id=int(queued_id)):
                self.messages.pop(queued_id, None)
            case _:
                pass


QUEUE_EVENTS = frozenset[type[Event]]((Queued, Unqueued, Said))
"""The events that change `MessageQueue`; all others are ignored."""
