"""Deliver the waiting messages of the program and of the user to the model."""

from __future__ import annotations

from ...facts.facts import RunFacts
from ...protocol import Said, SaidKind
from ...step.resources.program_messages import ProgramMessages
from ...step.resources.recorder import Recorder
from ...step.resources.stall_watches import StallWatches


class MessageQueue:
    """Messages that wait for the next step."""

    def __init__(self, facts: RunFacts, events: Recorder, stalls: StallWatches, messages: ProgramMessages) -> None:
        self._facts, self._events, self._stalls, self._messages = facts, events, stalls, messages
        self._steers: set[int] = set()

    def mark_steer(self, queued_id: int) -> None:
        """Note that the queued message interrupted the step."""
        self._steers.add(queued_id)

    def deliver(self) -> None:
        """Add waiting messages to the conversation: the program's, then the user's, beginning with those that
        interrupted.

        While a proposal is open its call has no result, and no message may come before that result.
        """
        facts = self._facts
        if facts.main.unanswered():
            return
        self._messages.deliver()
        queue = facts.queue
        if queue:
            self._stalls.of(None).reset_after_message()
        for queued_id in sorted(queue, key=lambda i: (i not in self._steers, i)):
            kind: SaidKind = "steer" if queued_id in self._steers else "say"
            if not facts.spec.task and not any(m.role == "user" for m in facts.main.messages):
                kind = "task"
            queued = queue[queued_id]
            self._events.record(Said(text=queued.text, kind=kind, queued_id=queued_id, images=queued.images))
        self._steers.clear()
