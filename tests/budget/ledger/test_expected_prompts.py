"""What a provider will probably count for a prompt, by what it counted for the newest one."""

from __future__ import annotations

import pytest
from budget.ledger.asked import ask
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.budget.admission import Grant
from rundry.agent.budget.count_margin import expected, most_counted

TOKENS = st.integers(1, 200_000)
NEWEST = st.none() | st.tuples(TOKENS, TOKENS)


@pytest.mark.parametrize(
    ("counted", "newest", "tokens"),
    [
        (1_000, None, 1_100),
        (1_000, (800, 800), 1_020),
        (1_000, (800, 700), 1_020),  # our count stays: a report can leave cached tokens out
        (500, (800, 700), 500),
        (1_000, (1_000, 1_250), 1_250),
        (2_000, (1_000, 1_250), 2_500),
        (500, (1_000, 1_250), 750),
        (2_000, (10, 1_510), 3_699),  # a text of its own is added once
    ],
)
def test_a_prompt_differs_as_the_newest_one_did(counted: int, newest: tuple[int, int] | None, tokens: int):
    assert expected(counted, newest) == tokens


@given(TOKENS, NEWEST)
@settings(max_examples=examples(300), deadline=None)
def test_the_longest_prompt_is_the_one_after_which_no_longer_one_is_expected_to_fit(room: int, newest):
    most = most_counted(room, newest)
    assert most == 0 or expected(most, newest) <= room
    assert expected(most + 1, newest) > room


def test_the_limit_of_an_answer_leaves_out_what_the_prompt_probably_takes():
    grants = [ask(window=8_000, prompt=4_000, expected_tokens=tokens) for tokens in (0, 4_300, 6_000)]
    assert [grant.max_tokens for grant in grants if isinstance(grant, Grant)] == [3_600, 3_700, 2_000]
