"""The message box: Enter sends, ctrl+j is a new line, Up calls back what was sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import TextArea

from ..keys import do_bound
from ..text import bare, in_place
from .completion import complete
from .history import History
from .pastes import Pastes
from .suggestions import Suggestions


class MessageBox(TextArea):
    """A text area that sends."""

    DEFAULT_CSS = """
    MessageBox {
        height: auto; max-height: 8; min-height: 1; width: 1fr;
        border: none; padding: 0; background: transparent;
        &:focus { border: none; background: transparent; }
        & .text-area--cursor-line { background: transparent; }
    }
    """

    class Sent(Message):
        """The person sent this text; `steer`: it shall interrupt the step."""

        def __init__(self, text: str, steer: bool) -> None:
            super().__init__()
            self.text = text
            self.steer = steer

    class QueueAsked(Message):
        """Up in an empty box while a message is queued: it comes back to be edited."""

    class HelpAsked(Message):
        """`?` into an empty box."""

    class Scrolled(Message):
        """A key that has no use in a short box: it is for what stands above it."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Keyed(Message):
        """A key reached the box at `at` (as events are stamped); `empty`: nothing stands in it now."""

        def __init__(self, at: float, empty: bool) -> None:
            super().__init__()
            self.at = at
            self.empty = empty

    def __init__(self, suggestions: Suggestions, files: Callable[[], Sequence[str]]) -> None:
        super().__init__(id="message", soft_wrap=True, tab_behavior="focus", show_line_numbers=False, compact=True)
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self.recalled = History()
        self.pastes = Pastes()
        self.deaf_until = float("-inf")
        """Keys stamped before that were meant for a gate that closed under them: they are dropped."""
        self.has_queue = False
        """A message waits that can be taken back."""
        self._suggestions = suggestions
        self._files = files

    def get_line(self, line_index: int) -> Text:
        """As it is drawn: a file's name, or a message that comes back, may hold anything."""
        return Text(in_place(self.document.get_line(line_index)), end="", no_wrap=True)

    def fill(self, text: str) -> None:
        """Put `text` there, the cursor behind it, and take the focus."""
        self.text = text
        self.move_cursor(self.document.end)
        self.screen.set_focus(self)

    def send(self, *, steer: bool) -> None:
        """Send what stands here, pastes unfolded."""
        text = self.pastes.unfold(self.text).strip()
        if not text:
            return
        self.recalled.add(text)
        self.pastes.clear()
        self.text = ""
        self._suggestions.show(None)
        self.post_message(self.Sent(text, steer))

    async def _on_key(self, event: events.Key) -> None:
        if event.time < self.deaf_until:
            event.stop()
            event.prevent_default()
            return
        handled = self._suggestion_key(event.key) or self._own_key(event)
        if handled:
            event.stop()
            event.prevent_default()
        else:
            await do_bound(self, event)
        at = event.time
        self.call_later(lambda: self.post_message(self.Keyed(at, not self.text)))

    def _own_key(self, event: events.Key) -> bool:
        match event.key:
            case "enter":
                self.send(steer=False)
            case "ctrl+j" | "shift+enter":
                self.insert("\n")
            case "up" if self.has_queue and not self.text:
                self.post_message(self.QueueAsked())
            case "up" if self.cursor_location[0] == 0:
                self._recall(self.recalled.older(self.text))
            case "down" if self.cursor_location[0] == self.document.line_count - 1:
                newer = self.recalled.newer()
                self._recall(newer)
                if newer is None and not self.text:
                    self.post_message(self.Scrolled(event.key))
            case "question_mark" if not self.text:
                self.post_message(self.HelpAsked())
            case "pageup" | "pagedown" | "ctrl+home" | "ctrl+end":
                self.post_message(self.Scrolled(event.key))
            case "tab":
                pass  # the focus moves by F2 and F10: a slip never leaves the message
            case _:
                return False
        return True

    def _suggestion_key(self, key: str) -> bool:
        if self._suggestions.completion is not None:
            self.complete()  # keys in a burst come before the change of the text was told
        chosen = self._suggestions.chosen
        completion = self._suggestions.completion
        if chosen is None or completion is None:
            return False
        match key:
            case "up":
                self._suggestions.move(-1)
            case "down":
                self._suggestions.move(1)
            case "escape":
                self._suggestions.show(None)
            case "enter" if self.text.strip() == chosen.insert.strip():
                return False
            case "tab" | "enter":
                row, column = self.cursor_location
                self.replace(chosen.insert, (row, completion.start), (row, column))
            case _:
                return False
        return True

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self.fill(text)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert(self.pastes.fold(bare(event.text)))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Look for completions again."""
        event.stop()
        self.complete()

    def complete(self) -> None:
        """Suggest what could come next; again when the files are known."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        files = self._files() if "@" in before else ()
        self._suggestions.show(complete(before, first_line=row == 0, files=files))
