"""Ask before the changes of a run are committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import RundryError, plural

from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of
from ..keys.user_editor import edit_text
from ..text.show_text import path_line, show

if TYPE_CHECKING:
    from ..control.commit_changes import Commit

_MOST = 8
"""Number of files that are listed."""
_LINES = 10
"""Number of lines of the message that are shown."""
_CHROME = 11
"""Rows of the dialog that are neither the message nor files."""


class CommitScreen(ClosesOnce[bool], ModalScreen[bool]):
    """Returns whether the person wants the commit."""

    DEFAULT_CSS = """
    CommitScreen { align: center middle; background: $background; }
    CommitScreen Vertical {
        width: 76; max-width: 96%; max-height: 96%; height: auto; padding: 1 2; background: $surface;
    }
    CommitScreen Static { height: auto; }
    """

    def __init__(self, commit: Commit) -> None:
        super().__init__()
        self._commit = commit
        self._seen_at = float("inf")

    def compose(self) -> ComposeResult:
        """Yield the message, the files and the keys."""
        with Vertical():
            yield Static(self._words(), markup=False)

    def on_mount(self) -> None:
        """Ignore keys that were pressed before the dialog was painted."""
        self.call_after_refresh(self._see)

    def _see(self) -> None:
        self._seen_at = Message().time

    def on_key(self, event: events.Key) -> None:
        """Commit, edit the message, or cancel."""
        keymap = keymap_of(self)
        name = keymap.action_of(event.key, "dialog", "commit")
        if name in ("answer_yes", "commit_edit") and event.time <= self._seen_at:
            event.stop()
        elif name == "answer_yes":
            event.stop()
            self.dismiss(True)
        elif name == "commit_edit":
            event.stop()
            self._edit_message()
        elif name == "answer_no" or keymap.closes(event.key):
            event.stop()
            self.dismiss(False)

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def _edit_message(self) -> None:
        try:
            edited = edit_text(cast("App[object]", self.app), self._commit.message, "commit.txt")
        except RundryError as error:
            self.query_one(Static).update(Content("\n\n").join([self._words(), Content.styled(str(error), "$error")]))
            return
        self._commit.message = edited if edited is not None and edited.strip() else self._commit.message
        self.query_one(Static).update(self._words())

    def on_resize(self) -> None:
        """Fit the rows to the new height."""
        self.query_one(Static).update(self._words())

    def _words(self) -> Content:
        files, room = self._commit.files, max(4, self.size.height - _CHROME)
        listed = max(1, min(_MOST, len(files), room // 2))
        lines = self._commit.message.strip().split("\n")[: max(1, min(_LINES, room - listed - 1))]
        rows = [Content.styled(f"Commit {plural(len(files), 'file')}?", "bold $bright"), Content("")]
        rows += [Content(f"  {show(line)}") for line in lines]
        rows.append(Content(""))
        rows += [Content.styled(f"  {path_line(path)}", "$dim") for path in files[:listed]]
        if len(files) > listed:
            rows.append(Content.styled(f"  … and {len(files) - listed} more", "$dim"))
        rows += [Content(""), Content.styled("Only these files. Hooks of the repository run.", "$dim"), Content("")]
        rows += keymap_of(self).answers(
            ("answer_yes", "commit"), ("commit_edit", "edit the message in $EDITOR"), ("close_dialog", "cancel")
        )
        return Content("\n").join(rows)
