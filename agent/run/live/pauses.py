"""Pause and continue a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import PERSON, LoopKind, Paused, Unpaused

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...step.resources.recorder import Recorder
    from ...step.resources.usage import Usage
    from .requests import UserRequests


class Pauses:
    """Pauses and continues one run."""

    def __init__(self, facts: RunFacts, events: Recorder, usage: Usage, requests: UserRequests) -> None:
        self._facts, self._events, self._usage, self._requests = facts, events, usage, requests

    def pause(self, why: str, *, by: str) -> None:
        """Pause the run, unless it is paused. `by`: `person`, `program` or a client."""
        if not self._facts.paused:
            self._events.record(Paused(by=by, why=why))

    def unpause(self, *, by: str = PERSON) -> None:
        """Continue the run, if it is paused. `by`: who asked for it."""
        if self._facts.paused:
            self._events.record(Unpaused(by=by))

    def after_interrupt(self) -> None:
        """Pause the run after an interrupt, except a chat, which waits for the next message in any case.

        The run is not paused either if a message, a stop or a deadline arrived with the interrupt.
        """
        facts, requests = self._facts, self._requests
        if requests.stop is not None or facts.queue or self._usage.deadline_passed():
            return
        if facts.spec.loop is not LoopKind.CHAT and not requests.wants_control:
            self.pause("interrupted", by="person")
