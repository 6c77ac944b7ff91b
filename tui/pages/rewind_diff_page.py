"""What a rewind would change: the files with their diffs, and those that stay. The person confirms it here."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.message import Message

from rundry.agent import RundryError, plural

from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line, path_line
from .files_with_diff import CLOSE, FilesWithDiff
from .picker_rows import PickRow

if TYPE_CHECKING:
    from rundry.agent import FileBack, RewindPreview

_KEYS = (
    ("answer_yes", "rewind"),
    CLOSE,
    ("mark_up mark_down", "file"),
    ("scroll_page_down", "scroll"),
    ("changes_next changes_previous", "hunk"),
)


class RewindDiffScreen(FilesWithDiff[bool]):
    """Over the whole screen. Returns whether the person confirmed."""

    def __init__(self, title: str, preview: Awaitable[RewindPreview]) -> None:
        """`title`: the point, in words. `preview`: what would change. It is awaited once, and can raise RundryError."""
        super().__init__()
        self._title, self._awaited = title, preview
        self._preview: RewindPreview | None = None
        self._told = "comparing the files"
        self._files: dict[str, FileBack] = {}
        self._shown: FileBack | None = None
        self._seen_at = float("inf")

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

    @property
    def marked(self) -> FileBack | None:
        """The file whose diff is shown."""
        return None if self.list.marked is None else self._files[self.list.marked]

    def draw(self) -> None:
        """Update the list, the diff and the words around them."""
        known, back = self._preview, sum(not file.stays for file in self._files.values())
        stay = len(self._files) - back
        counts = [f"restores {plural(back, 'file')}", *([f"leaves {plural(stay, 'file')}"] if stay else [])]
        told = self._told if known is None else ", ".join(counts)
        also = [] if known is None else [f"also undone: {one_line(words)}" for words in known.also]
        head = Content.styled(one_line(self._title), "bold $bright")
        self.head.update(Content("\n").join([head, *(Content.styled(line, "$dim") for line in [told, *also])]))
        rows = [PickRow(_row(file), number) for number, file in self._files.items()]
        self.set_files(rows)
        self._show_diff()
        words = "The journal keeps everything; the spend is not restored."
        self.set_foot(_KEYS if known is not None else [CLOSE], Content.styled(words, "$dim"))

    def _show_diff(self) -> None:
        file = self.marked
        self.diff.display = file is not None and not file.stays and not file.note
        if file is None or file is self._shown or not self.diff.display:
            return
        self._shown = file
        self.diff.show_change(file.path, file.now, file.then)

    def on_key(self, event: events.Key) -> None:
        """Rewind, go back to the list of points, move or scroll."""
        keymap, key = keymap_of(self), event.key
        answer = keymap.action_of(key, "dialog")
        if answer == "answer_yes":
            if event.time > self._seen_at:
                self.dismiss(True)
        elif answer == "answer_no" or keymap.closes(key):
            self.dismiss(False)
        elif self.scroll_by(keymap.action_of(key, "changes", "scroll")):
            pass
        elif self.list.press(key):
            self.draw()
        else:
            return
        event.stop()
        event.prevent_default()


def _row(file: FileBack) -> Content:
    path = path_line(file.path)
    if file.stays:
        return Content.assemble((path, "$dim"), (f"   stays: {one_line(file.stays)}", "$verdict-partly"))
    what = file.note or ("deleted" if file.then is None else "made again" if file.now is None else "")
    return Content.assemble(path, (f"   {one_line(what)}" if what else "", "$dim"))
