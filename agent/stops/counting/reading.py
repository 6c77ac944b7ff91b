"""How many tests ran and failed, and which, read from a check's output (docs/requirements.md 2.3.7, 2.3.9)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..plain import plain
from .counted import Counted, together

_Reader = Callable[[str], Counted | None]


def count_tests(output: str) -> Counted | None:
    """What all runners in this output counted, summed; None: no summary of a known runner is there."""
    from .junit import junit
    from .summaries import summarised

    text = plain(output)
    in_xml = junit(text)
    if in_xml is not None:
        return in_xml
    found = [counted for counted in (reader(text) for reader in _readers()) if counted is not None]
    return together([*found, *summarised(text)])


@cache
def _readers() -> tuple[_Reader, ...]:
    """Return what reads each runner's summary. Loading them takes 15 ms, which a run without a check never spends."""
    from .go import go
    from .javascript import jest, mocha
    from .node import node, tap
    from .python import pytest, unittest
    from .rust import cargo

    return (pytest, unittest, cargo, go, node, tap, jest, mocha)


def count_failing(output: str) -> int | None:
    """Failing and broken tests; None where the output counts nothing."""
    return failing_of(count_tests(output))


def failing_of(counted: Counted | None) -> int | None:
    """None also where no test ran and none failed."""
    return None if counted is None or counted.is_empty else counted.failing
