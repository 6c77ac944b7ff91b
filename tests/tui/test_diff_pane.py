from __future__ import annotations

import asyncio
import time

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from rundry.tui.diff import DiffPane, HunkMark
from rundry.tui.theme import register_themes

OLD = "".join(f"value_{n} = {n}\n" for n in range(400)).encode()
NEW = OLD.replace(b"value_20 = 20", b"value_20 = 21").replace(b"value_300 = 300\n", b"")


class Stage(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def compose(self) -> ComposeResult:
        yield DiffPane()

    def on_mount(self) -> None:
        register_themes(self)
        self.theme = "dark"

    def on_diff_pane_end_seen(self) -> None:
        self.heard.append("end")

    def on_diff_pane_hunk_moved(self, message: DiffPane.HunkMoved) -> None:
        self.heard.append(f"hunk {message.hunk}")


def _text(pane: DiffPane) -> str:
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


async def _until_compared(pane: DiffPane, pilot: Pilot[None]) -> None:
    async with asyncio.timeout(20):
        while pane.diff is None:
            await pilot.pause(0.02)


async def test_hunks_are_gone_through_by_keys_and_bear_marks() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", OLD, NEW)
        pane.focus()
        await pilot.pause()
        assert [(hunk.name, hunk.added, hunk.removed) for hunk in pane.hunks] == [("line 21", 1, 1), ("line 301", 0, 1)]
        pane.mark_hunk(1, HunkMark(taken=False, reason="keep it"))
        await pilot.press("]")
        assert pane.current == 1
        assert "○ line 301" in _text(pane)
        assert 'left: "keep it"' in _text(pane)
        pane.mark_hunk(1, HunkMark(taken=True))
        assert "◉ line 301" in _text(pane)
        await pilot.press("[")
        await pilot.pause()
        assert pane.current == 0
        assert app.heard[-2:] == ["hunk 1", "hunk 0"]


async def test_the_end_counts_as_seen_only_when_it_was_in_sight() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", OLD, NEW)
        await pilot.pause()
        assert not pane.end_seen
        assert "more below" in _text(pane)
        pane.action_page_down()
        pane.action_page_down()
        await pilot.pause()
        assert pane.end_seen
        assert app.heard == ["end"]
        assert "more below" not in _text(pane)
        pane.show_change("a.py", NEW, OLD)
        await pilot.pause()
        assert not pane.end_seen


async def test_the_whole_file_can_be_shown_and_folded_again() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", OLD, NEW)
        await pilot.pause()
        folded = len(pane.heights)
        pane.action_full()
        assert len(pane.heights) > 400
        pane.action_full()
        assert len(pane.heights) == folded


async def test_a_change_of_nothing_says_so() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", OLD, OLD)
        await pilot.pause()
        assert "no change" in _text(pane)
        assert pane.end_seen


async def test_five_thousand_changed_lines_are_painted_at_once_and_compared_without_holding_the_screen() -> None:
    old = "".join(f"    value_{n} = compute({n}, 'text')  # line {n}\n" for n in range(5_000)).encode()
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = app.query_one(DiffPane)
        began = time.process_time()
        pane.show_change("a.py", old, old.replace(b"compute", b"calc"))
        painted = _text(pane)
        assert time.process_time() - began < 0.1
        assert "comparing" in painted
        await _until_compared(pane, pilot)
        await pilot.pause()
        assert "calc(0, 'text')" in _text(pane) or "compute(0, 'text')" in _text(pane)
        assert pane.diff is not None
        assert (pane.diff.added, pane.diff.removed) == (5_000, 5_000)


async def test_a_diff_of_very_many_hunks_scrolls_to_its_end() -> None:
    text = "".join(f"@@ -{n * 9 + 1},3 +{n * 9 + 1},3 @@\n a\n-old {n}\n+new {n}\n b\n" for n in range(20_000))
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_unified("a.txt", text)
        assert "comparing" in _text(pane)
        await _until_compared(pane, pilot)
        pane.action_scroll_end()
        assert "new 19999" in _text(pane)
        pane.go_to_hunk(10_000)
        assert "10001 of 20000" in _text(pane)


async def test_a_thread_that_comes_late_does_not_replace_what_is_shown() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("large.py", OLD * 60, NEW * 60)
        pane.show_change("small.py", b"a\n", b"b\n")
        await pilot.pause(0.2)
        await pilot.app.workers.wait_for_complete()
        assert pane.diff is not None
        assert pane.diff.path == "small.py"
