"""The review of what a run staged: its keys, the decision, and the choices that a later review begins with."""

from __future__ import annotations

from typing import Any

from fakes.played_events import started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from fakes.views.stage_review import PlayedReview, review_of
from painted import shows, until
from textual.pilot import Pilot

from rundry.agent import EntryChoice
from rundry.tui.pages.stage_page import StageScreen

SIZE = (120, 40)


async def opened(pilot: Pilot[Any], review: PlayedReview) -> StageScreen:
    """The screen, once it takes keys."""
    review.stage.play(started())
    screen = review.open()
    await takes_keys(pilot, screen)
    return screen


async def takes_keys(pilot: Pilot[Any], screen: StageScreen) -> None:
    await until(pilot, lambda: screen.gate.arming.painted is not None and screen.gate.has_focus_within)


async def closed(pilot: Pilot[Any], review: PlayedReview) -> None:
    await until(pilot, lambda: bool(review.ended))


async def test_y_applies_all_that_is_accepted_and_the_screen_closes(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage, *[stage.text_entry(f"{name}.txt", "a\n", "b\n") for name in "ab"])
        await opened(pilot, review)
        text = stage.text()
        assert "staged: fix the sums" in text and "staged changes" in text
        assert "y apply" in text and "n leave staged" in text
        await press(pilot, "y")
        await closed(pilot, review)
        (decided,) = review.decided
        assert (decided.verdict, decided.digest, decided.entries) == ("approve", review.shown.digest, {})
        (ended,) = review.ended
        assert ended is not None and ended.applied is not None and ended.applied.is_over


async def test_choices_are_stored_as_they_are_made_and_esc_leaves_all_of_it_staged(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage)
        screen = await opened(pilot, review)
        await press(pilot, "down", "space", "tab", *"later", "enter")
        await until(pilot, lambda: review.kept and review.kept[-1] == {1: EntryChoice(skip=True, reason="later")})
        await press(pilot, "up", "up", "enter")
        await until(pilot, lambda: screen.gate.review.opened == 0)
        await takes_keys(pilot, screen)
        await press(pilot, "]", "space")
        await until(pilot, lambda: review.kept[-1].get(0) == EntryChoice(hunks=[0, 2]))
        await press(pilot, "escape")
        await until(pilot, lambda: screen.gate.review.opened is None)
        await takes_keys(pilot, screen)
        await press(pilot, "escape")
        await closed(pilot, review)
        assert review.decided == [] and review.ended[0] is not None and review.ended[0].applied is None
        assert set(review.kept[-1]) == {0, 1}


async def test_a_review_begins_with_the_choices_of_the_last_one(stage: GateStage):
    choices = {
        0: EntryChoice(hunks=[0, 2], hunk_reasons={1: "six is fine"}),
        1: EntryChoice(text="# My own\n"),
        2: EntryChoice(skip=True, reason="still needed"),
    }
    async with stage.app.run_test(size=SIZE) as pilot:
        entries = [one for one in review_of(stage).shown.effects.entries if not one.danger]  # type: ignore[union-attr]
        review = review_of(stage, *entries, choices=choices)
        await opened(pilot, review)
        text = stage.text()
        assert "begins with your choices of the last review" in text
        assert "◐ calc.py" in text and "◐ docs/sums.md" in text and "○ old.txt" in text and "◉ now" in text
        await press(pilot, "y")
        await closed(pilot, review)
        (decided,) = review.decided
        assert (decided.verdict, decided.entries) == ("part", choices)


async def test_n_leaves_it_staged(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage, stage.text_entry("a.txt", "a\n", "b\n"))
        await opened(pilot, review)
        await press(pilot, "n")
        await closed(pilot, review)
        assert review.decided == []


async def test_ctrl_c_closes_the_review_and_not_the_program(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage)
        await opened(pilot, review)
        await pilot.press("ctrl+c")
        await closed(pilot, review)
        assert stage.app.is_running and review.decided == []


async def test_a_decision_that_is_not_possible_is_asked_again_with_the_reason(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage, stage.text_entry("a.txt", "a\n", "b\n"), refuses="a.txt changed meanwhile")
        screen = await opened(pilot, review)
        await press(pilot, "y")
        await shows(pilot, "a.txt changed meanwhile")
        await takes_keys(pilot, screen)
        await press(pilot, "y")
        await closed(pilot, review)
        assert len(review.decided) == 1


async def test_a_protected_file_has_to_be_read_first(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage)
        await opened(pilot, review)
        await press(pilot, "y")
        await shows(pilot, "export A=1")
        assert review.decided == []


async def test_a_word_that_is_typed_decides_nothing_and_says_what_the_keys_do(stage: GateStage):
    async with stage.app.run_test(size=SIZE) as pilot:
        review = review_of(stage)
        await opened(pilot, review)
        await pilot.press("y", "e", "s")
        await shows(pilot, "esc leaves it staged and keeps your choices")
        assert review.decided == [] and review.ended == []
