"""A pane that shows one change of a file, hunk by hunk, in one column or in two."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from rich.segment import Segment
from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from ..lines.draw_runs import to_strip
from ..lines.item_stack import SparseStack
from ..lines.line_parts import Part, Place
from ..lines.line_view import LineView
from .contents import Cuts, begin
from .diff_layout import DiffLayout, HunkClicked, HunkMoved
from .diff_view import DiffView
from .highlighting import Highlighter
from .line_colours import Colours
from .load_diff import Begin, DiffFeed
from .renderer import DiffRenderer, HunkMark, Lines
from .unified import begin_text

if TYPE_CHECKING:
    from .diff_rows import Diff, DiffPart, Hunk, Row

SPLIT_FROM = 120
"""Width of the pane, in cells, from which it shows both sides side by side: each has 52 cells for code then."""
_MOST_BYTES = 1_000_000
"""Size of a change up to which it is read before the next paint. A larger one is read in a thread."""
_MANY_ROWS = 50_000
_CHOSEN_SPLIT: WeakKeyDictionary[App[object], bool] = WeakKeyDictionary()
"""Whether the person chose two columns, for all panes of the app."""


_UNCHANGED = (" ", "fold", "open")
"""Kinds of rows that show nothing that would change."""


class DiffPane(LineView):
    """Line numbers, colours, changed words. Long lines wrap, nothing is cut. Only visible rows are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "next_hunk", "next hunk", show=False, id="diff.next_hunk"),
        Binding("left_square_bracket", "previous_hunk", "previous hunk", show=False, id="diff.previous_hunk"),
        Binding("f", "full", "whole file", show=False, id="diff.full"),
        Binding("v", "split", "side by side", show=False, id="diff.split"),
        Binding("o,enter", "unfold", "unchanged lines", show=False, id="diff.unfold"),
    ]
    stack = SparseStack

    class Begun(Message):
        """The first rows of a long change are visible; `Ready` follows when it is compared to its end."""

    class Ready(Message):
        """The whole change was compared and is visible."""

        def __init__(self, diff: Diff) -> None:
            super().__init__()
            self.diff = diff

    class EndSeen(Message):
        """The last row became visible."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._view = DiffView()
        self._layout = DiffLayout(self, self._view)
        self._loader = _Loader(self)
        self._highlighter = Highlighter(self)
        self._end_seen = False

    def show_change(self, path: str, before: bytes | None, after: bytes | None, cuts: Cuts | None = None) -> None:
        """Show the change from one content to another (None if there is no file), with hunks split at the cuts."""
        self._load(partial(begin, path, before, after, cuts), len(before or b"") + len(after or b""))

    def show_unified(self, path: str, text: str) -> None:
        """Show a unified diff of one file."""
        self._load(partial(begin_text, path, text), len(text))

    @property
    def renderer(self) -> DiffRenderer | None:
        """What draws the rows, or None if nothing is known of the change yet."""
        return self._view.renderer

    @property
    def diff(self) -> Diff | None:
        """The diff that is shown, or None until it is complete."""
        return self._view.diff

    @property
    def hunks(self) -> list[Hunk]:
        """The hunks that are known so far."""
        return self._view.hunks

    @property
    def current(self) -> int:
        """Index of the current hunk."""
        return self._view.current

    @property
    def end_seen(self) -> bool:
        """Whether the last row was visible at least once since this change is shown."""
        return self._end_seen

    @property
    def shows_end(self) -> bool:
        """Whether the last row with a change is visible now, and no more rows will come."""
        if self.diff is None or not self.lines or len(self.lines) > self.size.height:
            return False
        item, part, row = self.lines[-1].place
        parts = self.parts(item)
        is_last = part == len(parts) - 1 and row == len(parts[-1].rows) - 1
        rows = self._view.rows
        last = next((at for at in range(len(rows) - 1, -1, -1) if rows[at].kind not in _UNCHANGED), -1)
        return is_last and (
            item >= last or self.heights.before(item + 1) == self.heights.total
        )  # split: in the other column

    @property
    def is_split(self) -> bool:
        """Whether old and new are side by side: as the person chose, otherwise if the pane is wide enough for both."""
        return self._splits(self.renderer)

    def _splits(self, renderer: DiffRenderer | None) -> bool:
        is_one_sided = renderer is not None and renderer.diff.is_one_sided
        return _CHOSEN_SPLIT.get(self.owner, self.size.width >= SPLIT_FROM and not is_one_sided)

    def mark_hunk(self, hunk: int, mark: HunkMark | None) -> None:
        """Draw `◉` or `○` before a hunk's name, or nothing. A skipped hunk is drawn dim."""
        if mark is None:
            self._view.marks.pop(hunk, None)
        else:
            self._view.marks[hunk] = mark
        if 0 <= hunk < len(self.hunks):
            self.forget(self.hunks[hunk].row)
            self.repaint()
            self.refresh_row(0)  # its title may cover it

    def mark_hunks(self, marks: Mapping[int, HunkMark]) -> None:
        """Replace the marks of all hunks."""
        self._view.marks = dict(marks)
        self.forget(0)
        self.repaint()

    @property
    def marks_current(self) -> bool:
        """Whether the title of the current hunk is visible, so that a key for the current hunk means it."""
        return self._layout.marks_current

    def go_to_hunk(self, hunk: int) -> None:
        """Make a hunk the current one and scroll to it."""
        if 0 <= hunk < len(self.hunks):
            self.make_current(hunk)
            self._layout.go_to_hunk(hunk)

    def scroll_to_change(self) -> None:
        """If the first hunk begins with a very long line, scroll to what changed in it, unless the person scrolled."""
        begins_with_note = "note" in [row.kind for row in self._view.rows[:2]]
        if self.lines and self.lines[0].place == Place(0) and self.hunks and not begins_with_note:
            self._layout.go_to_change(0)

    def action_next_hunk(self) -> None:
        """Go to the hunk below."""
        self.go_to_hunk(self.current + 1)

    def action_previous_hunk(self) -> None:
        """Go to the hunk above."""
        self.go_to_hunk(self.current - 1)

    def action_scroll_home(self) -> None:
        """Scroll to the first line and make the first hunk the current one."""
        super().action_scroll_home()
        self.make_current(0)

    def action_scroll_end(self) -> None:
        """Scroll to the last line and make the last hunk the current one."""
        super().action_scroll_end()
        self.make_current(len(self.hunks) - 1)

    def moved(self) -> None:
        """Keep the current hunk while it is in the upper part, else choose the nearest one that is visible."""
        hunk = self._layout.nearest_hunk()
        if hunk is not None:
            self.make_current(hunk)

    def make_current(self, hunk: int) -> None:
        """Make a hunk the current one without scrolling."""
        changed = self._view.make_current(hunk)
        if changed:
            for row in changed:
                self.redraw(row)
            self.repaint()
            self.refresh_row(0)  # the title of the current hunk may cover it
            self.post_message(HunkMoved(hunk))

    def action_split(self) -> None:
        """Change between one column and two. All panes of the app keep to it from now on."""
        _CHOSEN_SPLIT[self.owner] = not self.is_split
        self.reshaped()
        self.post_message(HunkMoved(self.current))  # the owner names what the key does next

    def reshaped(self) -> None:
        """Change the number of columns if the size of the pane asks for it. The current hunk stays visible."""
        was_marked = self.marks_current
        self._layout.arrange(split=self.is_split)
        if was_marked:
            self.call_after_refresh(self._return_to_current)

    def _return_to_current(self) -> None:
        if not self.marks_current:
            self.go_to_hunk(self.current)

    def action_full(self) -> None:
        """Show the whole file around the changes, or only the lines near them. Needs both contents."""
        self._layout.toggle_all_folds()

    def action_unfold(self) -> None:
        """Show the unchanged lines above and below the current hunk, or fold them again."""
        if self.diff is not None:
            self._layout.toggle_near_folds()

    def close_folds(self) -> bool:
        """Fold the unchanged lines that were unfolded. Return False if there are none."""
        return self._layout.close_all_folds()

    @on(events.Click)
    def _clicked(self, event: events.Click) -> None:
        if self.renderer is None or not 0 <= event.y < len(self.lines) or event.x >= self.size.width - 1:
            return
        row = self.lines[event.y].place.item
        if event.y == 0 and self._layout.has_title_above:
            self.post_message(HunkClicked(self.current, is_title=True))
        elif row < len(self._view.rows) and self._view.rows[row].kind in ("fold", "open"):
            self._layout.toggle_fold(row)
        elif (hunk := self._view.hunk_at(row)) is not None:
            self.post_message(HunkClicked(hunk, is_title=self.hunks[hunk].row == row))

    def build(self, item: int) -> list[Part]:
        """Return the parts of one row of the diff."""
        if self.renderer is None:
            return [Part(lambda: [to_strip([(" comparing…", self.palette.dim)])], 1)]
        options = self._view.options(self.text_width, self.palette)
        return [Part(partial(_strips, draw), guess) for draw, guess in self.renderer.parts(item, options)]

    def overlay(self, y: int, strip: Strip) -> Strip:
        """Draw the title of the current hunk over the first row, and `more below` over the last one.

        The title is drawn while it is above the first row, `more below` until the end was visible.
        """
        if y == 0 and self._layout.has_title_above:
            title = to_strip(self._view.title(self.text_width, self.palette))
            return title.adjust_cell_length(strip.cell_length, self.ground).apply_style(self.ground)
        if y != self.size.height - 1 or self._end_seen or not self.lines:
            return strip
        words = "  more below ↓ "
        return Strip.join(
            [
                strip.crop(0, max(0, strip.cell_length - len(words))),
                Strip([Segment(words, self.ground + self.palette.cursor)]),
            ]
        )

    def painted(self) -> None:
        """Ask for the colours of the visible rows, and remember whether the end was visible."""
        self._highlighter.highlight_visible()
        if not self._end_seen and self.shows_end:
            self._end_seen = True
            self.refresh_row(self.size.height - 1)
            self.post_message(self.EndSeen())

    def _load(self, change: Begin, size: int) -> None:
        self._highlighter.stop()
        self._view.clear()
        self._end_seen = False
        self._loader.load(change, size)

    def show_waiting(self) -> None:
        """Show that no row is known yet."""
        self._layout.show_waiting()

    def open_diff(self, diff: Diff) -> None:
        """Show the first rows."""
        renderer = DiffRenderer(diff, Colours(diff.path))
        self._layout.open(renderer, split=self._splits(renderer))
        self._highlighter.start(renderer)
        if not diff.complete:
            self.post_message(self.Begun())

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add rows below the others."""
        self._layout.add(rows)

    def finish(self, diff: Diff) -> None:
        """Show that all rows are known."""
        self._view.find_near_folds()
        self.redraw_visible()
        self.post_message(self.Ready(diff))

    @on(events.Unmount)
    def _stop(self) -> None:
        self._loader.stop()
        self._highlighter.stop()


class _Loader:
    """Loads one change at a time: its first rows before the next paint, the rest in threads.

    The results of a change are dropped once the next one is loaded.
    """

    def __init__(self, pane: DiffPane) -> None:
        self._pane = pane
        self._request = 0
        """Number of the newest change; threads that work for an earlier one are ignored."""

    def load(self, begin: Begin, size: int) -> None:
        """Load a change of `size` bytes."""
        self._request += 1
        if size <= _MOST_BYTES:
            feed = DiffFeed(*begin())
            self._open(feed, *feed.first())
        else:
            self._pane.show_waiting()
            self._pane.run_worker(self._open_later(self._request, begin), exit_on_error=False)

    def stop(self) -> None:
        """Ignore what threads return from now on."""
        self._request += 1

    def _is_wanted(self, request: int) -> bool:
        return request == self._request and self._pane.is_attached

    async def _open_later(self, request: int, begin: Begin) -> None:
        def first() -> tuple[DiffFeed, list[DiffPart], bool]:
            feed = DiffFeed(*begin())
            return feed, *feed.first()

        found = await asyncio.to_thread(first)
        if self._is_wanted(request):
            self._open(*found)

    def _open(self, feed: DiffFeed, first: list[DiffPart], is_all: bool) -> None:
        feed.diff.add(first)
        feed.diff.complete = is_all
        self._pane.open_diff(feed.diff)
        if is_all:
            self._pane.finish(feed.diff)
        else:
            self._pane.run_worker(self._read_rest(self._request, feed), exit_on_error=False)

    async def _read_rest(self, request: int, feed: DiffFeed) -> None:
        diff, is_all = feed.diff, False
        while not is_all:
            stretches, is_all = await asyncio.to_thread(feed.more, lambda: self._is_wanted(request))
            if not self._is_wanted(request):
                return
            count = len(diff.rows)
            diff.add(stretches)
            self._pane.add_rows(diff.rows[count:])
        diff.complete = True
        if len(diff.rows) > _MANY_ROWS:
            gc.freeze()  # a collection that visits half a million rows takes 30 ms
        self._pane.finish(diff)


def _strips(draw: Callable[[], Lines]) -> list[Strip]:
    return [to_strip(line) for line in draw()]
