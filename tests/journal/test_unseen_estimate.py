"""The estimate of what nobody found holds the truth where its assumption holds, and is not given elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from rundry.agent.state.search.estimate import richness

Chances = Callable[[random.Random, int, int], list[list[float]]]
"""For each thing, the chance that each look finds it."""


def alike(mean: float, spread: float) -> Chances:
    """Looks of one kind: things differ in how hard they are to find, the looks do not."""

    def make(luck: random.Random, things: int, looks: int) -> list[list[float]]:
        return [[luck.betavariate(mean * spread, (1 - mean) * spread)] * looks for _ in range(things)]

    return make


def for_itself(own: float, other: float) -> Chances:
    """Each look finds things of its own kind, and hardly others."""
    return lambda luck, things, looks: [[own if n % looks == k else other for k in range(looks)] for n in range(things)]


def simulated(chances: Chances, things: int, looks: int, runs: int = 60) -> tuple[int, int, int]:
    """Return how many runs gave an estimate, and in how many of these the truth is below and above the interval."""
    luck, estimated, below, above = random.Random(f"{things} {looks}"), 0, 0, 0
    for _ in range(runs):
        times = [sum(luck.random() < one for one in row) for row in chances(luck, things, looks)]
        if (found := richness(times, looks)) is not None:
            estimated += 1
            below, above = below + (things < found.low), above + (things > found.high)
    return estimated, below, above


def totals(chances: Chances) -> tuple[int, int, int]:
    """Return the sums of such counts over several numbers of things and looks."""
    sizes = ((6, 4), (15, 4), (40, 5), (25, 7))
    estimated, below, above = (sum(one) for one in zip(*(simulated(chances, *size) for size in sizes), strict=True))
    return estimated, below, above


KINDS = {
    "all easy": alike(0.8, 1_000),
    "all hard": alike(0.35, 1_000),
    "some hard": alike(0.6, 4),
    "most hard": alike(0.4, 3),
    "easy or nearly hidden": alike(0.5, 1.5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_for_looks_of_one_kind_the_interval_holds_the_truth_in_nine_of_ten_simulations(kind):
    estimated, below, above = totals(KINDS[kind])
    assert estimated > 100
    assert below + above <= 0.1 * estimated, (below, above, estimated)


def test_each_end_of_the_interval_leaves_out_a_fortieth_at_most_over_all_kinds():
    estimated, below, above = map(sum, zip(*map(totals, KINDS.values()), strict=True))
    assert below <= estimated / 40 and above <= estimated / 40, (below, above, estimated)


@pytest.mark.parametrize("looks", [4, 6])
def test_for_looks_that_find_different_things_there_is_no_estimate(looks):
    assert simulated(for_itself(0.9, 0.0), 40, looks) == (0, 0, 0)
    assert simulated(for_itself(0.9, 0.02), 40, looks)[0] == 0


def test_too_few_looks_and_nothing_found_give_no_estimate():
    assert richness([3, 3, 2, 2], 3) is None
    assert richness([], 5) is None
    assert richness([0, 0], 5) is None


def test_where_every_look_found_everything_nothing_seems_to_be_missing():
    found = richness([5] * 30, 5)
    assert found is not None
    assert (found.low, found.total) == (30, 30)
    assert found.high <= 34


def test_what_one_look_in_two_misses_is_found_missing():
    """100 things, each found by each of 4 looks with a chance of one half: about six are missed."""
    found = richness([1] * 25 + [2] * 38 + [3] * 25 + [4] * 6, 4)
    assert found is not None
    assert found.low <= 100 <= found.high
    assert 97 <= found.total <= 106


@settings(max_examples=40)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=40), st.integers(4, 6))
def test_the_interval_holds_the_estimate_and_never_goes_below_what_was_found(counts, looks):
    found = richness([min(count, looks) for count in counts], looks)
    if found is not None:
        assert len(counts) <= found.low <= found.total <= found.high
