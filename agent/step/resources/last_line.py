"""Report the newest line of output of a running command, so that a view shows that it works."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from ...protocol import OutputArrived, Record
from ...stops.plain import plain
from .growing_pauses import GrowingPauses

_LINE = 200
_KEPT = 4_000
"""Bytes of the end of the output in which the line is looked for."""


@contextmanager
def output_reported(record: Record, command: str, call_id: str = "") -> Generator[Callable[[bytes], None]]:
    """Yield a receiver of the command's output, and record its newest line from time to time until the block ends."""
    reports = _Reports(lambda line: record(OutputArrived(command=command, line=line, call_id=call_id)))
    try:
        yield reports.feed
    finally:
        reports.stop()


class _Reports:
    """Keeps the end of the output and says its last line at growing intervals."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say, self._said = say, ""
        self._end = bytearray()
        self._pauses = GrowingPauses(self._report)

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the output."""
        self._end += piece[-_KEPT:]
        del self._end[:-_KEPT]
        self._pauses.changed()

    def stop(self) -> None:
        """Report nothing more."""
        self._pauses.stop()

    def _report(self) -> None:
        line = last_line(bytes(self._end))
        if line and line != self._said:
            self._said = line
            self._say(line)


def last_line(output: bytes) -> str:
    """Return the last line that is not empty, as a terminal would leave it; a long one is cut between words."""
    lines = [line.strip() for line in plain(output.decode("utf-8", "replace")).splitlines()]
    line = next((line for line in reversed(lines) if line), "")
    if len(line) <= _LINE:
        return line
    words = line[:_LINE].rpartition(" ")[0]  # half a word could be half a key, which nothing would recognize and hide
    return f"{words} …" if words else ""
