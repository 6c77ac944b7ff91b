"""Choose what runs by default: seeded samples of large tables and of slow tests. `pytest -m long` runs the others."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
COMMITS = 40
"""Commits that share a seed, so that a fix of what a sample has found is tried with the same sample."""


def _seed() -> int:
    """Return the number that chooses the samples. It follows the number of commits."""
    if (given := os.environ.get("RUNDRY_SAMPLE_SEED")) is not None:
        return int(given)
    asked = ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:  # git is not installed
        return 1
    return int(answer or 0) // COMMITS


SEED = _seed()
SPENT = 0.04
"""Seconds that the sample spends for a test. Cheaper ones always run; of tests that take 2 seconds, one in 50."""
SECONDS = Path(__file__).with_name("seconds.toml")
"""Average seconds of the tests of each file that is not cheap. `.dev/test --record-seconds` writes it."""


def sampled(cases: Sequence[Any], limit: int, kind: Callable[[Any], object] = lambda case: None) -> list[Any]:
    """Return all cases for `parametrize`. All but `limit` of each kind are marked as long.

    A case with several values is a tuple.
    """
    order = list(range(len(cases)))
    random.Random(SEED).shuffle(order)
    counts: Counter[object] = Counter()
    chosen: set[int] = set()
    for number in order:
        counts[kind(cases[number])] += 1
        if counts[kind(cases[number])] <= limit:
            chosen.add(number)
    return [case if number in chosen else _long(case) for number, case in enumerate(cases)]


@cache
def seconds() -> dict[str, float]:
    """Return the average seconds of a test in each file that is not cheap, by its path below the root."""
    return tomllib.loads(SECONDS.read_text(encoding="utf-8"))["seconds"] if SECONDS.exists() else {}


def record(measured: Mapping[str, Sequence[float]]) -> None:
    """Write the seconds of each file that ran; the rows of other files stay while the files exist."""
    rows = {path: mean for path, mean in seconds().items() if (ROOT / path).exists()}
    rows |= {path: sum(each) / len(each) for path, each in measured.items()}
    text = "".join(f'"{path}" = {mean:.2f}\n' for path, mean in sorted(rows.items()) if mean > SPENT)
    head = "# Average seconds of a test, where that is not little. Written by `.dev/test --record-seconds`.\n"
    SECONDS.write_text(f"{head}\n[seconds]\n{text}", encoding="utf-8")


def share_of(test: pytest.Item) -> float:
    """Return how likely a test is in the sample of a run of the whole suite."""
    return SPENT / seconds().get(test.path.relative_to(ROOT).as_posix(), SPENT)


def named_as_proof(root: Path) -> frozenset[str]:
    """Return the tests that docs/security.md names, as `tests/FILE.py::NAME`. A case of each is in every sample."""
    text = (root / "docs" / "security.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"tests/[\w/]+\.py::\w+", text))


def is_sampled(test: pytest.Item, share: float, of: str) -> bool:
    """Return whether the seed chooses this test, of which it chooses the `share`. `of`: another name chooses others."""
    return random.Random(f"{SEED} {of} {test.nodeid}").random() < share


def one_of_each(tests: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return one case of each test, chosen by the seed."""
    cases: dict[str, list[pytest.Item]] = {}
    for test in tests:
        cases.setdefault(test.nodeid.partition("[")[0], []).append(test)
    return {random.Random(f"{SEED} {name}").choice(found) for name, found in cases.items()}


def examples(limit: int) -> int:
    """Return how many examples hypothesis tries: a quarter of `limit`, and all with `--hypothesis-profile=full`."""
    return max(1, limit * settings.default.max_examples // 100)


def _long(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
