"""What a rewind would change: the files with their diffs, and those that stay. The person confirms it here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import RundryError, plural

from ..diff.diff_pane import DiffPane
from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line, path_line
from .picker_rows import PickList, PickRow

if TYPE_CHECKING:
    from rundry.agent import FileBack, RewindPreview

_MOST_ROWS = 8
"""Number of rows of the list; with more files it scrolls."""
_CLOSE = ("close_dialog", "back")
_KEYS = (
    ("answer_yes", "rewind"),
    _CLOSE,
    ("mark_up mark_down", "file"),
    ("scroll_page_down", "scroll"),
    ("changes_next changes_previous", "hunk"),
)


class RewindDiffScreen(ClosesOnce[bool], ModalScreen[bool]):
    """Over the whole screen. Returns whether the person confirmed."""

    DEFAULT_CSS = """
    RewindDiffScreen { background: $background; }
    RewindDiffScreen > Vertical { padding: 0 1; }
    RewindDiffScreen Static { height: auto; }
    RewindDiffScreen #rule { height: 1; color: $dim 40%; }
    RewindDiffScreen DiffPane { height: 1fr; }
    """

    def __init__(self, title: str, preview: Awaitable[RewindPreview]) -> None:
        """`title`: the point, in words. `preview`: what would change. It is awaited once, and can raise RundryError."""
        super().__init__()
        self._title, self._awaited = title, preview
        self._preview: RewindPreview | None = None
        self._told = "comparing the files"
        self._files: dict[str, FileBack] = {}
        self._list: PickList[str] = PickList()
        self._diff = DiffPane()
        self._diff.can_focus = False
        self._head, self._foot = Static("", markup=False), Static("", markup=False)
        self._shown: FileBack | None = None
        self._seen_at = float("inf")

    def compose(self) -> ComposeResult:
        """Yield the point, the files, the diff of the marked one, and the keys."""
        with Vertical():
            yield self._head
            yield self._list
            yield Static("", id="rule", markup=False)
            yield self._diff
            yield self._foot

    def on_mount(self) -> None:
        """Compare the files, and ignore keys that were pressed before the result was painted."""
        self.draw()
        self.run_worker(self._show())

    async def _show(self) -> None:
        try:
            self._preview = await self._awaited
        except RundryError as error:
            self._told = str(error)
        else:
            self._files = {str(number): file for number, file in enumerate(self._preview.files)}
            self.call_after_refresh(self._see)
        self.draw()

    def _see(self) -> None:
        self._seen_at = Message().time

    def on_resize(self) -> None:
        """Fit the lines to the new size."""
        self.draw()

    @property
    def marked(self) -> FileBack | None:
        """The file whose diff is shown."""
        return None if self._list.marked is None else self._files[self._list.marked]

    def draw(self) -> None:
        """Update the list, the diff and the words around them."""
        known, back = self._preview, sum(not file.stays for file in self._files.values())
        stay = len(self._files) - back
        counts = [f"restores {plural(back, 'file')}", *([f"leaves {plural(stay, 'file')}"] if stay else [])]
        told = self._told if known is None else ", ".join(counts)
        also = [] if known is None else [f"also undone: {one_line(words)}" for words in known.also]
        head = Content.styled(one_line(self._title), "bold $bright")
        self._head.update(Content("\n").join([head, *(Content.styled(line, "$dim") for line in [told, *also])]))
        rows = [PickRow(_row(file), number) for number, file in self._files.items()]
        self._list.set_rows(rows, self._list.marked)
        self._list.styles.height = max(1, min(len(rows), _MOST_ROWS, self.size.height // 3))
        self._show_diff()
        words = "The journal keeps everything; the spend is not restored."
        shown = _KEYS if known is not None else [_CLOSE]
        keys = keymap_of(self).foot(
            *shown, style="bold $needs-you", about="$foreground", width=max(20, self.size.width - 2)
        )
        self._foot.update(Content("\n").join([Content.styled(words, "$dim"), keys]))

    def _show_diff(self) -> None:
        file = self.marked
        self._diff.display = file is not None and not file.stays and not file.note
        if file is None or file is self._shown or not self._diff.display:
            return
        self._shown = file
        self._diff.show_change(file.path, file.now, file.then)

    def on_key(self, event: events.Key) -> None:
        """Rewind, go back to the list of points, move or scroll."""
        keymap, key = keymap_of(self), event.key
        answer = keymap.action_of(key, "dialog")
        if answer == "answer_yes":
            if event.time > self._seen_at:
                self.dismiss(True)
        elif answer == "answer_no" or keymap.closes(key):
            self.dismiss(False)
        elif (scroll := self._scrolls().get(keymap.action_of(key, "changes", "scroll"))) is not None:
            scroll()
        elif self._list.press(key):
            self.draw()
        else:
            return
        event.stop()
        event.prevent_default()

    def _scrolls(self) -> dict[str, Callable[[], None]]:
        pane = self._diff
        return {
            "scroll_page_up": pane.action_page_up,
            "scroll_page_down": pane.action_page_down,
            "changes_page": pane.action_page_down,
            "changes_next": pane.action_next_hunk,
            "changes_previous": pane.action_previous_hunk,
            "changes_split": pane.action_split,
            "changes_around": pane.action_unfold,
        }

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key, or show the diff of the row that a click marked."""
        press_clicked_key(self, event)
        self.call_after_refresh(self.draw)


def _row(file: FileBack) -> Content:
    path = path_line(file.path)
    if file.stays:
        return Content.assemble((path, "$dim"), (f"   stays: {one_line(file.stays)}", "$verdict-partly"))
    what = file.note or ("deleted" if file.then is None else "made again" if file.now is None else "")
    return Content.assemble(path, (f"   {one_line(what)}" if what else "", "$dim"))
