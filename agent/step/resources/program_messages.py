"""Send messages of the program to the model between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import Prompted
    from ...state.recorder import Recorder
    from .activity import Activity


class ProgramMessages:
    """Messages that the model gets before its next call."""

    def __init__(self, events: Recorder, activity: Activity) -> None:
        self._events, self._activity = events, activity
        self._waiting: list[Prompted] = []

    def send(self, prompted: Prompted) -> None:
        """Send the message before the next call; record it immediately if no step runs."""
        if self._activity.is_running:
            self._waiting.append(prompted)
        else:
            self._events.record(prompted)

    def withdraw(self, prompted: Prompted) -> None:
        """Drop a message that was not delivered yet, because the model gets its content in another way."""
        if prompted in self._waiting:
            self._waiting.remove(prompted)

    def deliver(self) -> None:
        """Record the waiting messages."""
        waiting, self._waiting = self._waiting, []
        for prompted in waiting:
            self._events.record(prompted)
