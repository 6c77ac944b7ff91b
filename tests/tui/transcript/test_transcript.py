from __future__ import annotations

import time

import pytest
from painted import until
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from rundry.agent import Block
from rundry.tui.theme import register_themes
from rundry.tui.transcript import Found, Transcript

HOSTILE = "\x1b]52;c;ZXZpbA==\x07 \u202e [@click=app.quit]x[/] \x9b2J"


class Stage(App[None]):
    CSS = "Input { height: 1; border: none; }"

    def __init__(self) -> None:
        super().__init__()
        self.moved: list[tuple[bool, int]] = []

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield Input()

    def on_mount(self) -> None:
        register_themes(self)
        self.theme = "dark"

    def on_transcript_moved(self, message: Transcript.Moved) -> None:
        self.moved.append((message.follows, message.new_below))


def _tool(number: int, **more: str) -> Block:
    return Block(
        "tool", number, number, None, 0.0, title=f"read file_{number}.py", status="ok", right="84 lines", **more
    )


def _rows(transcript: Transcript) -> list[str]:
    return [transcript.render_line(y).text.rstrip() for y in range(transcript.size.height)]


def _text(transcript: Transcript) -> str:
    return "\n".join(_rows(transcript))


async def test_a_step_has_its_number_on_the_left_and_its_facts_on_the_right() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        block = _tool(7)
        block.seconds = 0.24
        transcript.show([block], 0)
        await pilot.pause()
        row = transcript.render_line(0).text
        assert row.startswith("   7  read file_7.py ")
        assert row.rstrip().endswith("84 lines    0.2s")
        assert len(row) == 80


async def test_it_follows_the_end_until_the_person_scrolls_up_and_says_what_is_new() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        blocks = [_tool(number) for number in range(100)]
        transcript.show(blocks, 0)
        await pilot.pause()
        assert "file_99" in _rows(transcript)[-1]
        transcript.scroll_rows(-5)
        await pilot.pause()
        top = _rows(transcript)[0]
        blocks += [_tool(number) for number in range(100, 112)]
        transcript.show(blocks, 100)
        await until(pilot, lambda: _rows(transcript)[-1].endswith("12 new below  ↓ end"))
        assert _rows(transcript)[0] == top
        await until(pilot, lambda: app.moved[-1] == (False, 12))
        transcript.action_scroll_end()
        await until(pilot, lambda: "file_111" in _rows(transcript)[-1] and app.moved[-1] == (True, 0))


async def test_scrolling_down_to_the_end_follows_again() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([_tool(number) for number in range(50)], 0)
        await pilot.pause()
        transcript.action_page_up()
        assert not transcript.at_end
        transcript.action_page_down()
        assert transcript.at_end


async def test_details_are_folded_until_a_key_unfolds_them() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([_tool(1, detail="first\nsecond"), _tool(2, detail="third")], 0)
        transcript.focus()
        await pilot.pause()
        assert "third" not in _text(transcript)
        await pilot.press("enter")
        assert "third" in _text(transcript)
        assert "second" not in _text(transcript)
        await pilot.press("o")
        assert "second" in _text(transcript)
        await pilot.press("o")
        assert "second" not in _text(transcript)
        await pilot.press("k", "k", "enter")
        assert "second" in _text(transcript)
        assert "third" not in _text(transcript)


async def test_a_block_that_the_reducer_opens_is_open() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        block = _tool(1, detail="inside")
        transcript.show([block], 0)
        await pilot.pause()
        block.open, block.version = True, 1
        transcript.show([block], 0)
        await until(pilot, lambda: "inside" in _text(transcript))


async def test_a_growing_text_is_redrawn_without_a_layout() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        block = Block("text", 1, 1, None, 0.0, live=True)
        blocks = [_tool(number) for number in range(30)] + [block]
        transcript.show(blocks, 0)
        await pilot.pause()
        size, virtual = transcript.size, transcript.virtual_size
        for number in range(40):
            block.text += f"word{number} "
            block.version += 1
            transcript.show(blocks, len(blocks) - 1)
        await until(pilot, lambda: "word39" in _text(transcript))
        assert (transcript.size, transcript.virtual_size) == (size, virtual)


