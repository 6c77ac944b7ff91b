"""Use Ollama's own chat API, with one JSON object per line: its OpenAI-style API cannot set the context window."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ..reported_usage import ReportedUsage, figure
from .chat_request import own_opaque, tools_to_wire
from .server_sent_events import BOM, LONGEST_EVENT, BrokenStream, ErrorInStream, decode
from .wire_texts import arguments_object, encodable, tool_name

if TYPE_CHECKING:
    from ...protocol import EffortLevel, Message, Request
    from ..answer import Answer, Finish, Shown
    from ..endpoint import Endpoint

_LEVELS: dict[EffortLevel, str] = {"none": "low", "minimal": "low", "xhigh": "high"}
_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}


class _Function(msgspec.Struct):
    name: Any = None
    arguments: Any = None


class _Call(msgspec.Struct):
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    content: str = ""
    thinking: str = ""
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    error: Any = None
    prompt_eval_count: Any = None
    eval_count: Any = None


def ollama_body(request: Request, at: Endpoint, window: int) -> dict[str, Any]:
    """Build the JSON body of one request. It sets the context window, because Ollama silently cuts at its default."""
    options = {"num_ctx": window, "num_predict": request.max_tokens, **at.temperature(request)}
    body: dict[str, Any] = {
        "model": at.model,
        "messages": _messages(request, at),
        "stream": True,
        "options": options,
    }
    if request.tools and not request.forbids_calls:  # Ollama has no field that forbids calls
        body["tools"] = tools_to_wire(request.tools)
    if request.schema is not None:
        body["format"] = request.schema
    if at.effort is not None:
        level = _LEVELS.get(at.effort, at.effort)  # gpt-oss knows three levels, and other models on and off
        body["think"] = level if "gpt-oss" in at.model else level != "low"
    params = dict(at.params)
    options.update(params.pop("options", {}))
    return {**body, **params}


def _messages(request: Request, at: Endpoint) -> list[dict[str, Any]]:
    """Convert the messages. A result has the name of its tool: templates show it, and Ollama has no ids of calls."""
    out: list[dict[str, Any]] = []
    tools: dict[str, str] = {}
    for message in request.messages:
        tools |= {call.call_id: tool_name(call.tool) for call in message.calls}
        out.append(_message(message, request.blobs, at))
        if message.role == "tool" and (name := tools.get(message.call_id or "")):
            out[-1]["tool_name"] = name
    return out


def _message(message: Message, blobs: Mapping[str, bytes], at: Endpoint) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": encodable(message.text)}
    if message.calls:
        calls = [{"name": tool_name(c.tool), "arguments": arguments_object(c.arguments)} for c in message.calls]
        out["tool_calls"] = [{"function": function} for function in calls]
    if message.images:
        out["images"] = [base64.b64encode(blobs[i.sha]).decode() for i in message.images if i.sha in blobs]
    return {**out, **own_opaque(message, blobs, at)}


class OllamaReader:
    """Reads the lines of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._rest = bytearray()
        self._searched = 0
        self._thinking: list[str] = []
        self._calls = 0
        self.done = False
        """Whether the last line arrived."""

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        self._rest += data
        while (end := self._rest.find(b"\n", self._searched)) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            self._searched = 0
            yield from self._line(line)
        self._searched = len(self._rest)
        if len(self._rest) > LONGEST_EVENT:
            raise BrokenStream(f"one line is longer than {LONGEST_EVENT // 1024 // 1024} MB")

    def end(self) -> Iterator[Shown]:
        """Read a last line without line end."""
        rest, self._rest = bytes(self._rest), bytearray()
        with suppress(BrokenStream):
            yield from self._line(rest)
        if self._thinking:
            self._answer.opaque["thinking"] = "".join(self._thinking)

    def is_complete(self) -> bool:
        """Whether the last line says that the answer is complete."""
        return self.done

    def _line(self, data: bytes) -> Iterator[Shown]:
        if self.done or not data.strip():
            return
        line: _Line = decode(data if self._answer.begun else data.removeprefix(BOM), _decoder)
        if line.error is not None:
            raise ErrorInStream(line.error)
        self._answer.pieces += 1
        if (message := line.message) is not None:
            if message.thinking:
                self._thinking.append(message.thinking)
                yield from self._answer.reasoning(message.thinking)
            if message.content:
                yield from self._answer.text(message.content)
            for call in message.tool_calls or ():
                arguments: object = call.function.arguments or {}
                self._answer.call_piece(self._calls, None, str(call.function.name or ""), arguments)
                self._calls += 1
        if line.done:
            self.done = True
            self._answer.finish = _FINISHES.get(line.done_reason or "stop", "stop")
            counts = msgspec.structs.asdict(line)
            self._answer.usage |= ReportedUsage(
                prompt=figure(counts, "prompt_eval_count"), output=figure(counts, "eval_count")
            )


@cache
def _decoder() -> msgspec.json.Decoder[_Line]:
    return msgspec.json.Decoder(_Line)
