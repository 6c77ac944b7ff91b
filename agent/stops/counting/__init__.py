"""Count the tests of a check from its output, and compare the counts with those of the baseline."""

from __future__ import annotations

from .comparing import Suspicion, compare
from .counted import Counted
from .reading import count_failing, count_tests, failing_of

__all__ = ["Counted", "Suspicion", "compare", "count_failing", "count_tests", "failing_of"]
