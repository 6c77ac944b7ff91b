"""The conversations of a run, folded from its events, for the input of each call. Only with content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import PassStarted, RunResumed, Stamped
from ...state.facts.conversation import CONVERSATION_EVENTS, Conversation

if TYPE_CHECKING:
    from ...protocol.messages import Message

_MOST = 100
"""Conversations that are kept: items and lenses of a search have one each."""


class Prompts:
    """What each work would send to the model now."""

    def __init__(self) -> None:
        self._conversations: dict[str | None, Conversation] = {None: Conversation()}

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event."""
        event, work = stamped.event, stamped.work
        if type(event) not in CONVERSATION_EVENTS:
            return
        if isinstance(event, RunResumed):
            for conversation in self._conversations.values():
                conversation.apply(event, stamped.seq)
            return
        if isinstance(event, PassStarted) and event.fresh:  # tries of an earlier pass are over
            self._conversations = {None: self._conversations[None]}
        conversation = self._conversations.pop(work, None) or Conversation()
        self._conversations[work] = conversation  # the newest stands last
        conversation.apply(event, stamped.seq)
        if len(self._conversations) > _MOST:
            del self._conversations[next(one for one in self._conversations if one is not None)]

    def of(self, work: str | None) -> list[Message]:
        """Return the messages that are sent to the model now."""
        found = self._conversations.get(work)
        return [] if found is None else found.current()
