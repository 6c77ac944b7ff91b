from __future__ import annotations

import time

import pytest
from painted import until
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from rundry.tui.diff.diff_layout import HunkMoved
from rundry.tui.diff.diff_pane import DiffPane
from rundry.tui.diff.renderer import HunkMark
from rundry.tui.theme.theme import register_themes

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

    def on_hunk_moved(self, message: HunkMoved) -> None:
        self.heard.append(f"hunk {message.hunk}")


def _text(pane: DiffPane) -> str:
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


async def _until_compared(pane: DiffPane, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: pane.diff is not None)


async def test_hunks_are_gone_through_by_keys_and_bear_marks() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", OLD, NEW)
        pane.focus()
        await pilot.pause()
        assert [(hunk.name, hunk.added, hunk.removed) for hunk in pane.hunks] == [("line 21", 1, 1), ("line 301", 0, 1)]
        pane.mark_hunk(1, HunkMark(accepted=False, reason="keep it"))
        await pilot.press("]")
        assert pane.current == 1
        assert "○ line 301" in _text(pane)
        assert 'skipped: "keep it"' in _text(pane)
        pane.mark_hunk(1, HunkMark(accepted=True))
        assert "◉ line 301" in _text(pane)
        await pilot.press("[")
        await pilot.pause()
        assert pane.current == 0
        assert [said for said in app.heard if said != "end"] == ["hunk 1", "hunk 0"]


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
        assert "end" in app.heard
        assert "more below" not in _text(pane)
        pane.show_change("a.py", NEW, OLD)
        await pilot.pause()
        assert not pane.end_seen


async def test_unchanged_lines_below_the_last_change_need_not_be_seen() -> None:
    app, old = Stage(), "".join(f"line {n}\n" for n in range(12))
    once = old.replace("line 5\n", "LINE 5\n")
    twice = once.replace("line 7\n", "LINE 7\n")
    async with app.run_test(size=(80, 7)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", old.encode(), once.encode())
        await pilot.pause()
        assert "LINE 5" in _text(pane) and "line 8" not in _text(pane)
        assert pane.end_seen
        assert "more below" not in _text(pane)
        pane.show_change("a.py", old.encode(), twice.encode())
        await pilot.pause()
        assert "LINE 7" not in _text(pane)
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


async def test_the_first_screen_of_a_long_change_is_there_immediately_and_its_end_is_seen_once_it_is_known() -> None:
    lines = [f"    value_{n} = compute({n}, 'text')  # line {n}\n" for n in range(6_000)]
    new = [line.replace("compute", "calc") if n % 15 == 7 else line for n, line in enumerate(lines)]
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", "".join(lines).encode(), "".join(new).encode())
        painted = _text(pane)
        assert "−      value_7 = compute(7, 'text')" in painted
        assert "+      value_7 = calc(7, 'text')" in painted
        assert pane.diff is None
        pane.action_scroll_end()
        assert not pane.shows_end
        await _until_compared(pane, pilot)
        assert len(pane.hunks) == 400
        pane.action_scroll_end()
        assert pane.end_seen


def _repetitive() -> tuple[bytes, bytes]:
    old = ["}\n", "\n", "    return\n", "x\n"] * 1_250
    return "".join(old).encode(), "".join(line for n, line in enumerate(old) if n % 11).encode()


@pytest.mark.parametrize("is_split", [False, True])
async def test_five_thousand_lines_that_repeat_open_in_time(is_split: bool) -> None:
    app = Stage()
    async with app.run_test(size=(160 if is_split else 100, 40)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", b"a\n", b"b\n")
        began = time.process_time()
        pane.show_change("b.py", *_repetitive())
        painted = _text(pane)
        assert time.process_time() - began < 0.5  # difflib takes 17
        assert "−" in painted
        await _until_compared(pane, pilot)
        assert pane.diff is not None
        assert (pane.diff.removed, pane.diff.added) == (455, 0)


async def test_a_diff_of_very_many_hunks_scrolls_to_its_end() -> None:
    text = "".join(f"@@ -{n * 9 + 1},3 +{n * 9 + 1},3 @@\n a\n-old {n}\n+new {n}\n b\n" for n in range(20_000))
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_unified("a.txt", text)
        await _until_compared(pane, pilot)
        pane.action_scroll_end()
        assert "new 19999" in _text(pane)
        assert pane.current == 19_999
        pane.go_to_hunk(10_000)
        assert "10001 of 20000" in _text(pane)


async def test_a_thread_that_comes_late_does_not_replace_what_is_shown() -> None:
    app = Stage()
    async with app.run_test(size=(80, 10)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("large.py", OLD * 60, NEW * 60)
        pane.show_change("small.py", b"a\n", b"b\n")
        await until(pilot, lambda: pane.diff is not None and pane.diff.path == "small.py")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        assert pane.diff is not None
        assert pane.diff.path == "small.py", "the comparison that ended last was of the other change"


async def test_the_current_hunk_follows_the_scrolling_and_skips_none() -> None:
    app = Stage()
    async with app.run_test(size=(80, 30)) as pilot:
        pane = app.query_one(DiffPane)
        old = [f"{n}\n" for n in range(400)]
        new = [f"{n} changed\n" if n % 20 == 10 else line for n, line in enumerate(old)]
        pane.show_change("a.py", "".join(old).encode(), "".join(new).encode())
        await pilot.pause()
        met = [pane.current]
        for _ in range(180):
            pane.action_scroll_down()
            met.append(pane.current)
        assert met == sorted(met)
        assert set(met) == set(range(len(pane.hunks) - 2)) | set(met)
        assert max(met) >= len(pane.hunks) - 3
        pane.action_next_hunk()
        before = pane.current
        pane.action_scroll_up()
        assert pane.current == before
        pane.action_scroll_home()
        assert pane.current == 0


async def test_a_fold_is_opened_in_place_by_key_and_by_click_and_the_hunk_stays_where_it_is() -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", OLD, NEW)
        pane.focus()
        await pilot.press("]")
        height = len(pane.heights)
        row = next(y for y in range(24) if "value_300 = 300" in pane.render_line(y).text)
        await pilot.press("o")
        assert "value_300 = 300" in pane.render_line(row).text
        assert "  297 = 297" in _text(pane).replace("value_", "  ")
        assert "⌄" in _text(pane) or len(pane.heights) > height
        await pilot.press("o")
        assert len(pane.heights) == height
        await pilot.press("home")
        assert pane.render_line(0).text.startswith(" ⋯ 17 unchanged")
        await pilot.click(DiffPane, offset=(5, 0))
        assert pane.render_line(0).text.startswith(" ⌄ 17 unchanged")
        assert "value_0 = 0" in pane.render_line(1).text
        assert [hunk.name for hunk in pane.hunks] == ["line 21", "line 301"]
        await pilot.click(DiffPane, offset=(5, 0))
        assert len(pane.heights) == height


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("far", [120, 900])
async def test_a_very_long_line_opens_where_it_changed(width: int, far: int) -> None:
    old = f"short = 1\ntable = [{'12, 34, ' * far}'before', {'56, 78, ' * far}]\n"
    app = Stage()
    async with app.run_test(size=(width, 12)) as pilot:
        pane = app.query_one(DiffPane)
        pane.show_change("a.py", old.encode(), old.replace("before", "after").encode())
        await pilot.pause()
        assert "short = 1" in _text(pane)
        pane.scroll_to_change()
        await pilot.pause()
        assert "before" in _text(pane)
        pane.action_scroll_home()
        await pilot.pause()
        assert "before" not in _text(pane)
        pane.go_to_hunk(0)
        await pilot.pause()
        assert "before" in _text(pane)