async def test_a_text_looks_the_same_whether_it_grew_or_came_whole() -> None:
    source = "Some **text**.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nand the *end* of it. " + "More words. " * 80
    app = Stage()
    async with app.run_test(size=(80, 40)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([Block("text", 1, 1, None, 0.0, text=source)], 0)
        await until(pilot, lambda: "More words" in _text(transcript))
        await pilot.pause()
        whole = _rows(transcript)
        transcript.show([], 0)
        await until(pilot, lambda: not any(_rows(transcript)))
        block = Block("text", 1, 1, None, 0.0, live=True)
        for at in range(0, len(source), 37):
            block.text = source[: at + 37]
            block.version += 1
            transcript.show([block], 0)
            if at % 3 == 0:
                await until(pilot, lambda: "Some text" in _text(transcript))
            await pilot.pause()
        block.live = False
        block.version += 1
        transcript.show([block], 0)
        await until(pilot, lambda: _rows(transcript) == whole)


async def test_a_search_goes_through_all_blocks_and_unfolds_what_it_finds() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        blocks = [_tool(number) for number in range(200)]
        blocks[20].detail = "the needle lies here"
        blocks[150].title = "search Needle"
        transcript.show(blocks, 0)
        await pilot.pause()
        assert transcript.find("needle") == Found(2, 2)
        assert "search Needle" in _text(transcript)
        assert transcript.find_next() == Found(1, 2)
        assert "the needle lies here" in _text(transcript)
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
        transcript.show([_tool(1), Block("text", 2, 2, None, 0.0, text="some words of the model")], 0)
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


async def test_another_theme_and_another_width_draw_everything_again() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([_tool(1), Block("text", 2, 2, None, 0.0, text="word " * 30)], 0)
        await pilot.pause()
        before = transcript.render_line(0)
        app.theme = "light"
        await until(
            pilot,
            lambda: [segment.style for segment in transcript.render_line(0)] != [segment.style for segment in before],
        )
        rows = len(transcript.lines)
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: len(transcript.lines) > rows)


async def test_a_hundred_thousand_entries_cost_what_ten_cost() -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        transcript = app.query_one(Transcript)

        async def seconds(count: int) -> float:
            blocks = [_tool(number) for number in range(count)]
            transcript.show([], 0)
            await until(pilot, lambda: not any(_rows(transcript)))
            transcript.show(blocks, 0)
            await until(pilot, lambda: f"file_{count - 1}.py" in _text(transcript))
            best = 9.0
            for number in range(8):
                blocks.append(_tool(count + number))
                began = time.process_time()
                transcript.show(blocks, len(blocks) - 1)
                await until(pilot, lambda: f"file_{len(blocks) - 1}.py" in _text(transcript))
                best = min(best, time.process_time() - began)
            return best

        few, many = await seconds(100), await seconds(100_000)
        assert many < few * 3 + 0.02
        assert "file_100007" in _rows(transcript)[-1]


async def test_a_removed_block_is_gone() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        blocks = [_tool(number) for number in range(5)]
        transcript.show(blocks, 0)
        await pilot.pause()
        del blocks[3:]
        transcript.show(blocks, 3)
        await until(pilot, lambda: "file_2" in _text(transcript))
        assert "file_3" not in _text(transcript)


async def test_a_way_back_to_fewer_entries_can_be_drawn_anew_at_once() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([_tool(number) for number in range(100)], 0)
        await pilot.pause()
        transcript.show([_tool(number) for number in range(101)], 100)
        transcript.show([_tool(1)], 0)  # within the time in which nothing is drawn, as when a replay goes to its start
        transcript.repaint()
        assert "file_1.py" in _rows(transcript)[0] and not any(_rows(transcript)[1:])
