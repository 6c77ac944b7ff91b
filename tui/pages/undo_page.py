"""Show the changes that would be undone, and ask for confirmation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import RecordedChange, plural

from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of
from ..text.shorten_cells import cells_cut, cells_fit
from ..text.show_text import one_line, path_line
from .page_size import inner_width

MOST = 10
"""Number of changes that are listed."""
TITLE = 40
"""Width of a change's name."""
WIDTH = 72
_FILES, _STEP = 12, 10
"""Width of the columns after the name."""
_CHROME = 12
"""Rows of the dialog that are not changes."""


class UndoScreen(ClosesOnce[bool], ModalScreen[bool]):
    """Returns whether the person confirmed."""

    DEFAULT_CSS = """
    UndoScreen { align: center middle; background: $background; }
    UndoScreen Vertical { width: 72; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    UndoScreen Static { height: auto; }
    """

    def __init__(self, changes: Sequence[RecordedChange], step: int | None) -> None:
        """`changes`: oldest first."""
        super().__init__()
        self._changes, self._step = changes, step
        self._seen_at = float("inf")
        self._page = Static("", markup=False)

    def on_mount(self) -> None:
        """Ignore keys that were pressed before the dialog was painted."""
        self.call_after_refresh(self._see)

    def on_resize(self) -> None:
        """Fit the rows to the new size."""
        self._page.update(Content("\n").join(self._rows()))

    def _see(self) -> None:
        self._seen_at = Message().time

    def compose(self) -> ComposeResult:
        """Yield the changes, the newest first, and two answers."""
        with Vertical():
            yield self._page

    def on_key(self, event: events.Key) -> None:
        """Undo, or cancel."""
        keymap = keymap_of(self)
        name = keymap.action_of(event.key, "dialog")
        if name == "answer_yes":
            event.stop()
            if event.time > self._seen_at:
                self.dismiss(True)
        elif name == "answer_no" or keymap.closes(event.key):
            event.stop()
            self.dismiss(False)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked answer."""
        press_clicked_key(self, event)

    def _rows(self) -> Iterator[Content]:
        files = len({path for change in self._changes for path in change.files})
        counts = plural(len(self._changes), "change") + (f" in {plural(files, 'file')}" if files else "")
        head = (
            f"Undo {counts}?" if self._step is None else f"Restore the state before step {self._step}: undo {counts}?"
        )
        yield Content.styled(head, "bold $bright")
        yield Content("")
        room, width = max(1, self.size.height - _CHROME), inner_width(self.size.width, WIDTH)
        shown = [*reversed(self._changes)][: min(MOST, room)]
        proven = sum(change.effects is not None for change in shown)
        lines = (room - len(shown)) // max(1, proven)
        for change in shown:
            yield _row(change, width)
            yield from _what(change, lines, width)
        if len(self._changes) > len(shown):
            yield Content.styled(f"  … and {plural(len(self._changes) - len(shown), 'older change')}", "$dim")
        yield Content("")
        left = "Later changes by others are kept."
        if any(change.command is not None and change.effects is None for change in self._changes):
            left += " Files that git ignores, and files elsewhere, are not restored."
        if built := [words for change in self._changes if change.effects is not None for words in change.effects.built]:
            left += f" This stays: {one_line('; '.join(built))}."
        yield Content.styled(left, "$dim")
        yield Content("")
        yield from keymap_of(self).answers(("answer_yes", "undo"), ("close_dialog", "cancel"))


def _row(change: RecordedChange, width: int) -> Content:
    column = max(8, min(TITLE, width - 2 - _FILES - _STEP))
    title = cells_fit(one_line(change.title), column)
    files = "" if change.command is None or not change.files else plural(len(change.files), "file")
    step = "" if change.step is None else f"step {change.step}"
    return Content.assemble(f"  {title}", (f"{files:>{_FILES}}{step:>{_STEP}}", "$dim"))


def _what(change: RecordedChange, most: int, width: int) -> Iterator[Content]:
    """Yield what a command changed, in at most `most` lines: this is undone, and nothing else."""
    if change.effects is None:
        return
    parts = [*(path_line(path) for path in change.files), *(one_line(words) for words in change.effects.also)]
    shown = parts if len(parts) <= most else parts[: max(0, most - 1)]
    for part in shown:
        yield Content.styled(f"    {cells_cut(part, width - 4)}", "$dim")
    if len(parts) > len(shown) and most > 0:
        yield Content.styled(f"    … and {len(parts) - len(shown):,} more", "$dim")
