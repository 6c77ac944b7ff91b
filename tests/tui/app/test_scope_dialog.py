"""`/scope` shows what a run may change, and adds to it."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.screens import Stage
from painted import shows, until

from rundry.agent import AddScope, ScopeSet

SCOPE = ScopeSet(
    scope="x",
    line="May change: sources (*.py)",
    listing=[
        "May change: sources: *.py",
        "  The check runs it: ci/check.sh",
        "  Part of what the check runs: ci/lib.sh",
    ],
)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_dialog_shows_all_of_it_with_the_reasons(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(started(), SCOPE)
        await stage.caught_up(pilot)
        await press(pilot, *"/scope", "enter")
        await shows(pilot, "May change: sources: *.py")
        for words in ("The check runs it: ci/check.sh", "ci/lib.sh", "/scope GLOB adds files"):
            assert words in stage.text()
        await pilot.press("escape")
        await until(pilot, lambda: "The check runs it" not in stage.text())


async def test_globs_are_sent_to_the_run():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started(), SCOPE)
        await stage.caught_up(pilot)
        await press(pilot, *"/scope docs/** CHANGELOG.md", "enter")
        await until(pilot, lambda: AddScope(globs=["docs/**", "CHANGELOG.md"]) in stage.link.commands)


async def test_a_run_without_a_check_says_so():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(started())
        await stage.caught_up(pilot)
        await press(pilot, *"/scope", "enter")
        await shows(pilot, "no check decides, so there is no scope")


async def test_what_a_person_added_is_in_the_transcript():
    stage = Stage()
    async with stage.app.run_test(size=(100, 30)) as pilot:
        stage.play(
            started(), SCOPE, ScopeSet(scope="y", line="", listing=["May change: all"], added=["docs/**"], by="person")
        )
        await stage.caught_up(pilot)
        await shows(pilot, "may change now, too: docs/**")
