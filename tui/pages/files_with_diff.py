"""A list of files over the whole screen, with the diff of the marked one below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ..diff.diff_pane import DiffPane
from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce, Result
from ..keys.screen_keymap import keymap_of
from .picker_rows import PickList, PickRow

_MOST_ROWS = 8
"""Number of rows of the list; with more files it scrolls."""
CLOSE = ("close_dialog", "back")


class FilesWithDiff(ClosesOnce[Result], ModalScreen[Result]):
    """The base of pages about files: words, the list, the diff and the keys."""

    DEFAULT_CSS = """
    FilesWithDiff { background: $background; }
    FilesWithDiff > Vertical { padding: 0 1; }
    FilesWithDiff Static { height: auto; }
    FilesWithDiff #rule { height: 1; color: $dim 40%; }
    FilesWithDiff DiffPane { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.list: PickList[str] = PickList()
        self.diff = DiffPane()
        self.diff.can_focus = False
        self.head, self.foot = Static("", markup=False), Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Yield the words, the list, the diff and the keys."""
        with Vertical():
            yield self.head
            yield self.list
            yield Static("", id="rule", markup=False)
            yield self.diff
            yield self.foot

    def on_resize(self) -> None:
        """Fit the lines to the new size."""
        self.draw()

    def draw(self) -> None:
        """Update the list, the diff and the words around them."""
        raise NotImplementedError

    def set_files(self, rows: Sequence[PickRow[str]]) -> None:
        """Show these rows; the marked one stays marked."""
        self.list.set_rows(rows, self.list.marked)
        self.list.styles.height = max(1, min(len(rows), _MOST_ROWS, self.size.height // 3))

    def set_foot(self, keys: Sequence[tuple[str, str]], *lines: Content) -> None:
        """Show the keys, each action with its label, below these lines."""
        room = max(20, self.size.width - 2)
        foot = keymap_of(self).foot(*keys, style="bold $needs-you", about="$foreground", width=room)
        self.foot.update(Content("\n").join([*lines, foot]))

    def scroll_by(self, name: str) -> bool:
        """Scroll the diff by the action of a key. Return False for another action."""
        scroll = self._scrolls().get(name)
        if scroll is not None:
            scroll()
        return scroll is not None

    def _scrolls(self) -> dict[str, Callable[[], None]]:
        pane = self.diff
        return {
            "scroll_page_up": pane.action_page_up,
            "scroll_page_down": pane.action_page_down,
            "changes_page": pane.action_page_down,
            "scroll_start": pane.action_scroll_home,
            "scroll_end": pane.action_scroll_end,
            "changes_next": pane.action_next_hunk,
            "changes_previous": pane.action_previous_hunk,
            "changes_split": pane.action_split,
            "changes_around": pane.action_unfold,
        }

    def on_hunk_moved(self) -> None:
        """Name what the keys of the diff do now."""
        self.draw()

    on_diff_pane_ready = on_hunk_moved

    def on_pick_list_picked(self) -> None:
        """Show the diff of the clicked file."""
        self.draw()

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key, or show the diff of the row that a click marked."""
        press_clicked_key(self, event)
        self.call_after_refresh(self.draw)
