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
    PassStarted,
    Prompted,
    ReplyFinished,
    RunResumed,
    Said,
    TextArrived,
    ToolCall,
    ToolCalled,
    ToolFinished,
)

INTERRUPTED = "[interrupted by the person]"
CUT_OFF = "[cut off here]"


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
            case Fault(retry_in=wait):
                self.pending = self.pending if wait is None else ""
                self._break_off()
            case RunResumed():
                self._break_off()
            case ReplyFinished():
                self._settle()
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments):
                raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
                self._add_call(ToolCall(call_id, tool, raw))
            case ToolFinished(call_id=call_id, result=result):
                self._add_result(Message(role="tool", text=result, call_id=call_id))
            case Interrupted(what="model"):
                self.pending = f"{self.pending} {INTERRUPTED}".strip()
                self._settle()
            case ContextTrimmed(upto=upto):
                self.upto = upto
            case ConversationCut(summary=summary):
                self._cut(summary)
            case PassStarted(fresh=True):
                self._cut(None)
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

    def _break_off(self) -> None:
        """What arrived of an answer that never ended is kept, and said to be a part."""
        if self.pending.strip():
            self.pending = f"{self.pending} {CUT_OFF}"
        self._settle()

    def _add_call(self, call: ToolCall) -> None:
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == "assistant":
            self.messages[-1] = msgspec.structs.replace(last, calls=[*last.calls, call])
        else:
            self.messages.append(Message(role="assistant", calls=[call]))

    def _add_result(self, result: Message) -> None:
        """Results stand in the order of their calls, however they came in."""
        self.messages.append(result)
        start = len(self.messages) - 1
        while start and self.messages[start - 1].role == "tool":
            start -= 1
        if start == len(self.messages) - 1:
            return
        place = {call.call_id: i for i, call in enumerate(self.messages[start - 1].calls)}
        self.messages[start:] = sorted(self.messages[start:], key=lambda m: place.get(m.call_id or "", len(place)))

    def _cut(self, summary: str | None) -> None:
        self._settle()
        self.messages = [m for m in self.messages if m.role == "system"]
        self.upto = 0
        if summary is not None:
            self.messages.append(Message(role="user", text=f"Summary of the conversation so far:\n{summary}"))


SPOKEN: tuple[type[Event], ...] = (
    Prompted,
    Said,
    TextArrived,
    Fault,
    RunResumed,
    ReplyFinished,
    ToolCalled,
    ToolFinished,
    Interrupted,
    ContextTrimmed,
    ConversationCut,
    PassStarted,
)
"""What a conversation takes in; others change nothing."""


def last_text(messages: Sequence[Message]) -> str | None:
    """The newest words of the model, or None."""
    return next((m.text for m in reversed(messages) if m.role == "assistant" and m.text.strip()), None)
