"""Report the progress of reading a journal if it takes longer than a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...journal.journal import Journal

REPORT_SECONDS = 1.0
"""Seconds before the first line, and between two lines."""


def report_reading_progress(
    journal: Journal, send: Callable[[str], None], now: Callable[[], float] = time.monotonic
) -> None:
    """Send a progress line to `send` each second while events are read, until `journal.report_reading(None)`."""
    last, due = max(1, journal.last_seq()), now() + REPORT_SECONDS

    def read(seq: int, doing: str) -> None:
        nonlocal due
        if now() >= due:
            due = now() + REPORT_SECONDS
            send(f"{doing} the journal: {min(100, 100 * seq // last)} %")

    journal.report_reading(read)


@contextmanager
def reading_progress(journal: Journal, send: Callable[[str], None]) -> Generator[None]:
    """Context manager: send a progress line to `send` each second while events are read."""
    report_reading_progress(journal, send)
    try:
        yield
    finally:
        journal.report_reading(None)
