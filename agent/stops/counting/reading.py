"""How many tests ran and failed, and which, read from a check's output (docs/requirements.md 2.3.7, 2.3.9)."""

from __future__ import annotations

from ..plain import plain
from .counted import Counted, together
from .go import go
from .javascript import jest, mocha
from .junit import junit
from .node import node, tap
from .python import pytest, unittest
from .rust import cargo
from .summaries import summarised

_READERS = (pytest, unittest, cargo, go, node, tap, jest, mocha)


def count_tests(output: str) -> Counted | None:
    """What all runners in this output counted, summed; None: no summary of a known runner is there."""
    text = plain(output)
    in_xml = junit(text)
    if in_xml is not None:
        return in_xml
    found = [counted for counted in (reader(text) for reader in _READERS) if counted is not None]
    return together([*found, *summarised(text)])


def count_failing(output: str) -> int | None:
    """Failing and broken tests; None where the output counts nothing."""
    return failing_of(count_tests(output))


def failing_of(counted: Counted | None) -> int | None:
    """None also where no test ran and none failed."""
    return None if counted is None or counted.is_empty else counted.failing
