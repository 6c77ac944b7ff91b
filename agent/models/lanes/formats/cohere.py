"""Read the stream of Cohere's chat API, version 2: contents, the plan before the calls, the calls, and the usage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...reported_usage import ReportedUsage, as_mapping, figure
from ..chat_chunks import converted
from ..server_sent_events import ErrorInStream, ReadEvents

if TYPE_CHECKING:
    from ...answer import Answer, Finish, Shown

_FINISHES: dict[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "ERROR_TOXIC": "refusal",
}
_FAILED = frozenset({"ERROR", "ERROR_LIMIT", "TIMEOUT"})


class _Function(msgspec.Struct):
    name: Any = None
    arguments: Any = None


class _Call(msgspec.Struct):
    id: Any = None
    function: _Function | None = None


class _Content(msgspec.Struct):
    text: str = ""
    thinking: str = ""


class _Message(msgspec.Struct):
    content: Any = None
    tool_plan: str = ""
    tool_calls: Any = None


class _Delta(msgspec.Struct):
    message: _Message | None = None
    finish_reason: Any = None
    usage: Any = None
    error: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    message: Any = None


class CohereReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._events = ReadEvents(_decoder, self._read)
        self._plan: list[str] = []
        self._thinking: list[str] = []
        self.done = False
        """Whether the message is over."""

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        yield from self._events.feed(data)

    def end(self) -> Iterator[Shown]:
        """Read a last line without line end, and store the plan and the thinking."""
        yield from self._events.end()
        kept = {"tool_plan": "".join(self._plan), "content_thinking": "".join(self._thinking)}
        self._answer.opaque.update({name: text for name, text in kept.items() if text})

    def is_complete(self) -> bool:
        """Whether the message has its finish reason."""
        return self._answer.finish is not None

    def _read(self, event: _Event) -> Iterator[Shown]:
        if self.done:
            return
        delta = event.delta
        if delta is None:
            if event.message and not event.type:
                raise ErrorInStream({"message": event.message})
            return
        self._answer.pieces += 1
        match event.type:
            case "content-start" | "content-delta" | "tool-plan-delta" if delta.message is not None:
                yield from self._add(delta.message)
            case "tool-call-start" | "tool-call-delta" if delta.message is not None:
                self._call(event.index, delta.message.tool_calls)
            case "message-end":
                self._finish(delta)
                self.done = True
            case _:
                pass

    def _add(self, message: _Message) -> Iterator[Shown]:
        if isinstance(message.content, dict):
            content = converted(cast(dict[str, Any], message.content), _Content)
            if content.text:
                yield from self._answer.text(content.text)
            if content.thinking:
                self._thinking.append(content.thinking)
                yield from self._answer.reasoning(content.thinking)
        if message.tool_plan:
            self._plan.append(message.tool_plan)
            yield from self._answer.reasoning(message.tool_plan)

    def _call(self, index: int, given: object) -> None:
        call = converted(cast(dict[str, Any], given), _Call) if isinstance(given, dict) else _Call()
        function = call.function or _Function()
        call_id = str(call.id) if call.id else None
        self._answer.call_piece(index, call_id, str(function.name or ""), function.arguments)

    def _finish(self, delta: _Delta) -> None:
        reason = str(delta.finish_reason)
        if reason in _FAILED:
            raise ErrorInStream({"message": delta.error or f"the answer ended with {reason}", "type": reason})
        self._answer.finish = _FINISHES.get(reason, "stop")
        usage = as_mapping(delta.usage)
        for counts in (usage.get("billed_units"), usage.get("tokens")):
            # `cached_tokens` also counts Cohere's own preamble, and there is no lower price for it.
            self._answer.usage |= ReportedUsage(
                prompt=figure(counts, "input_tokens"),
                output=figure(counts, "output_tokens"),
                reasoning=figure(counts, "reasoning_tokens"),
            )


@cache
def _decoder() -> msgspec.json.Decoder[_Event]:
    return msgspec.json.Decoder(_Event)
