"""The line above the message box: a countdown, or a score."""

from __future__ import annotations

import time

import pytest

from rundry.agent import AwaitBegan, Better, ImproveSpec, ScoreMeasured, Sleeping, Stamped, ViewState, reduce_all
from rundry.tui.head.progress_line import arrange_progress

NOW = 1_800_000_000.0


def asleep(**more: object) -> ViewState:
    state = ViewState(asleep_since=NOW)
    told = {
        "seconds": 270.0, "asked": 300.0, "why": "CI takes about ten minutes", "warm_until": 5_300.0, "until": 5_270.0,
        "moved": "inside", "warm_usd": 0.004, "cold_usd": 0.04, **more,
    }  # fmt: skip
    state.sleeping = Sleeping(**told)  # type: ignore[arg-type]
    return state


def line(state: ViewState, width: int, after: float = 49.0) -> str:
    return "".join(piece.text for piece in arrange_progress(state, NOW + after, width, "F9"))


def test_a_sleep_shows_what_is_left_the_reason_the_move_the_warm_window_and_the_key():
    at = time.strftime("%H:%M", time.localtime(NOW + 300))
    text = line(asleep(), 160)
    assert text.startswith('sleeping 3:41 of 4:30   "CI takes about ten minutes"   asked 5:00, moved inside the warm')
    assert f"(until {at}, a cold read costs 0.04, a warm one 0.004)" in text and text.endswith("F9 wake")


@pytest.mark.parametrize("width", [30, 40, 60, 78, 100, 118, 200])
def test_it_fits_every_width_and_keeps_the_countdown_and_the_key(width: int):
    text = line(asleep(), width)
    assert len(text) <= max(width, 34) and "sleeping 3:41" in text and text.endswith("F9 wake")


def test_a_cold_cache_is_reported_as_cold_and_a_sleep_without_one_says_nothing_of_it():
    assert "cache cold (it was warm until" in line(asleep(seconds=1200.0, moved="", until=6_200.0), 160, after=600.0)
    bare = asleep(warm_until=None, moved="", asked=270.0, why="pass 4 is due")
    assert "warm" not in line(bare, 160) and "asked" not in line(bare, 160)


def test_what_a_reason_says_is_shown_as_text():
    assert "\x1b" not in line(asleep(why="\x1b[31mred\u202e"), 160)


def test_scores_are_bars_with_the_passes_that_moved_nothing():
    state = ViewState(improve=ImproveSpec(score="s", goal=Better.MAX, patience=3), stale=2)
    for number, score in enumerate((5.0, 9.0, 1.0)):
        state.scores.append(ScoreMeasured(score=score, best=9, kept=score != 1, stale_passes=0, number=number))
    assert line(state, 100) == "score 1   best 9, higher is better   ▅█▁   no better in 2 of 3 passes ●●○"
    assert line(state, 60) == "score 1   best 9, higher is better   ▅█▁   no gain 2/3"
    state.improve = ImproveSpec(score="s", goal=Better.MIN, patience=3)
    assert "lower is better   ▅▁█" in line(state, 100)
    assert all(len(line(state, width)) <= width for width in (50, 60, 80))


def test_the_line_of_a_score_names_the_try_that_works():
    state = ViewState(improve=ImproveSpec(score="s", goal=Better.MAX, patience=3, tries=3), newest_try="try 2 of 3")
    state.scores.append(ScoreMeasured(score=5, best=5, kept=True, stale_passes=0))
    assert "try 2 of 3" in line(state, 78) and len(line(state, 78)) <= 78


def test_a_run_that_neither_sleeps_nor_measures_has_no_such_line():
    assert line(ViewState(), 100) == ""


def awaiting(**more: object) -> ViewState:
    state = ViewState()
    began = AwaitBegan(**{"call_id": "c", "what": "job", "name": "build", "until": NOW + 600.0, **more})  # type: ignore[arg-type]
    reduce_all(state, [Stamped(1, NOW, 1, None, began)])
    return state


def test_a_wait_shows_what_is_awaited_since_when_until_when_and_the_key():
    at = time.strftime("%H:%M:%S", time.localtime(NOW + 600))
    text = line(awaiting(text="listening"), 100)
    assert text.startswith(f"waiting 0:49 of 10:00   for “listening” of build   until {at} ") and len(text) == 100
    assert text.endswith("F9 end wait")


def test_a_wait_for_a_person_has_no_end_and_control_characters_are_shown():
    text = line(awaiting(what="person", name="press\x1b[31m it", until=None), 100)
    assert text.startswith("waiting 0:49   for you: press") and "\x1b" not in text and "until" not in text


@pytest.mark.parametrize("width", [30, 40, 60, 78, 118])
def test_a_wait_fits_every_width(width: int):
    text = line(awaiting(what="file", name="a/very/long/path/that/does/not/fit/into/the/line.txt"), width)
    assert len(text) <= max(width, 42) and "waiting 0:49" in text and text.endswith("F9 end wait")
