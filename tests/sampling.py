"""Choose what runs by default: seeded samples of large tables and of slow tests. `pytest -m long` runs the others."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

SEED = int(os.environ.get("RUNDRY_SAMPLE_SEED", "1"))
"""Another number chooses other samples."""
PROGRAM_SHARE = 4
"""By default, one in this number of a file's tests that start the program (fixture `home` or `attack`) is run."""
RUN_SHARE = 2
"""The same for tests that play a run or a screen: those in `RUNS` that are coroutines."""
RUNS = ("attacks", "run", "search", "tui")


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


def share_of(test: pytest.Item) -> int:
    """Return the `share` of this test in a run of the whole suite."""
    if {"home", "attack"} & set(getattr(test, "fixturenames", ())):
        return PROGRAM_SHARE
    is_run = test.path.relative_to(Path(__file__).parent).parts[0] in RUNS
    return RUN_SHARE if is_run and iscoroutinefunction(getattr(test, "function", None)) else 1


def named_as_proof(root: Path) -> frozenset[str]:
    """Return the tests that docs/security.md names, as `tests/FILE.py::NAME`. They belong to every sample."""
    text = (root / "docs" / "security.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"tests/[\w/]+\.py::\w+", text))


def outside_of_sample(tests: Sequence[pytest.Item], share: int, kept: frozenset[str]) -> list[pytest.Item]:
    """Return the tests that are not in the seeded sample: one in `share` of each file, and those `kept`."""
    files: dict[Path, list[pytest.Item]] = {}
    for test in tests:
        files.setdefault(test.path, []).append(test)
    left: list[pytest.Item] = []
    for path, found in files.items():
        found.sort(key=lambda test: test.nodeid)
        random.Random(f"{SEED} {path.name}").shuffle(found)
        others = found[-(-len(found) // share) :]
        left += [test for test in others if test.nodeid.partition("[")[0] not in kept]
    return left


def examples(most: int) -> int:
    """Return how many examples hypothesis tries: a quarter of `most`, and all with `--hypothesis-profile=full`."""
    return max(1, most * settings.default.max_examples // 100)


def _long(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
