"""An input line for the reason of a rejection or of a skipped hunk."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import Input

from ..keys.joined_keys import do_bound
from ..keys.screen_keymap import keymap_of
from ..text.show_text import strip


class ReasonInput(Input):
    """The line. Enter keeps the text, and Esc returns to the gate; neither decides."""

    DEFAULT_CSS = """
    ReasonInput { height: 1; border: none; padding: 0 1; background: transparent; }
    ReasonInput.-textual-compact { padding: 0 1; &:focus { border: none; padding: 0 1; } }
    """

    class Given(Message):
        """The reason, which may be empty; `kept`: the person pressed Enter."""

        def __init__(self, text: str, *, kept: bool) -> None:
            super().__init__()
            self.text = text
            self.kept = kept

    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False, id="reason")
        self.cursor_blink = False

    def ask(self, what: str, text: str) -> None:
        """Ask for `what`, beginning with the text that was typed before."""
        self.placeholder = what
        self.value = text
        self.cursor_position = len(text)
        self.display = True

    async def _on_key(self, event: events.Key) -> None:
        if name := keymap_of(self).action_of(event.key, "line"):
            event.stop()
            event.prevent_default()
            self._give(kept=name == "line_keep")
        else:
            await do_bound(self, event)

    def go_back(self) -> None:
        """Return to the gate without keeping the reason; the text is there when it is asked for again."""
        self._give(kept=False)

    def _give(self, *, kept: bool) -> None:
        self.post_message(self.Given(self.value.strip(), kept=kept))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(" ".join(strip(event.text).split()))
