"""Read the stream of OpenAI's Responses API: output items by index in pieces, then the whole response."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...reported_usage import ReportedUsage, as_mapping, cost_in, figure
from ..chat_chunks import as_dicts, converted
from ..server_sent_events import ErrorInStream, ReadEvents

if TYPE_CHECKING:
    from ...answer import Answer, Shown

_KEPT = ("id", "summary", "content", "encrypted_content")
"""Fields of a reasoning item that are sent back."""
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


class _Incomplete(msgspec.Struct):
    reason: str = ""


class _Response(msgspec.Struct):
    error: Any = None
    incomplete_details: _Incomplete | None = None
    usage: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int = 0
    summary_index: int = 0
    delta: Any = None
    arguments: Any = None
    item: Any = None
    response: Any = None
    error: Any = None
    message: Any = None
    code: Any = None


class ResponsesReader:
    """Reads the stream of one answer into an `Answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._events = ReadEvents(_decoder, self._read)
        self._lengths: dict[int, int] = {}
        """Number of characters of text that arrived, by output item."""
        self._thought: dict[int, bool] = {}
        self._refused = False
        self._argued: set[int] = set()
        self._items: dict[int, dict[str, Any]] = {}
        """Items to send back, by index: reasoning complete, texts by length, calls by place."""
        self._places: dict[int, int] = {}
        self.done = False
        """Whether the response is over."""

    def feed(self, data: bytes) -> Iterator[Shown]:
        """Read new data. Raises BrokenStream, ErrorInStream, TooLong, ModelFault."""
        yield from self._events.feed(data)

    def end(self) -> Iterator[Shown]:
        """Read a last line without line end, and store the items if one must be sent back."""
        yield from self._events.end()
        items = [item for _, item in sorted(self._items.items())]
        if any(i["type"] == "reasoning" or "phase" in i for i in items):
            self._answer.opaque["items"] = items

    def is_complete(self) -> bool:
        """Whether the response has a status."""
        return self._answer.finish is not None

    def _read(self, event: _Event) -> Iterator[Shown]:
        if self.done:
            return
        self._answer.pieces += 1
        index = event.output_index
        match event.type:
            case "response.output_text.delta":
                yield from self._say(index, str(event.delta or ""))
            case "response.refusal.delta":
                self._refused = True
                yield from self._answer.refusal(str(event.delta or ""))
            case kind if kind in _THOUGHTS and event.delta:
                self._thought[index] = True
                yield from self._answer.reasoning(str(event.delta))
            case "response.output_item.added" if _is_call(event.item):
                self._begin_call(index, event.item)
            case "response.function_call_arguments.delta":
                self._argued.add(index)
                self._answer.call_piece(index, None, "", str(event.delta or ""))
            case "response.output_item.done" if isinstance(event.item, dict):
                yield from self._item(index, cast(dict[str, Any], event.item))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                self._finish(event)
            case "error":
                raise ErrorInStream(event.error or {"message": event.message, "code": event.code})
            case _ if not event.type and event.error:
                raise ErrorInStream(event.error)
            case _:
                pass

    def _say(self, index: int, text: str) -> Iterator[Shown]:
        if text:
            self._lengths[index] = self._lengths.get(index, 0) + len(text)
            yield from self._answer.text(text)

    def _begin_call(self, index: int, item: dict[str, Any]) -> None:
        if index in self._places:
            return
        self._places[index] = len(self._answer.calls)
        call_id = str(item.get("call_id") or item.get("id") or index)
        self._answer.call_piece(index, call_id, str(item.get("name") or ""), None)

    def _item(self, index: int, item: dict[str, Any]) -> Iterator[Shown]:
        """Read a complete item, for everything that did not arrive in pieces."""
        match item.get("type"):
            case "reasoning":
                if not self._thought.get(index):
                    for part in (*as_dicts(item.get("summary")), *as_dicts(item.get("content"))):
                        if text := part.get("text"):
                            yield from self._answer.reasoning(str(text))
                self._items[index] = {"type": "reasoning", **{k: item[k] for k in _KEPT if item.get(k) is not None}}
            case "message":
                if not self._lengths.get(index):
                    for part in as_dicts(item.get("content")):
                        yield from self._say(index, str(part.get("text") or ""))
                        if (refusal := part.get("refusal")) and not self._refused:
                            yield from self._answer.refusal(str(refusal))
                self._items[index] = {"type": "message", "length": self._lengths.get(index, 0)}
                if item.get("phase"):
                    self._items[index]["phase"] = item["phase"]
            case "function_call":
                self._begin_call(index, item)
                if index not in self._argued:
                    self._answer.call_piece(index, None, "", item.get("arguments"))
                self._items[index] = {"type": "function_call", "place": self._places[index]}
            case _:
                pass

    def _finish(self, event: _Event) -> None:
        given = cast(dict[str, Any], event.response) if isinstance(event.response, dict) else {}
        response = converted(given, _Response)
        self._count(response.usage)
        if event.type == "response.failed" or response.error:
            raise ErrorInStream(response.error or "the server reported an error")
        self.done = True
        if event.type != "response.incomplete":
            self._answer.finish = "stop"
            return
        reason = response.incomplete_details.reason if response.incomplete_details else ""
        self._answer.finish = "refusal" if reason == "content_filter" else "length"

    def _count(self, usage: object) -> None:
        given = as_mapping(usage)
        inputs, outputs = given.get("input_tokens_details"), given.get("output_tokens_details")
        self._answer.usage |= ReportedUsage(
            prompt=figure(given, "input_tokens", "prompt_tokens"),
            output=figure(given, "output_tokens", "completion_tokens"),
            total=figure(given, "total_tokens"),
            cached=figure(inputs, "cached_tokens"),
            written=figure(inputs, "cache_write_tokens"),
            reasoning=figure(outputs, "reasoning_tokens"),
            usd=cost_in(given),
        )


def _is_call(item: object) -> bool:
    return isinstance(item, dict) and cast(dict[str, Any], item).get("type") == "function_call"


@cache
def _decoder() -> msgspec.json.Decoder[_Event]:
    return msgspec.json.Decoder(_Event)
