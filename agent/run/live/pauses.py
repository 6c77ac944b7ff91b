"""Pause a run until someone continues it."""

from __future__ import annotations

from ...facts.facts import RunFacts
from ...protocol import LoopKind, Paused, Unpaused
from ...step.resources.recorder import Recorder
from ...step.resources.usage import Usage
from .requests import UserRequests


class Pauses:
    """The pauses of one run."""

    def __init__(self, facts: RunFacts, events: Recorder, usage: Usage, requests: UserRequests) -> None:
        self._facts, self._events, self._usage, self._requests = facts, events, usage, requests

    def pause(self, why: str, *, by: str) -> None:
        """Pause the run."""
        if not self._facts.paused:
            self._events.record(Paused(by=by, why=why))

    def unpause(self) -> None:
        """Continue the run."""
        if self._facts.paused:
            self._events.record(Unpaused())

    def after_interrupt(self) -> None:
        """Pause the run after an interrupt. A chat is not paused, because it waits anyway.

        If a message, a stop or a deadline came with the interrupt, the run continues immediately.
        """
        facts, requests = self._facts, self._requests
        if requests.stop is not None or facts.queue or self._usage.deadline_passed():
            return
        if facts.spec.loop is not LoopKind.CHAT and not requests.wants_control:
            self.pause("interrupted", by="person")
