"""The message box: Enter sends, ctrl+j is a new line, Up calls back what was sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import TextArea

from ..keys import do_bound
from ..text import bare, in_place
from .attachments import Attachments
from .completion import Completion, complete
from .history import History
from .pastes import Pastes
from .suggestions import Suggestions

_MOST_DROPPED = 40
"""Paths of one paste that are looked at."""


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

        def __init__(self, text: str, steer: bool, typed: str) -> None:
            super().__init__()
            self.text = text
            self.steer = steer
            self.typed = typed
            """The text without what stands folded in it: only here an `@` attaches an image, and was shown to."""

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

    def __init__(
        self,
        suggestions: Suggestions,
        attachments: Attachments,
        files: Callable[[], Sequence[str]],
        root: Callable[[], Path | None],
    ) -> None:
        """`root`: where relative paths of images start; None where the text goes to no model."""
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
        self._attachments = attachments
        self._files = files
        self._root = root

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
        typed = self.text
        text = self.pastes.unfold(typed).strip()
        if not text:
            return
        self.recalled.add(text)
        self.pastes.clear()
        self.text = ""
        self._suggestions.show(None)
        self.post_message(self.Sent(text, steer, typed))

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
            case "enter" if self._typed(completion) == chosen.insert.strip():
                return False
            case "tab" | "enter":
                row, column = self.cursor_location
                self.replace(chosen.insert, (row, completion.start), (row, column))
            case _:
                return False
        return True

    def _typed(self, completion: Completion) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[completion.start : column].strip()

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self.fill(text)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        pasted = bare(event.text)
        self.insert(self._pictures(pasted) or self.pastes.fold(pasted))

    def _pictures(self, pasted: str) -> str | None:
        """How the message names the pictures whose paths were pasted or dropped; None: it is any other text."""
        root = self._attaches_from()
        if root is None or not pasted.strip().startswith(("/", "~/", "'", '"', "file:")):
            return None
        from rundry.agent import as_mention, dropped, looks_like_picture

        paths = dropped(pasted)
        if not paths or len(paths) > _MOST_DROPPED or not all(map(looks_like_picture, paths)):
            return None
        names = [str(path.relative_to(root) if path.is_relative_to(root) else path) for path in paths]
        before = self.document.get_line(self.cursor_location[0])[: self.cursor_location[1]]
        gap = " " if before and not before[-1].isspace() else ""
        return gap + " ".join(map(as_mention, names)) + " "

    def _attaches_from(self) -> Path | None:
        """Where relative paths of images start; None: what stands in the box is no message."""
        is_message = not self.text.startswith(("!", "/")) or self.text.startswith("//")
        return self._root() if is_message else None

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Look for completions again."""
        event.stop()
        self.complete()
        self._attachments.look(self.text, self._attaches_from())

    def complete(self) -> None:
        """Suggest what could come next; again when the files are known."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        files = self._files() if "@" in before else ()
        self._suggestions.show(complete(before, first_line=row == 0, files=files))
