"""Show what a message carries besides its text: a line above the box for each image that it names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import Mention


class Attachments(Static):
    """The lines for attached images. It never has the focus, and is empty while the message names no image."""

    DEFAULT_CSS = """
    Attachments { height: auto; max-height: 9; padding: 0 1; display: none; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._shown: Sequence[tuple[str, str]] = ()
        self._named: Sequence[Mention] = ()

    def show_images(self, text: str, root: Path | None) -> None:
        """Show what this text attaches. `root`: where its relative paths start, or None if it attaches nothing."""
        named = _mentioned(text) if root is not None else ()
        if named == self._named:
            return  # the files are read once for each list of names, not for each letter
        self._named = named
        lines = _lines(text, root) if root is not None and named else []
        if lines == self._shown:
            return
        self._shown = lines
        self.update(Content("\n").join(Content.styled(one_line(line), style) for line, style in lines))
        self.display = bool(lines)


def _mentioned(text: str) -> Sequence[Mention]:
    if "@" not in text:
        return ()
    from rundry.agent import mentions  # the message box is shown before they are needed

    return tuple(mentions(text))


def _lines(text: str, root: Path) -> list[tuple[str, str]]:
    from rundry.agent import UserError, attach, size_words

    try:
        images = [one.ref for one in attach(text, root)]
    except UserError as error:
        return [(str(error), "$needs-you")]
    return [(f"attaching {one.label[1:-1]}, {size_words(one.size)}", "$dim") for one in images]
