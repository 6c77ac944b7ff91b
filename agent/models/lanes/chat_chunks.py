"""Read the event stream of OpenAI-style chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from ...protocol import PromptReadPart
from ..reported_usage import ReportedUsage, as_mapping, cost_in, figure
from .chat_request import USAGE_SO_FAR
from .server_sent_events import BrokenStream, ErrorInStream, EventStream, decode

if TYPE_CHECKING:
    from ..answer import Answer, Finish, Shown

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "error": "error",
}
"""Meaning of the finish reasons. An unknown one counts as `stop`."""
_READABLE = ("reasoning_content", "reasoning")
"""Fields of a delta with readable reasoning. Some servers send the same text in both."""
_JOINED = ("text", "summary", "data")
"""Fields whose fragments are joined; for any other the last value counts."""


class _Function(msgspec.Struct):
    name: Any = None
    arguments: Any = None


class _Fragment(msgspec.Struct):
    index: Any = None
    id: Any = None
    function: _Function | None = None
    extra_content: Any = None


class _Delta(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[_Fragment] | None = None
    provider_metadata: Any = None


class _Choice(msgspec.Struct):
    index: Any = 0
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: Any = None


class _XGroq(msgspec.Struct):
    usage: Any = None
    error: Any = None


class _Reading(msgspec.Struct):
    """llama.cpp's `prompt_progress`, in tokens: `processed` includes what was in the cache (tools/server/README.md)."""

    total: Any = None
    processed: Any = None


class _Timings(msgspec.Struct):
    """llama.cpp's `timings`, in tokens (tools/server/README.md)."""

    cache_n: Any = None
    prompt_n: Any = None
    predicted_n: Any = None


class Chunk(msgspec.Struct):
    """The fields of one event that are used here."""

    choices: list[_Choice] | None = None
    usage: Any = None
    cost: Any = None
    error: Any = None
    object: Any = None
    message: Any = None
    code: Any = None
    x_groq: _XGroq | None = None
    prompt_progress: _Reading | None = None
    timings: _Timings | None = None


class ChatReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._events = EventStream()
        self._details: list[dict[str, Any]] = []
        self._reasoning: dict[str, list[str]] = {}
        """Readable reasoning by its field."""
        self._any = False

    @property
    def done(self) -> bool:
        """Whether the server sent `[DONE]`: nothing follows."""
        return self._events.done

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        for event in self._events.feed(data):
            yield from self._read(event)

    def end(self) -> Iterator[Shown]:
        """Read a last line without line end. Raises ErrorInStream."""
        with suppress(BrokenStream):  # an incomplete event at the end of a broken stream
            for event in self._events.end():
                yield from self._read(event)
        self._answer.opaque.update({name: "".join(pieces) for name, pieces in self._reasoning.items()})
        if self._details:
            self._answer.opaque["reasoning_details"] = self._details

    def is_complete(self) -> bool:
        """Whether the stream ended by itself: it has a reason or a usage, or it is an empty answer with `[DONE]`."""
        given = self._answer.finish is not None or self._answer.usage.has_tokens
        return given or (self.done and not self._any)

    @property
    def _reports_usage_so_far(self) -> bool:
        return self._answer.sent.get("stream_options") == USAGE_SO_FAR

    def _read(self, event: bytes) -> Iterator[Shown]:
        chunk = decode(event, _decoder)
        if chunk.error or chunk.object == "error":
            raise ErrorInStream(chunk.error or {"message": chunk.message, "code": chunk.code})
        if chunk.timings is not None:
            self._answer.usage_so_far |= _usage_by(chunk.timings)
        if chunk.choices and self._reports_usage_so_far:
            self._answer.usage_so_far |= chat_usage(chunk.usage)
        else:
            for usage in (chunk.usage, chunk.x_groq.usage if chunk.x_groq else None):
                if usage is not None:
                    self._answer.usage |= chat_usage(usage)
        if chunk.cost is not None:  # OpenCode Zen reports the cost in a last chunk of its own
            self._answer.usage |= ReportedUsage(usd=cost_in({"cost": chunk.cost}))
        if chunk.prompt_progress is not None:
            yield from _read_so_far(chunk.prompt_progress)
        else:
            self._answer.pieces += 1
        for choice in chunk.choices or ():
            if choice.index in (0, None):  # only one choice is ever requested
                yield from self._take(choice)

    def _take(self, choice: _Choice) -> Iterator[Shown]:
        self._any = True
        if choice.finish_reason:
            self._answer.finish = FINISHES.get(str(choice.finish_reason), "stop")
        # A few servers repeat the whole `message` next to each delta; it counts only where no delta comes.
        delta = choice.delta or choice.message
        if delta is None:
            return
        if delta.provider_metadata is not None:  # Vercel
            self._answer.usage |= ReportedUsage(usd=cost_in(as_mapping(delta.provider_metadata).get("gateway")))
        yield from self._reason(delta)
        if delta.content:
            yield from self._say(delta.content)
        if isinstance(delta.refusal, str) and delta.refusal:
            yield from self._answer.refusal(delta.refusal)
        for i, fragment in enumerate(delta.tool_calls or ()):
            self._call(fragment, i if choice.delta is None else 0)

    def _reason(self, delta: _Delta) -> Iterator[Shown]:
        shown = ""
        for name in _READABLE:
            text = getattr(delta, name)
            if isinstance(text, str) and text:
                self._reasoning.setdefault(name, []).append(text)
                shown = shown or text
        for detail in as_dicts(delta.reasoning_details):  # their words come in one of the readable fields too
            _merge_detail(self._details, detail)
        if shown:
            yield from self._answer.reasoning(shown)

    def _say(self, content: object) -> Iterator[Shown]:
        if isinstance(content, str):
            yield from self._answer.text(content)
            return
        for part in as_dicts(content):  # Mistral: reasoning and text as parts of the content
            if part.get("type") == "thinking":
                thought = "".join(str(p.get("text", "")) for p in as_dicts(part.get("thinking")))
                if thought:
                    self._reasoning.setdefault("thinking", []).append(thought)
                    yield from self._answer.reasoning(thought)
            elif text := part.get("text"):
                yield from self._answer.text(str(text))

    def _call(self, fragment: _Fragment, place: int) -> None:
        function = fragment.function or _Function()
        index = fragment.index if isinstance(fragment.index, int | float | str) else place
        call_id = str(fragment.id) if fragment.id else None
        self._answer.call_piece(index, call_id, str(function.name or ""), function.arguments)
        extra = cast(object, fragment.extra_content)
        if isinstance(extra, dict):  # Gemini behind an OpenAI-style gateway signs its calls here
            extras: dict[str, Any] = self._answer.opaque.setdefault("calls", {})
            extras[str(len(self._answer.calls) - 1)] = {"extra_content": extra}


