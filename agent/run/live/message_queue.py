"""Deliver queued messages of the program and of the user to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Said, SaidKind

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...step.resources.program_messages import ProgramMessages
    from ...step.resources.recorder import Recorder
    from ...step.resources.stall_watches import StallWatches


class MessageQueue:
    """Delivers queued messages between two steps."""

    def __init__(self, facts: RunFacts, events: Recorder, stalls: StallWatches, messages: ProgramMessages) -> None:
        self._facts, self._events, self._stalls, self._messages = facts, events, stalls, messages
        self._steers: set[int] = set()

    @property
    def sender(self) -> str | None:
        """The sender of the first queued message; None: no message is queued."""
        return next((self._facts.queue[queued_id].by for queued_id in sorted(self._facts.queue)), None)

    def mark_steer(self, queued_id: int) -> None:
        """Remember that this queued message interrupted the step, so that it is delivered first."""
        self._steers.add(queued_id)

    def deliver(self) -> None:
        """Add the queued messages to the conversation: the program's, then the user's.

        Nothing is added while a call has no result, because the result must come first.
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
            self._events.record(
                Said(text=queued.text, kind=kind, queued_id=queued_id, images=queued.images, by=queued.by)
            )
        self._steers.clear()
