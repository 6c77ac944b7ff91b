"""The conversation that the events tell: the same fold serves a live run and a resumed one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from ..protocol import (
    ContextTrimmed,
    ConversationCut,
    Event,
    Fault,
    Interrupted,
    Message,
    Prompted,
    QuestionAnswered,
    ReplyFinished,
    Said,
    TextArrived,
    ToolCall,
    ToolCalled,
    ToolFinished,
)

INTERRUPTED = "[interrupted by the person]"


@dataclass(slots=True)
class Conversation:
    """Messages in the order in which the model hears them. Legal at every step's end: each call has its result."""

    messages: list[Message] = field(default_factory=list[Message])
    upto: int = 0
    """Messages before this index are dropped, but for the kept ones."""
    pending: str = ""
    """Text of the answer that streams."""

    def apply(self, event: Event) -> None:
        """Takes in one event; others than those of the conversation change nothing."""
        match event:
            case Prompted(kind="system", text=text):
                self.messages.append(Message(role="system", text=text))
            case Prompted(text=text) | Said(text=text):
                self._settle()
                self.messages.append(Message(role="user", text=text))
            case TextArrived(text=text):
                self.pending += text
            case Fault(retry_in=wait) if wait is not None:
                self.pending = ""
            case ReplyFinished():
                self._settle()
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments):
                raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
                self._add_call(ToolCall(call_id, tool, raw))
            case ToolFinished(call_id=call_id, result=result):
                self.messages.append(Message(role="tool", text=result, call_id=call_id))
            case Interrupted(what="model"):
                self.pending = f"{self.pending} {INTERRUPTED}".strip()
                self._settle()
            case ContextTrimmed(upto=upto):
                self.upto = upto
            case ConversationCut(summary=summary):
                self._cut(summary)
            case QuestionAnswered():
                pass
            case _:
                pass

    def unanswered(self) -> list[ToolCall]:
        """Calls of the last answer that have no result yet."""
        answered = {m.call_id for m in self.messages if m.role == "tool"}
        return [call for m in self.messages for call in m.calls if call.call_id not in answered]

    def kept(self) -> set[int]:
        """Indexes that are never dropped: the system prompt, the task, and the person's or program's newest message."""
        users = [i for i, m in enumerate(self.messages) if m.role == "user"]
        systems = {i for i, m in enumerate(self.messages) if m.role == "system"}
        return systems | set(users[:1]) | set(users[-1:])

    def current(self) -> list[Message]:
        """What goes to the model now."""
        kept = self.kept()
        return [m for i, m in enumerate(self.messages) if i >= self.upto or i in kept]

    def _settle(self) -> None:
        if self.pending.strip():
            self.messages.append(Message(role="assistant", text=self.pending))
        self.pending = ""

    def _add_call(self, call: ToolCall) -> None:
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "assistant":
            self.messages[-1] = msgspec.structs.replace(last, calls=[*last.calls, call])
        else:
            self.messages.append(Message(role="assistant", calls=[call]))

    def _cut(self, summary: str | None) -> None:
        self._settle()
        self.messages = [m for m in self.messages if m.role == "system"]
        self.upto = 0
        if summary is not None:
            self.messages.append(Message(role="user", text=f"Summary of the conversation so far:\n{summary}"))


def last_text(messages: Sequence[Message]) -> str | None:
    """The newest words of the model, or None."""
    return next((m.text for m in reversed(messages) if m.role == "assistant" and m.text.strip()), None)
