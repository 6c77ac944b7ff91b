"""Search, selection and clicks in the transcript."""

from __future__ import annotations

import pytest
from fakes.views.drawn_transcript import Stage, text_of, tool_block
from textual.geometry import Offset
from textual.selection import Selection

from rundry.agent import Block
from rundry.tui.transcript.transcript import Transcript
from rundry.tui.transcript.transcript_search import Found, Search

HOSTILE = "\x1b]52;c;ZXZpbA==\x07 \u202e [@click=app.quit]x[/] \x9b2J"


async def test_a_search_goes_through_all_blocks_and_unfolds_what_it_finds() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        blocks = [tool_block(number) for number in range(200)]
        blocks[20].detail = "the needle lies here"
        blocks[150].title = "search Needle"
        transcript.show(blocks, 0)
        await pilot.pause()
        assert transcript.find("needle") == Found(2, 2)
        assert "search Needle" in text_of(transcript)
        assert transcript.find_next() == Found(1, 2)
        assert "the needle lies here" in text_of(transcript)
        assert transcript.find_next(-1) == Found(2, 2)
        assert transcript.find("Needle") == Found(1, 1)
        assert transcript.find("nothing like it") == Found(0, 0)
        assert transcript.find("") == Found(0, 0)


async def test_words_marked_up_are_found_and_highlighted() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([Block("text", 1, 1, None, 0.0, text="look at **the parser** now")], 0)
        await pilot.pause()
        assert transcript.find("the parser now") == Found(1, 1)
        spans = transcript.matches(transcript.lines[0])
        assert [(start, end) for start, end, _ in spans] == [(8, 22)]


async def test_what_is_selected_is_copied_without_the_gutter() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([tool_block(1), Block("text", 2, 2, None, 0.0, text="some words of the model")], 0)
        await pilot.pause()
        await pilot.mouse_down(transcript, offset=(11, 0))
        await pilot.hover(transcript, offset=(15, 1))
        await pilot.mouse_up(transcript, offset=(15, 1))
        await pilot.pause()
        selected = app.screen.get_selected_text()
        assert selected is not None
        first, second = selected.split("\n")
        assert first.startswith("file_1.py")
        assert "some words".startswith(second[:9])
        assert transcript.get_selection(Selection(None, Offset(0, 0))) is not None


async def test_a_click_on_a_line_unfolds_it_and_hostile_text_does_nothing() -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.query_one(Transcript)
        kinds = ("task", "text", "reasoning", "tool", "edit", "command", "check", "fault", "note", "stall", "question")
        blocks = [
            Block(kind, n, n, None, 0.0, text=HOSTILE, title=HOSTILE, right=HOSTILE, detail=HOSTILE, open=True)
            for n, kind in enumerate((*kinds, "prompted", "outcome", "unknown"))
        ]
        transcript.show(blocks, 0)
        await pilot.pause()
        for y in range(transcript.size.height):
            row = transcript.render_line(y)
            assert not any(sign in row.text for sign in ("\x1b", "\x07", "\x9b", "\u202e")), row.text
            assert all("@click" not in (segment.style.meta if segment.style else {}) for segment in row)
            await pilot.click(transcript, offset=(20 + y, y))
        assert app.is_running
        await pilot.click(transcript, offset=(8, 0))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (30, 8)])
async def test_every_row_is_exactly_as_wide_as_the_screen(size: tuple[int, int]) -> None:
    app = Stage()
    async with app.run_test(size=size) as pilot:
        transcript = app.query_one(Transcript)
        long = "word " * 60 + "界" * 40 + " " + "x" * 200
        blocks = [
            Block(kind, n, n, None, 0.0, text=long, title=long, right="many facts " * 5, detail=long, open=True)
            for n, kind in enumerate(("say", "text", "reasoning", "tool", "edit", "check", "fault", "outcome"))
        ]
        transcript.show(blocks, 0)
        await pilot.pause()
        for _ in range(6):
            assert all(transcript.render_line(y).cell_length == size[0] for y in range(transcript.size.height))
            transcript.action_page_up()


def test_a_search_begins_at_the_last_occurrence_at_or_above_the_place_of_the_user() -> None:
    blocks = [tool_block(number) for number in range(9)]
    for number in (1, 4, 7):
        blocks[number].title = "needle"
    search = Search("needle")
    search.add_matches(blocks, 0, len(blocks))
    for place, current in ((0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3), (8, 3)):
        search.nearest(place)
        assert search.found == Found(current, 3), place
