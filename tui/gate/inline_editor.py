"""Edit the new text in place of the proposal."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from rich.text import Text
from textual import events
from textual.app import App
from textual.message import Message
from textual.widgets import TextArea

from ..diff.code_runs import Piece, lex, lexer_for, painted
from ..keys.joined_keys import do_bound
from ..keys.screen_keymap import keymap_of
from ..text.show_text import show
from ..theme.theme import palette_of

_COLOURED = 30_000
"""Length in characters up to which the text is highlighted after each key, which takes 15 ms."""


class GateEditor(TextArea):
    """The editor. Ctrl+S keeps the text; Esc discards it, and asks first if it was changed."""

    DEFAULT_CSS = """
    GateEditor {
        height: 1fr; border: none; padding: 0 1; background: transparent; color: $foreground;
        &:focus { border: none; background: transparent; }
        scrollbar-size-vertical: 1; scrollbar-background: $background; scrollbar-color: $dim 40%;
        & .text-area--gutter { color: $dim; background: transparent; }
        & .text-area--cursor-gutter { color: $foreground; background: transparent; }
        & .text-area--cursor-line { background: $foreground 6%; }
    }
    """

    class Kept(Message):
        """The person keeps this text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Asked(Message):
        """The person pressed Esc in a changed text; a second Esc discards it."""

    class Dropped(Message):
        """The person left the editor without keeping the text."""

    def __init__(self) -> None:
        super().__init__(id="editor", soft_wrap=True, tab_behavior="indent", show_line_numbers=True, compact=True)
        self.cursor_blink = False
        self._path = ""
        self._begun = ""
        self._is_own = False
        self._asked = False
        self._lexed: list[list[Piece]] = []

    def open(self, path: str, text: str, line: int, *, is_own: bool = False) -> None:
        """Begin with `text` and the cursor at `line` (from 0); `is_own`: it is the person's own, and worth keeping."""
        self._path, self._asked = path, False
        self.indent_type = "tabs" if "\n\t" in text else "spaces"
        self.load_text(text)
        self._begun, self._is_own = self.text, is_own
        self._lex()
        self.move_cursor((min(line, self.document.line_count - 1), 0))
        self.call_after_refresh(self.scroll_cursor_visible, center=True)

    @property
    def is_changed(self) -> bool:
        """Whether the text differs from the one that was opened."""
        return self.text != self._begun

    def keep(self) -> None:
        """Post the text as it is now."""
        self.post_message(self.Kept(self.text) if self.is_changed or self._is_own else self.Dropped())

    def get_line(self, line_index: int) -> Text:
        """Return a line in colours, with one visible character in place of each hidden one."""
        plain = _seen(self.document.get_line(line_index))
        pieces = self._lexed[line_index] if line_index < len(self._lexed) else []
        found = Text(end="", no_wrap=True)
        if "".join(piece for piece, _ in pieces) != plain:
            found.append(plain)
            return found
        for text, style in painted(pieces, palette_of(cast("App[object]", self.app))):
            found.append(text, style)
        return found

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Highlight the text again after a change."""
        event.stop()
        self._lex()

    async def _on_key(self, event: events.Key) -> None:
        if keymap_of(self).action_of(event.key, "line") != "line_drop":
            self._asked = False
            await do_bound(self, event)
            return
        event.stop()
        event.prevent_default()
        self.go_back()

    def go_back(self) -> None:
        """Leave the editor without keeping the text; if it was changed, ask first."""
        if self.is_changed and not self._asked:
            self._asked = True
            self.post_message(self.Asked())
        else:
            self.post_message(self.Dropped())

    def _lex(self) -> None:
        lines = [_seen(line) for line in self.document.lines]
        small = sum(map(len, lines)) <= _COLOURED
        self._lexed = list(lex(lines, lexer_for(self._path))) if small else []


def _seen(line: str) -> str:
    if line.isascii() and line.replace("\t", " ").isprintable():
        return line
    return "".join(map(_sign, line))


@lru_cache(maxsize=1_000)
def _sign(character: str) -> str:
    if character == "\t":
        return character
    shown = show(character)
    return shown if len(shown) == 1 else "\ufffd"