def _merge_detail(blocks: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Add a fragment of `reasoning_details` (OpenRouter, "Reasoning tokens").

    It continues the last block if it has the same index and type. Else it is a new block.
    """
    last = blocks[-1] if blocks else None
    if last is None or any(last.get(k) != piece.get(k) for k in ("type", "index")):
        blocks.append(dict(piece))
        return
    for name, value in piece.items():
        before = last.get(name)
        if name in _JOINED and isinstance(value, str) and isinstance(before, str):
            last[name] = before + value
        elif value is not None:
            last[name] = value


@cache
def _decoder() -> msgspec.json.Decoder[Chunk]:
    return msgspec.json.Decoder(Chunk)


def _usage_by(timings: _Timings) -> ReportedUsage:
    cached = figure({"n": timings.cache_n}, "n")
    read, written = figure({"n": timings.prompt_n}, "n"), figure({"n": timings.predicted_n}, "n")
    return ReportedUsage(prompt=cached + read, cached=cached, output=written)


def _read_so_far(reading: _Reading) -> Iterator[Shown]:
    if isinstance(reading.total, int) and isinstance(reading.processed, int) and reading.total > 0:
        yield PromptReadPart(read=min(max(reading.processed, 0), reading.total), total=reading.total)


def as_dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects of a JSON list; empty for anything else."""
    items = cast(list[object], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], i) for i in items if isinstance(i, dict)]


def chat_usage(usage: object) -> ReportedUsage:
    """Return the figures of a `usage`, of which some servers fill only a part."""
    given = as_mapping(usage)
    inputs, outputs = given.get("prompt_tokens_details"), given.get("completion_tokens_details")
    return ReportedUsage(
        prompt=figure(given, "prompt_tokens", "input_tokens"),
        output=figure(given, "completion_tokens", "output_tokens"),
        total=figure(given, "total_tokens"),
        cached=figure(inputs, "cached_tokens") or figure(given, "prompt_cache_hit_tokens"),
        written=figure(given, "cache_creation_input_tokens")
        or figure(inputs, "cache_creation_tokens", "cache_write_tokens"),
        reasoning=figure(outputs, "reasoning_tokens") or figure(given, "reasoning_tokens"),
        usd=cost_in(given),
    )


T = TypeVar("T")


def converted(value: object, kind: type[T], *, strict: bool = True) -> T:
    """Convert part of a decoded event. Raises BrokenStream."""
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as e:
        raise BrokenStream(f"a piece of the stream cannot be read ({e})") from e
