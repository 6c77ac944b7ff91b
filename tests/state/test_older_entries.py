"""Entries that are no longer in memory are still drawn, found and scrolled to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.played_events import spec, started
from textual.app import App, ComposeResult

from rundry.agent import Journal, ViewState, load_older, reduce
from rundry.agent.protocol import StepFinished, StepStarted, ToolCalled, ToolFinished
from rundry.tui.theme.theme import register_themes
from rundry.tui.transcript.transcript import Transcript
from rundry.tui.transcript.transcript_search import Found

STEPS = 3_000


class Stage(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.searched: list[Transcript.Searched] = []

    def compose(self) -> ComposeResult:
        yield Transcript()

    def on_mount(self) -> None:
        register_themes(self)
        self.theme = "dark"

    def on_transcript_searched(self, message: Transcript.Searched) -> None:
        self.searched.append(message)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ViewState]:
    journal = Journal.create(tmp_path / "r1.db", spec())
    with journal.transaction():
        journal.append(started())
        for step in range(1, STEPS + 1):
            path = "needle.py" if step == 7 else f"file_{step}.py"
            call = ToolCalled(call_id=f"c{step}", tool="read_file", arguments={"path": path})
            done = ToolFinished(call_id=f"c{step}", tool="read_file", ok=True, result=f"text of {path}")
            for event in (StepStarted(number=step), call, done, StepFinished(number=step)):
                journal.append(event, step=step)
    state = ViewState()
    load_older(state, journal)
    for stamped in journal.read():
        reduce(state, stamped)
    yield state
    journal.close()


def text(transcript: Transcript) -> str:
    return "\n".join(transcript.render_line(y).text.rstrip() for y in range(transcript.size.height))


async def test_the_first_entry_is_one_key_away(state: ViewState) -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show(state.blocks, 0)
        await pilot.pause()
        assert state.blocks.first > STEPS / 2 and f"file_{STEPS}.py" in text(transcript)
        transcript.action_scroll_home()
        await pilot.pause()
        assert "file_1.py" in text(transcript) and "needle.py" in text(transcript)


async def test_a_search_continues_in_entries_that_are_not_in_memory(state: ViewState) -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show(state.blocks, 0)
        await pilot.pause()
        assert transcript.find("needle") == Found(0, 0) and transcript.is_searching
        while transcript.is_searching:
            await pilot.pause()
        await pilot.pause()
        assert "needle.py" in text(transcript)
        assert app.searched[-1].found == Found(2, 2) and app.searched[-1].share == 1
        assert transcript.find_next(-1) == Found(1, 2)
