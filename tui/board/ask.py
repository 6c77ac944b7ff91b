"""One line on the board: what is about to be done, and why."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from ..text import bare, one_line


class AskLine(Vertical):
    """Enter does it, with the reason that was typed; Esc leaves it."""

    DEFAULT_CSS = """
    AskLine {
        height: auto; padding: 1 1 0 1; display: none;
        & Static { height: 1; }
        & Input { height: 1; border: none; padding: 0; background: transparent; }
        & Input.-textual-compact { padding: 0; &:focus { border: none; padding: 0; } }
    }
    """

    class Given(Message):
        """`reason` may be empty; None: it was left."""

        def __init__(self, reason: str | None) -> None:
            super().__init__()
            self.reason = reason

    class Dropped(Message):
        """The person went elsewhere, and nothing is asked any longer."""

    def __init__(self) -> None:
        super().__init__()
        self._what = Static("", markup=False)
        self._input = _Line()

    def compose(self) -> ComposeResult:
        """What is asked, and the line."""
        yield self._what
        yield self._input

    def ask(self, verb: str, title: str, hint: str) -> None:
        """`verb` and the title of what it is about; `hint` stands in the empty line."""
        self._what.update(Content.assemble((f"{verb}  ", "bold $needs-you"), (one_line(title), "$foreground")))
        self._input.value = ""
        self._input.placeholder = hint
        self.display = True
        self.screen.set_focus(self._input)

    def on_descendant_blur(self) -> None:
        """What is typed from now on is for someone else; a window that is left comes back to the line."""
        if self.display and self.screen.focused not in (None, self._input):
            self.display = False
            self.post_message(self.Dropped())


class _Line(Input):
    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        if event.key in ("escape", "enter"):
            event.stop()
            event.prevent_default()
            self.post_message(AskLine.Given(self.value.strip() if event.key == "enter" else None))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(" ".join(bare(event.text).split()))
