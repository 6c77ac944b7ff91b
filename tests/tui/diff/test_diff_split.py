from __future__ import annotations

import pytest
from painted import until
from textual.app import App, ComposeResult

from rundry.tui.diff.contents import diff_of
from rundry.tui.diff.diff_pane import DiffPane
from rundry.tui.diff.renderer import DiffRenderer, HunkMark, RenderOptions
from rundry.tui.lines.line_parts import Part
from rundry.tui.theme.theme import register_themes, shipped_palette

PALETTE = shipped_palette("dark")
OLD = "".join(f"value_{n} = {n}\n" for n in range(400)).encode()
NEW = OLD.replace(b"value_20 = 20", b"value_20 = 21").replace(b"value_399 = 399", b"value_399 = 'last'")


class CountingPane(DiffPane):
    built: set[int]

    def build(self, item: int) -> list[Part]:
        self.built.add(item)
        return super().build(item)


class Stage(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.panes = [CountingPane(), DiffPane()]

    def compose(self) -> ComposeResult:
        self.panes[1].display = False
        yield from self.panes

    def on_mount(self) -> None:
        register_themes(self)
        self.theme = "dark"
        self.pane.built = set()

    @property
    def pane(self) -> CountingPane:
        pane = self.panes[0]
        assert isinstance(pane, CountingPane)
        return pane


def _seen(before: str, after: str, width: int = 61) -> list[tuple[str, str]]:
    """Both halves of what is drawn, without their numbers' blanks; a row over the whole width is not a pair."""
    diff = diff_of("a.txt", before.encode(), after.encode())
    renderer = DiffRenderer(diff)
    options = RenderOptions(width, PALETTE, split=True)
    rows = [line for at in range(len(diff.rows)) for draw, _ in renderer.parts(at, options) for line in draw()]
    texts = ["".join(text for text, _ in row) for row in rows]
    assert all(len(text) == width for text in texts if "│" in text)
    return [
        (left.strip(), right.strip()) for left, divider, right in (text.partition("│") for text in texts) if divider
    ]


def _text(pane: DiffPane) -> str:
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


def test_old_stands_on_the_left_and_new_on_the_right_with_its_own_number() -> None:
    assert _seen("a\nb\nc\n", "a\nB\nnew\nc\n") == [
        ("1   a", "1   a"),
        ("2 − b", "2 + B"),
        ("", "3 + new"),
        ("3   c", "4   c"),
    ]


def test_a_line_that_changed_stands_next_to_what_it_became_and_new_ones_above_it_stand_alone() -> None:
    before = "x = compute(one, two)\n"
    after = "first = 1\nsecond = 2\nx = compute(one, three)\nlast = 4\n"
    assert _seen(before, after) == [
        ("", "1 + first = 1"),
        ("", "2 + second = 2"),
        ("1 − x = compute(one, two)", "3 + x = compute(one, three)"),
        ("", "4 + last = 4"),
    ]


def test_two_lines_that_are_like_the_same_new_one_do_not_both_stand_next_to_it() -> None:
    assert _seen("x = f(one)\nx = f(one)\n", "x = f(one, 1)\npass\nx = f(other, 2)\n") == [
        ("1 − x = f(one)", "1 + x = f(one, 1)"),
        ("", "2 + pass"),
        ("2 − x = f(one)", "3 + x = f(other, 2)"),
    ]


def test_a_long_line_is_wrapped_and_the_lines_below_stay_side_by_side() -> None:
    seen = _seen("short\nafter\n", "short " + "word " * 20 + "\nafter\n", width=61)
    assert seen[0] == ("1 − short", "1 + short word word word wo")
    assert [left for left, _ in seen[1:-1]] == [""] * (len(seen) - 2)
    assert seen[-1] == ("2   after", "2   after")
    text = "".join(right for _, right in seen[:-1]).replace(" ", "")
    assert text == "1+short" + "word" * 20


def test_a_line_of_a_million_characters_is_drawn_piece_by_piece_and_none_is_lost() -> None:
    line = "abcdefghij" * 100_000
    diff = diff_of("a.txt", b"x\n", f"{line}\n".encode())
    renderer = DiffRenderer(diff)
    at = next(at for at, row in enumerate(diff.rows) if row.kind == "-")
    parts = renderer.parts(at, RenderOptions(121, PALETTE, split=True))
    assert len(parts) > 100
    drawn = ["".join(text for text, _ in row).partition("│")[2] for draw, _ in parts for row in draw()]
    assert "".join(row[7:].strip() for row in drawn) == line


async def test_both_stand_side_by_side_where_there_is_room_and_a_key_changes_that_for_the_session() -> None:
    app = Stage()
    async with app.run_test(size=(130, 20)) as pilot:
        pane = app.pane
        pane.show_change("a.py", OLD, NEW)
        pane.focus()
        await pilot.pause()
        assert pane.is_split
        assert "│" in _text(pane)
        await pilot.resize_terminal(100, 20)
        await pilot.pause()
        assert not pane.is_split
        assert "│" not in _text(pane)
        await pilot.press("v")
        assert "21 − value_20 = 20" in _text(pane)
        assert "│" in _text(pane)
        pane.show_change("b.py", NEW, OLD)
        assert app.panes[1].is_split
        await pilot.pause()
        assert "│" in _text(pane)
        await pilot.press("v")
        await pilot.resize_terminal(160, 20)
        await pilot.pause()
        assert "│" not in _text(pane)


async def test_a_new_file_is_not_put_next_to_nothing() -> None:
    app = Stage()
    async with app.run_test(size=(130, 20)) as pilot:
        app.pane.show_change("a.py", None, NEW)
        await pilot.pause()
        assert not app.pane.is_split
        assert "│" not in _text(app.pane)


@pytest.mark.parametrize("key", ["end", "pagedown"])
async def test_the_end_is_seen_where_the_last_line_stands_next_to_another(key: str) -> None:
    app = Stage()
    async with app.run_test(size=(130, 12)) as pilot:
        app.pane.show_change("a.py", OLD, NEW)
        app.pane.focus()
        await pilot.pause()
        assert not app.pane.shows_end
        await pilot.press(key, key)
        await pilot.pause()
        assert app.pane.shows_end
        assert app.pane.end_seen
        assert "value_399 = 'last'" in _text(app.pane)


async def test_marks_and_a_reason_stand_at_a_hunk_in_either_view() -> None:
    app = Stage()
    async with app.run_test(size=(130, 30)) as pilot:
        pane = app.pane
        pane.show_change("a.py", OLD, NEW)
        await pilot.pause()
        pane.mark_hunk(0, HunkMark(accepted=False, reason="keys may hold colons " * 8))
        pane.mark_hunk(1, HunkMark(accepted=True))
        for _ in range(2):
            text = _text(pane)
            assert "○ line 21" in text
            assert "".join(text.split()).count("keysmayholdcolons") == 8
            assert "◉ line 400" in text
            pane.action_split()
            await pilot.pause()
        pane.mark_hunk(0, None)
        assert "○" not in _text(pane)


async def test_the_view_stays_where_it_is_when_it_is_switched() -> None:
    app = Stage()
    old = [f"    value_{n} = compute({n}, 'text')\n" for n in range(900)]
    new = [line.replace("compute", "calc") if n % 30 == 7 else line for n, line in enumerate(old)]
    async with app.run_test(size=(130, 20)) as pilot:
        pane = app.pane
        pane.show_change("a.py", "".join(old).encode(), "".join(new).encode())
        pane.focus()
        await pilot.pause()
        for _ in range(11):
            await pilot.press("]")
        assert "calc(337, 'text')" in _text(pane)
        await pilot.press("v")
        assert "calc(337, 'text')" in _text(pane)
        assert "12 of 30" in pane.render_line(1).text
        await pilot.press("v")
        assert "12 of 30" in pane.render_line(1).text
        assert pane.current == 11


@pytest.mark.parametrize("width", [100, 150])
async def test_of_five_thousand_lines_only_those_in_sight_are_drawn(width: int) -> None:
    old = [f"    value_{n} = compute({n}, 'text')\n" for n in range(5_000)]
    new = [line.replace("compute", "calc") for line in old]
    app = Stage()
    async with app.run_test(size=(width, 40)) as pilot:
        pane = app.pane
        pane.show_change("a.py", "".join(old).encode(), "".join(new).encode())
        await until(pilot, lambda: pane.diff is not None)
        pane.action_scroll_end()
        pane.go_to_hunk(0)
        await pilot.pause()
        assert len(pane.heights) == 10_001
        assert len(pane.built) < 200
