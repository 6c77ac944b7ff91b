"""What a run without a screen writes to stdout."""

from __future__ import annotations

from enum import StrEnum


class Output(StrEnum):
    """One of the three ways to print a run."""

    LINES = "lines"
    """Progress on stderr, the answer on stdout."""
    JSON = "json"
    """One event per line on stdout."""
    ANSWER = "answer"
    """Only the final answer on stdout; on stderr only why there is none."""
