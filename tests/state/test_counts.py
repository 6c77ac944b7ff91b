"""Counts have the right noun everywhere."""

from __future__ import annotations

import pytest

from rundry.agent import plural


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (0, "hunk", "0 hunks"),
        (1, "hunk", "1 hunk"),
        (4, "independent lens", "4 independent lenses"),
        (1, "independent lens", "1 independent lens"),
        (1.0, "day", "1 day"),
        (7.0, "day", "7 days"),
        (0.5, "day", "0.5 days"),
        (2, "pass", "2 passes"),
        (2, "search", "2 searches"),
        (2, "entry", "2 entries"),
        (2, "try", "2 tries"),
        (2, "fix", "2 fixes"),
        (2, "reply", "2 replies"),
        (2, "key", "2 keys"),
        (12_345, "line", "12,345 lines"),
    ],
)
def test_a_count_has_the_noun_that_belongs_to_it(count: float, noun: str, words: str):
    assert plural(count, noun) == words
