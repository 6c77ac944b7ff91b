"""An age is shown in words, not as a clock."""

from __future__ import annotations

import pytest

from rundry.tui.text.ages import age_words

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (1_258, "20 min ago"),
        (3_600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 day ago"),
        (3 * 86_400, "3 days ago"),
    ],
)
def test_an_age_is_short_and_in_words(seconds: float, words: str):
    assert age_words(NOW - seconds, NOW) == words


def test_after_a_week_it_is_the_date():
    assert age_words(NOW - 30 * 86_400, NOW).count("-") == 2
