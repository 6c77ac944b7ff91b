"""Read from a check's output which tests ran, and how many failed (docs/requirements.md 2.3.7, 2.3.9)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ...host.terminal_text import plain
from .counted import Counted, together

_Reader = Callable[[str], Counted | None]


def count_tests(output: str) -> Counted | None:
    """Return the sum of all runners' counts in the output; None if it has no summary of a known runner."""
    from .count_junit import junit
    from .count_summaries import summarised

    text = plain(output)
    in_xml = junit(text)
    if in_xml is not None:
        return in_xml
    found = [counted for counted in (reader(text) for reader in _readers()) if counted is not None]
    return together([*found, *summarised(text)])


@cache
def _readers() -> tuple[_Reader, ...]:
    """Return the readers of the runners' summaries. Importing them takes 15 ms, so runs without a check do not."""
    from .count_go import go
    from .count_javascript import jest, mocha
    from .count_node import node, tap
    from .count_python import pytest, unittest
    from .count_rust import cargo

    return (pytest, unittest, cargo, go, node, tap, jest, mocha)


def count_failing(output: str) -> int | None:
    """Return the number of failing and broken tests; None if the output has no counts."""
    return failing_of(count_tests(output))


def failing_of(counted: Counted | None) -> int | None:
    """Return the number of failing tests; None if there are no counts, or no test ran and none failed."""
    return None if counted is None or counted.is_empty else counted.failing
