from __future__ import annotations

import time

from fakes.pressing import press
from fakes.views.drawn_transcript import Stage, rows_of, text_of, tool_block
from painted import until

from rundry.agent import Block
from rundry.tui.transcript.transcript import Transcript


async def test_a_step_has_its_number_on_the_left_and_its_facts_on_the_right() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        block = tool_block(7)
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
        blocks = [tool_block(number) for number in range(100)]
        transcript.show(blocks, 0)
        await pilot.pause()
        assert "file_99" in rows_of(transcript)[-1]
        transcript.scroll_rows(-5)
        await pilot.pause()
        top = rows_of(transcript)[0]
        blocks += [tool_block(number) for number in range(100, 112)]
        transcript.show(blocks, 100)
        await until(pilot, lambda: rows_of(transcript)[-1].endswith("12 new below  ↓ end"))
        assert rows_of(transcript)[0] == top
        await until(pilot, lambda: app.moved[-1] == (False, 12))
        transcript.action_scroll_end()
        await until(pilot, lambda: "file_111" in rows_of(transcript)[-1] and app.moved[-1] == (True, 0))


async def test_scrolling_down_to_the_end_follows_again() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([tool_block(number) for number in range(50)], 0)
        await pilot.pause()
        transcript.action_page_up()
        assert not transcript.at_end
        transcript.action_page_down()
        assert transcript.at_end


async def test_details_are_folded_until_a_key_unfolds_them() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([tool_block(1, detail="first\nsecond"), tool_block(2, detail="third")], 0)
        transcript.focus()
        await pilot.pause()
        assert "third" not in text_of(transcript)
        await pilot.press("enter")
        assert "third" in text_of(transcript)
        assert "second" not in text_of(transcript)
        await press(pilot, "o")
        assert "second" in text_of(transcript)
        await press(pilot, "o")
        assert "second" not in text_of(transcript)
        await pilot.press("k", "k", "enter")
        assert "second" in text_of(transcript)
        assert "third" not in text_of(transcript)


async def test_a_block_that_the_reducer_opens_is_open() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        block = tool_block(1, detail="inside")
        transcript.show([block], 0)
        await pilot.pause()
        block.open, block.version = True, 1
        transcript.show([block], 0)
        await until(pilot, lambda: "inside" in text_of(transcript))


async def test_a_growing_text_is_redrawn_without_a_layout() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        block = Block("text", 1, 1, None, 0.0, live=True)
        blocks = [tool_block(number) for number in range(30)] + [block]
        transcript.show(blocks, 0)
        await pilot.pause()
        size, virtual = transcript.size, transcript.virtual_size
        for number in range(40):
            block.text += f"word{number} "
            block.version += 1
            transcript.show(blocks, len(blocks) - 1)
        await until(pilot, lambda: "word39" in text_of(transcript))
        assert (transcript.size, transcript.virtual_size) == (size, virtual)


async def test_a_text_looks_the_same_whether_it_grew_or_came_whole() -> None:
    source = "Some **text**.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nand the *end* of it. " + "More words. " * 80
    app = Stage()
    async with app.run_test(size=(80, 40)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([Block("text", 1, 1, None, 0.0, text=source)], 0)
        await until(pilot, lambda: "More words" in text_of(transcript))
        await pilot.pause()
        whole = rows_of(transcript)
        transcript.show([], 0)
        await until(pilot, lambda: not any(rows_of(transcript)))
        block = Block("text", 1, 1, None, 0.0, live=True)
        for at in range(0, len(source), 37):
            block.text = source[: at + 37]
            block.version += 1
            transcript.show([block], 0)
            if at % 3 == 0:
                await until(pilot, lambda: "Some text" in text_of(transcript))
            await pilot.pause()
        block.live = False
        block.version += 1
        transcript.show([block], 0)
        await until(pilot, lambda: rows_of(transcript) == whole)


async def test_another_theme_and_another_width_draw_everything_again() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([tool_block(1), Block("text", 2, 2, None, 0.0, text="word " * 30)], 0)
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
            blocks = [tool_block(number) for number in range(count)]
            transcript.show([], 0)
            await until(pilot, lambda: not any(rows_of(transcript)))
            transcript.show(blocks, 0)
            await until(pilot, lambda: f"file_{count - 1}.py" in text_of(transcript))
            best = 9.0
            for number in range(8):
                blocks.append(tool_block(count + number))
                began = time.process_time()
                transcript.show(blocks, len(blocks) - 1)
                await until(pilot, lambda: f"file_{len(blocks) - 1}.py" in text_of(transcript))
                best = min(best, time.process_time() - began)
            return best

        few, many = await seconds(100), await seconds(100_000)
        assert many < few * 3 + 0.02
        assert "file_100007" in rows_of(transcript)[-1]


async def test_a_removed_block_is_gone() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        blocks = [tool_block(number) for number in range(5)]
        transcript.show(blocks, 0)
        await pilot.pause()
        del blocks[3:]
        transcript.show(blocks, 3)
        await until(pilot, lambda: "file_2" in text_of(transcript))
        assert "file_3" not in text_of(transcript)


async def test_a_way_back_to_fewer_entries_can_be_drawn_again_immediately() -> None:
    app = Stage()
    async with app.run_test(size=(80, 12)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.show([tool_block(number) for number in range(100)], 0)
        await pilot.pause()
        transcript.show([tool_block(number) for number in range(101)], 100)
        # within the time in which nothing is drawn, as when a replay goes to its start
        transcript.show(
            [tool_block(1)], 0
        )  # within the time in which nothing is drawn, as when a replay goes to its start
        transcript.repaint()
        assert "file_1.py" in rows_of(transcript)[0] and not any(rows_of(transcript)[1:])
