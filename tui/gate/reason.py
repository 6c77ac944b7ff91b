"""One line for why a proposal is rejected."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import Input


class ReasonInput(Input):
    """Enter rejects with what was typed, Esc goes back to the gate."""

    DEFAULT_CSS = """
    ReasonInput { height: 1; border: none; padding: 0 1; background: transparent; &:focus { border: none; } }
    """

    class Given(Message):
        """The reason; None: the person went back."""

        def __init__(self, text: str | None) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(placeholder="why not? enter rejects with this, esc goes back", compact=True, id="reason")
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Given(None))
        elif event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Given(self.value.strip() or None))
