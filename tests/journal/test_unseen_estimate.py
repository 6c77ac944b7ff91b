"""The estimate of what nobody found, against numbers that others published for the same data."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from rundry.agent.facts.search.estimate import richness

ANTS = [1] * 6 + [2] * 8 + [3] * 12
"""26 species at 11 sites, 6 at one site only and 8 at two: the ant data of EstimateS, in the tests of Biodiverse."""


def test_chao2_of_the_ant_data_is_what_biodiverse_computes():
    found = richness(ANTS, 11)
    assert found is not None
    assert found.total == pytest.approx(28.0454545454545)
    assert (found.low, found.high) == pytest.approx((26.3450687940336, 38.124783144296), abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "total", "low", "high"),
    [
        ([0, 1, 1, 4, 2, 5, 2, 4, 1, 2], 10.5, 9.17, 21.89),
        ([0, 2, 2, 4, 5, 0, 0, 0, 0, 0], 4.0, 4.0, 4.95),
        ([0, 1, 1, 4, 5, 0, 0, 0, 0, 0], 5.0, 4.08, 17.27),
    ],
)
def test_chao1_of_the_counts_in_the_tests_of_scikit_bio_is_what_estimates_computes(counts, total, low, high):
    found = richness(counts, None)
    assert found is not None
    assert found.total == total
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.006)


def test_chao1_of_the_malayan_butterflies_is_the_714_of_the_literature():
    found = richness([1] * 118 + [2] * 74 + [3] * 428, None)
    assert found is not None
    assert found.total == pytest.approx(714.08, abs=0.01)


def test_two_searchers_who_found_equally_much_give_the_lincoln_petersen_number():
    """20 by each, 10 of them by both: 20 * 20 / 10."""
    found = richness([1] * 20 + [2] * 10, 2)
    assert found is not None
    assert found.total == 40.0


def test_nothing_found_gives_no_estimate():
    assert richness([], 3) is None
    assert richness([0, 0], 3) is None


@given(st.lists(st.integers(1, 6), min_size=1, max_size=60), st.integers(2, 6))
def test_the_interval_holds_the_estimate_and_never_goes_below_what_was_found(counts, searchers):
    found = richness([min(count, searchers) for count in counts], searchers)
    assert found is not None
    assert len(counts) <= found.low <= found.total + 1e-9
    assert found.total <= found.high + 1e-9
