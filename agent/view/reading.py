"""Tell a person how much of a journal was read, where that takes longer than they would wait without a word."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ..journal import Journal

PATIENT_SECONDS = 1.0
"""Before the first line, and between two."""


def tell_reading(journal: Journal, tell: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
    """From now on `tell` gets a line each second in which events are read, until `journal.on_read` is None."""
    last, due = max(1, journal.last_seq()), now() + PATIENT_SECONDS

    def read(seq: int, doing: str) -> None:
        nonlocal due
        if now() >= due:
            due = now() + PATIENT_SECONDS
            tell(f"{doing} the journal: {min(100, 100 * seq // last)} %")

    journal.on_read = read


@contextmanager
def reading_told(journal: Journal, tell: Callable[[str], None]) -> Generator[None]:
    """While this lasts, `tell` gets a line each second in which events are read."""
    tell_reading(journal, tell)
    try:
        yield
    finally:
        journal.on_read = None
