"""Server-sent events from bytes that may be split anywhere (WHATWG HTML, "Server-sent events")."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_EVENT = 32 * 1024 * 1024
"""Bytes of one event; a longer one is not an answer."""


class BrokenStream(Exception):
    """A piece of the stream is not what it should be. The text says how."""


class ErrorInStream(Exception):
    """The server sent an error where a piece of the answer should be."""

    def __init__(self, error: object) -> None:
        super().__init__(str(error))
        self.error = error
        """The error object as it was decoded, or a text."""


class NotAStream(Exception):
    """The server answered 200, and the body is not an answer of a model. The text says what it is."""


class EventStream:
    """Takes bytes as they come and yields the data of each event that is whole.

    One `data:` line is one event: no model server spreads JSON over lines. Comments and the fields `event` and `id`
    say nothing that the data does not say.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self.done = False
        """The server said `[DONE]`."""
        self.any = False
        """At least one line was a field of an event stream."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the events that became whole. Raises ErrorInStream, BrokenStream for an event that is too long."""
        rest = self._rest
        rest += data
        while (end := rest.find(b"\n", self._searched)) >= 0:
            line = bytes(rest[:end])
            del rest[: end + 1]
            self._searched = 0
            yield from self._line(line)
        self._searched = len(rest)
        if len(rest) > LONGEST_EVENT:
            raise BrokenStream(f"one event is longer than {LONGEST_EVENT // 1024 // 1024} MB")

    def end(self) -> Iterator[bytes]:
        """Yield the last event where its line end is missing."""
        rest, self._rest, self._searched = bytes(self._rest), bytearray(), 0
        yield from self._line(rest)

    def _line(self, line: bytes) -> Iterator[bytes]:
        if self.done:
            return
        name, colon, value = line.partition(b":")
        value = value.strip()
        self.any = self.any or bool(colon and name in (b"", b"data", b"event", b"id", b"retry"))
        if not value:
            return
        if name == b"error":  # llama.cpp reports a failure in mid-stream with a field of its own
            raise ErrorInStream(value.decode(errors="replace"))
        if name != b"data":
            return
        if value == b"[DONE]":
            self.done = True
        else:
            yield value
