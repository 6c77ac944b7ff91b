"""Report the newest line of output of a running command, so that a view shows that it works."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...host.terminal_text import plain
from ...protocol import OutputArrived
from .growing_pauses import GrowingPauses
from .output_tail import Tail

if TYPE_CHECKING:
    from ...state.recorder import Events

_LINE = 200


@contextmanager
def output_reported(
    events: Events, command: str, call_id: str = "", printed: Tail | None = None
) -> Generator[Callable[[bytes], None]]:
    """Yield a receiver of the command's output, and record its newest line from time to time until the block ends.

    `printed`: collects the output; it must be empty.
    """
    reports = _Reports(events, command, call_id, Tail() if printed is None else printed)
    try:
        yield reports.feed
    finally:
        reports.stop()


class _Reports:
    """Records the last line of the output at growing intervals."""

    def __init__(self, events: Events, command: str, call_id: str, printed: Tail) -> None:
        self._events, self._command, self._call_id = events, command, call_id
        self._printed, self._said = printed, ""
        self._pauses = GrowingPauses(self._report)

    def feed(self, piece: bytes) -> None:
        """Add the next bytes of the output."""
        self._printed.feed(piece)
        self._pauses.changed()

    def stop(self) -> None:
        """Report nothing more."""
        self._pauses.stop()

    def _report(self) -> None:
        line = last_line(self._printed.end)
        if line and line != self._said:
            self._said = line
            self._events.record(OutputArrived(command=self._command, line=line, call_id=self._call_id))


def last_line(output: bytes) -> str:
    """Return the last line that is not empty, as a terminal would leave it; a long one is cut between words."""
    lines = [line.strip() for line in plain(output).splitlines()]
    line = next((line for line in reversed(lines) if line), "")
    if len(line) <= _LINE:
        return line
    words = line[:_LINE].rpartition(" ")[0]  # half a word could be half a key, which nothing would recognize and hide
    return f"{words} …" if words else ""
