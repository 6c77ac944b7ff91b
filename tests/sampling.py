"""Which cases of a large table run by default: a seeded sample. `pytest -m long` runs the others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import settings

SEED = 1


def sampled(cases: Sequence[Any], most: int, kind: Callable[[Any], object] = lambda case: None) -> list[Any]:
    """Return all cases for `parametrize`. All but `most` of each kind are marked as long.

    A case with several values is a tuple.
    """
    order = list(range(len(cases)))
    random.Random(SEED).shuffle(order)
    counts: Counter[object] = Counter()
    chosen: set[int] = set()
    for number in order:
        counts[kind(cases[number])] += 1
        if counts[kind(cases[number])] <= most:
            chosen.add(number)
    return [case if number in chosen else _long(case) for number, case in enumerate(cases)]


def examples(most: int) -> int:
    """Return how many examples hypothesis tries: a quarter of `most`, and all with `--hypothesis-profile=full`."""
    return max(1, most * settings.default.max_examples // 100)


def _long(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
