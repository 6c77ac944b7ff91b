"""The files that the run changed: a list, the diff of the marked one, and undo for each or for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content

from rundry.agent import RundryError, RunFile, Undo, plural

from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line, path_line
from .files_with_diff import CLOSE, FilesWithDiff
from .picker_rows import PickRow

if TYPE_CHECKING:
    from ..control.run_controller import RunController

_COUNTS, _WHO = 9, 15
"""Width of the column with the counts, and least width for who decided."""
_LOOK_AGAIN = 0.3
"""Seconds between two looks at the journal."""
EMPTY = "No file was changed yet. Each file that a model or a command changes is listed here, with its diff"
_UNDO = (("undo_file", "undo file"), ("undo_files", "undo all"))
_KEYS = (
    CLOSE,
    ("scroll_page_down", "scroll"),
    ("changes_next changes_previous", "hunk"),
)


class ChangesScreen(FilesWithDiff[None]):
    """The dialog, over the whole screen. Esc closes it."""

    def __init__(self, controller: RunController, only: frozenset[str] | None) -> None:
        """`only`: show these files, or None for all files of the run."""
        super().__init__()
        self._controller, self._only = controller, only
        self._can_undo = not controller.is_read_only
        self._files: Sequence[RunFile] = ()
        self._sizes: dict[str, tuple[int, int]] = {}
        """Added and removed lines, by path."""
        self._shown: RunFile | None = None
        self._asked = ""
        """The key whose action was announced, and is carried out when it is pressed again."""
        self._said = ""
        self._seen_seq = -1

    def on_mount(self) -> None:
        """Show the files, and look for changes."""
        self.look_for_changes()
        self.set_interval(_LOOK_AGAIN, self.look_for_changes)

    def look_for_changes(self) -> None:
        """Show what is new in the journal."""
        seq = self._controller.state.last_seq
        if seq == self._seen_seq:
            return
        self._seen_seq = seq
        if not self._asked:
            self._said = ""
        try:
            files = self._controller.reader.changed_files()
            self._files = [file for file in files if self._only is None or file.path in self._only]
            self._sizes = {file.path: self._count_lines(file) for file in self._files}
        except RundryError as error:
            self._said = str(error)
        self.draw()

    def _count_lines(self, file: RunFile) -> tuple[int, int]:
        from rundry.agent import compare_contents  # the gate costs ~15 ms to import

        sides = compare_contents(self._controller.content(file.before), self._controller.content(file.after))
        hunks = [] if sides is None else list(sides.compare())
        return sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks)

    @property
    def marked(self) -> RunFile | None:
        """The file whose diff is shown."""
        return next((file for file in self._files if file.path == self.list.marked), None)

    def draw(self) -> None:
        """Update the list, the diff and the footer."""
        standing = [file for file in self._files if not file.is_undone]
        sizes = [self._sizes[file.path] for file in standing]
        counts = f"+{sum(added for added, _ in sizes)} −{sum(removed for _, removed in sizes)}"
        title = f"{plural(len(standing), 'changed file')}   {counts}" if self._files else "Changed files"
        head = Content.styled(title, "bold $bright")
        empty = EMPTY + (" and undo." if self._can_undo else ".")
        self.head.update(head if self._files else Content("\n\n").join([head, Content.styled(empty, "$dim")]))
        width = max(20, self.size.width - 4)
        longest = max((len(path_line(file.path)) for file in self._files), default=0)
        column = min(longest, max(12, width - _COUNTS - 5 - _WHO))
        rows = [PickRow(_row(file, self._sizes[file.path], column, width), file.path) for file in self._files]
        self.set_files(rows)
        self._show_diff()
        columns = ("changes_split", "unified" if self.diff.is_split else "side by side")
        words = [*(_UNDO if self._can_undo else ()), *_KEYS, columns] if self._files else [CLOSE]
        marked = self.marked
        kept = f"{path_line(marked.path)} was not undone: {marked.kept}" if marked is not None and marked.kept else ""
        told = self._said or kept
        said = [Content.styled(one_line(told), "$verdict-partly")] if told else []
        self.set_foot(words, *said)

    def _show_diff(self) -> None:
        file = self.marked
        if file is None or file == self._shown:
            self.diff.display = file is not None
            return
        self._shown, self.diff.display = file, True
        try:
            self.diff.show_change(
                file.path, self._controller.content(file.before), self._controller.content(file.after)
            )
        except RundryError as error:
            self._said = str(error)

    def on_key(self, event: events.Key) -> None:
        """Move, scroll, undo or close."""
        keymap, key = keymap_of(self), event.key
        name = keymap.action_of(key, "changes", "scroll")
        if self._asked and keymap.action_of(key, "dialog") == "close_dialog":
            self._ask("", "")
        elif keymap.closes(key):
            self.dismiss(None)
        elif name in ("undo_file", "undo_files"):
            if self._can_undo:
                self._undo_pressed(name)
        elif self.scroll_by(name):
            pass
        elif self.list.press(key):
            self._ask("", "")
        else:
            return
        event.stop()
        event.prevent_default()

    def _undo_pressed(self, name: str) -> None:
        """Ask first; on the second press undo the selected file, or all that is not undone."""
        key = keymap_of(self).shown(name)
        file, standing = self.marked, [file for file in self._files if not file.is_undone]
        chosen = standing if name == "undo_files" else [file] if file is not None and not file.is_undone else []
        if not chosen:
            self._ask("", "nothing is left to undo here")
            return
        paths = ", ".join(path_line(each.path) for each in chosen)
        if self._asked != f"{key} {paths}":
            self._ask(f"{key} {paths}", f"{key} again undoes {paths}; later changes by others are kept")
            return
        try:
            for each in chosen:
                self._controller.put_anywhere(Undo(path=each.path, confirmed=[each.path]))
        except RundryError as error:
            self._ask("", str(error))
            return
        self._ask("", f"undoing {paths}")

    def _ask(self, asked: str, said: str) -> None:
        self._asked, self._said = asked, said
        self.draw()


def _row(file: RunFile, size: tuple[int, int], path_width: int, width: int) -> Content:
    """Return `src/calc.py  +3 −1  approved by you`, in columns."""
    counts = "undone" if file.is_undone else f"+{size[0]} −{size[1]}"
    path, who = path_line(file.path), "not undone" if file.kept else one_line(file.who)
    path = path if len(path) <= path_width else f"…{path[len(path) - path_width + 1 :]}"
    room = max(0, width - path_width - _COUNTS - 5)
    who = who if len(who) <= room else f"{who[: max(0, room - 1)]}…"
    style = "$dim" if file.is_undone else "$foreground"
    return Content.assemble((f"{path:<{path_width}}", style), (f"  {counts:>{_COUNTS}}   {who}", "$dim"))
