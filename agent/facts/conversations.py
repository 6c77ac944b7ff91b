"""All conversations of a run: the main one, and those of its works and tries."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import (
    PassStarted,
    RunResumed,
    Stamped,
    TextArrived,
    WorkFinished,
    WorktreeFinished,
    is_try,
    item_tree_name,
)
from .actions import answer_of
from .conversation import CONVERSATION_EVENTS, Conversation, last_text
from .step_facts import StepFacts


@dataclass(slots=True)
class Conversations(StepFacts):
    """The conversations of a run, by the work to which they belong."""

    conversations: dict[str | None, Conversation] = field(default_factory=dict[str | None, Conversation])

    @property
    def main(self) -> Conversation:
        """The main conversation of the run."""
        return self.conversation(None)

    @property
    def answer(self) -> str | None:
        """The answer that an outcome would report now."""
        return answer_of(self.finish, last_text(self.main.messages))

    def conversation(self, work: str | None) -> Conversation:
        """Return the conversation of an item or lens, or the main one."""
        found = self.conversations.get(work)
        if found is None:
            found = self.conversations[work] = Conversation()
        return found

    def apply_text(self, work: str | None, event: TextArrived) -> None:
        """Fold streamed text, which is the most frequent event."""
        self.conversation(work).pending += event.text

    def apply_to_conversation(self, stamped: Stamped) -> None:
        """Fold the next event into the conversation of its work. A resume concerns all conversations."""
        event = stamped.event
        if type(event) in CONVERSATION_EVENTS:
            self.conversation(stamped.work).apply(event, stamped.seq)
        if isinstance(event, RunResumed):
            for work, conversation in self.conversations.items():
                if work != stamped.work:
                    conversation.apply(event, stamped.seq)
        elif isinstance(event, PassStarted) and event.fresh:
            for work in [work for work in self.conversations if is_try(work)]:
                del self.conversations[work]

    def forget_conversation(self, stamped: Stamped) -> None:
        """Drop the conversation of an ended work. Lenses keep theirs for the next pass; other works start new."""
        if isinstance(stamped.event, WorkFinished) and stamped.event.kind != "lens":
            self.conversations.pop(stamped.work, None)
        elif isinstance(stamped.event, WorktreeFinished):
            self.conversations.pop(item_tree_name(stamped.event.tree, stamped.event.key), None)
        elif isinstance(stamped.event, RunResumed):
            for work in [w for w in self.conversations if w is not None and not w.startswith("lens:")]:
                del self.conversations[work]
