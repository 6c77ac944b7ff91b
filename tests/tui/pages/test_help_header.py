"""The list of keys explains the header."""

from __future__ import annotations

from fakes.played_events import started
from fakes.screens import Stage
from painted import shows, until


async def test_the_help_explains_each_number_of_the_header():
    stage = Stage()
    async with stage.app.run_test(size=(110, 140)) as pilot:
        stage.play(started())
        await pilot.press("question_mark")
        screen = await shows(pilot, "The header")
        for word in ("step", "tok", "usd", "1:12", "ctx", "14→3 ✗", "~35k", "+33k", "$?"):
            assert any(line.strip().startswith(f"{word}  ") for line in screen.splitlines()), word
        await pilot.press("escape")
        await until(pilot, lambda: "The header" not in stage.text())
