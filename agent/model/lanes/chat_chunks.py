"""Reads a chat completion's event stream itself: a tenth of the CPU of the openai library's own objects.

The answer of litellm still carries the HTTP response, so request, keys and errors before the stream are all litellm's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import msgspec


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Fragment(msgspec.Struct):
    index: Any = None
    id: Any = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[_Fragment] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: Any = None
    cache_creation_tokens: Any = None
    reasoning_tokens: Any = None


class _Usage(msgspec.Struct):
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    cache_creation_input_tokens: Any = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class Chunk(msgspec.Struct):
    """One event of the stream, as far as anyone here reads it."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: Any = None
    message: Any = None
    code: Any = None


class BrokenChunk(Exception):
    """A line of the stream is not what it should be."""


class ErrorInStream(Exception):
    """The server sent an error where a chunk should be. `body` is its error object."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(str(body.get("message") or body))
        self.body = body


class EventStream:
    """Takes bytes as they come, gives the chunks that are whole. A character or a line may be split anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self.done = False
        """The server said `[DONE]`."""

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Raises BrokenChunk, ErrorInStream."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield from self._read(line)

    def end(self) -> Iterator[Chunk]:
        """The last line, where its line end is missing; half a line is dropped."""
        rest, self._rest = self._rest, b""
        try:
            yield from self._read(rest)
        except BrokenChunk:
            return

    def _read(self, line: bytes) -> Iterator[Chunk]:
        # Comments (keep-alive), `event:` and `id:` lines say nothing that is needed; no server spreads JSON over lines.
        if self.done or not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.done = True
        elif data:
            yield _chunk(data)


@cache
def _decoder() -> msgspec.json.Decoder[Chunk]:
    return msgspec.json.Decoder(Chunk)


def _chunk(data: bytes) -> Chunk:
    try:
        chunk = _decoder().decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise BrokenChunk(f"a piece of the stream cannot be read ({e})") from e
    if chunk.error is not None or chunk.object == "error":
        given = chunk.error if chunk.error is not None else {"message": chunk.message, "code": chunk.code}
        raise ErrorInStream(cast(dict[str, Any], given) if isinstance(given, dict) else {"message": given})
    return chunk
