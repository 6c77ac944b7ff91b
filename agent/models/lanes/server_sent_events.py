"""Parse server-sent events from bytes that may be split anywhere (WHATWG HTML, "Server-sent events")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
S = TypeVar("S")

LONGEST_EVENT = 32 * 1024 * 1024
"""Bytes of the longest event; a longer one is not an answer."""


BOM = b"\xef\xbb\xbf"
"""The byte order mark, which may precede the first line."""


class BrokenStream(Exception):
    """A piece of the stream is invalid. The message says why."""


class ErrorInStream(Exception):
    """The server sent an error in place of a piece of the answer."""

    def __init__(self, error: object) -> None:
        super().__init__(str(error))
        self.error = error
        """The decoded error object, or a text."""


class NotAStream(Exception):
    """The server answered 200, but the body is not a model's answer. The message says what it is."""


class EventStream:
    """Receives bytes as they arrive and yields the data of each complete event.

    Each `data:` line is one event, because no model server splits JSON over lines. Comments and the fields `event` and
    `id` are ignored.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._is_first_line = True
        self.done = False
        """Whether the server sent `[DONE]`."""
        self.any = False
        """Whether at least one line was a field of an event stream."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the completed events. Raises ErrorInStream, or BrokenStream for an event that is too long."""
        rest = self._rest
        rest += data.replace(b"\r", b"\n")  # a line may end in CR, LF or both; empty lines mean nothing here
        while (end := rest.find(b"\n", self._searched)) >= 0:
            line = bytes(rest[:end])
            del rest[: end + 1]
            self._searched = 0
            yield from self._line(line)
        self._searched = len(rest)
        if len(rest) > LONGEST_EVENT:
            raise BrokenStream(f"one event is longer than {LONGEST_EVENT // 1024 // 1024} MB")

    def end(self) -> Iterator[bytes]:
        """Yield a last event without line end."""
        rest, self._rest, self._searched = bytes(self._rest), bytearray(), 0
        yield from self._line(rest)

    def _line(self, line: bytes) -> Iterator[bytes]:
        if self.done:
            return
        if self._is_first_line:
            self._is_first_line, line = False, line.removeprefix(BOM)
        name, colon, value = line.partition(b":")
        value = value.strip()
        self.any = self.any or bool(colon and name in (b"", b"data", b"event", b"id", b"retry"))
        if not value:
            return
        if name == b"error":  # llama.cpp reports a failure within the stream in its own field
            raise ErrorInStream(value.decode(errors="replace"))
        if name != b"data":
            return
        if value == b"[DONE]":
            self.done = True
        else:
            yield value


class ReadEvents(Generic[T, S]):
    """An event stream whose events are decoded from JSON and read as they arrive."""

    def __init__(self, decoder: Callable[[], msgspec.json.Decoder[T]], read: Callable[[T], Iterator[S]]) -> None:
        self._events = EventStream()
        self._decoder = decoder
        self._read = read

    def feed(self, data: bytes) -> Iterator[S]:
        """Yield what the completed events mean. Raises what `read` raises, ErrorInStream, BrokenStream."""
        for event in self._events.feed(data):
            yield from self._read(decode(event, self._decoder))

    def end(self) -> Iterator[S]:
        """Yield what a last event without line end means, unless it is cut off."""
        with suppress(BrokenStream):
            for event in self._events.end():
                yield from self._read(decode(event, self._decoder))


def decode(data: bytes, decoder: Callable[[], msgspec.json.Decoder[T]]) -> T:
    """Decode one event. An invalid byte is replaced. Raises BrokenStream."""
    try:
        return decoder().decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        try:
            return decoder().decode(data.decode(errors="replace"))
        except (msgspec.DecodeError, RecursionError):
            raise BrokenStream(f"a piece of the stream cannot be read ({e})") from e
