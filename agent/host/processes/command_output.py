"""Keep the beginning and the end of a byte stream in bounded memory."""

from __future__ import annotations

from collections import deque


class HeadTail:
    """Keeps the first and the last half of `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self.total = 0
        """Number of bytes received."""

    def add(self, piece: bytes) -> None:
        """Add the next bytes of the stream."""
        self.total += len(piece)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        if not piece:
            return
        self._tail.append(piece)
        self._tail_size += len(piece)
        while self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())

    @property
    def dropped(self) -> int:
        """Number of bytes that were discarded."""
        return self.total - len(self._head) - min(self._tail_size, self._tail_limit)

    def value(self) -> bytes:
        """Return the head and the tail, with a line between them if bytes are missing."""
        return self.since(0)

    def since(self, start: int) -> bytes:
        """Return the kept bytes from the position `start` of the stream on, with a line where bytes are missing."""
        tail = self._kept_tail()
        if start < len(self._head):
            return bytes(self._head[start:]) + omission_line(self.dropped) + tail
        first = self.total - len(tail)
        return tail[start - first :] if start >= first else omission_line(first - start) + tail

    def _kept_tail(self) -> bytes:
        return b"".join(self._tail)[-self._tail_limit :] if self._tail_limit else b""


def shorten(data: bytes, limit: int) -> tuple[bytes, int]:
    """Return at most `limit` bytes, head and tail, and the number of bytes left out."""
    if len(data) <= limit:
        return data, 0
    kept = HeadTail(limit)
    kept.add(data)
    return kept.value(), kept.dropped


def omission_line(count: int) -> bytes:
    """Return the line that replaces missing bytes; empty if none are missing."""
    return f"\n[... {count:,} bytes left out ...]\n".encode() if count else b""
