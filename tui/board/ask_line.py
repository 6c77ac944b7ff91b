"""A line on the board that shows what a key is about to do, and asks for a reason or a text."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from ..keys.screen_keymap import keymap_of
from ..text.show_text import bare, one_line


class AskLine(Vertical):
    """Enter carries out the action with the typed reason; Esc cancels it."""

    DEFAULT_CSS = """
    AskLine {
        height: auto; padding: 1 1 0 1; display: none;
        & Static { height: 1; }
        & Input { height: 1; border: none; padding: 0; background: transparent; }
        & Input.-textual-compact { padding: 0; &:focus { border: none; padding: 0; } }
    }
    """

    class Given(Message):
        """The person answered with a reason, which may be empty, or cancelled (None)."""

        def __init__(self, reason: str | None) -> None:
            super().__init__()
            self.reason = reason

    class Typed(Message):
        """Posted with each change of the text that is typed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Dropped(Message):
        """The person moved the focus elsewhere, which cancels the action."""

    def __init__(self) -> None:
        super().__init__()
        self._what = Static("", markup=False)
        self._input = _Line()

    def compose(self) -> ComposeResult:
        """Yield the title and the input line."""
        yield self._what
        yield self._input

    def ask(self, verb: str, title: str, hint: str, text: str = "") -> None:
        """Ask about an action: its verb and title. `hint` is shown in the empty line; it may name actions.

        `text`: the text at the start.
        """
        self._what.update(Content.assemble((f"{verb}  ", "bold $needs-you"), (one_line(title), "$foreground")))
        self._input.begin(text, keymap_of(self).named(hint))
        self.display = True
        self.screen.set_focus(self._input)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Report each change of the text."""
        event.stop()
        if self.display:
            self.post_message(self.Typed(event.value))

    def on_descendant_blur(self) -> None:
        """Cancel when the focus moves to another widget.

        If only the window loses the focus, the line gets it back later.
        """
        if self.display and self.screen.focused not in (None, self._input):
            self.display = False
            self.post_message(self.Dropped())


class _Line(Input):
    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False

    def begin(self, text: str, hint: str) -> None:
        """Show a text with the cursor at its end. `hint` is shown while the line is empty."""
        self.value = text
        self.cursor_position = len(text)
        self.placeholder = hint

    async def _on_key(self, event: events.Key) -> None:
        if name := keymap_of(self).action_of(event.key, "line"):
            event.stop()
            event.prevent_default()
            self.post_message(AskLine.Given(self.value.strip() if name == "line_keep" else None))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(" ".join(bare(event.text).split()))
