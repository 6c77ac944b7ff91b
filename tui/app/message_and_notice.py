"""The message box and the notice above it, as the handlers of actions use them. Does not import textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..control.run_follower import RunFollower
    from ..keys.keymap import Keymap
    from ..message.message_box import MessageBox
    from .notice import Notice


class Prompt:
    """Reads and fills the message box, and shows short notices to the person."""

    def __init__(self, box: MessageBox, notice: Notice, follower: RunFollower, keymap: Keymap) -> None:
        """`follower` redraws soon, which shows a new notice. `keymap`: the user's keys."""
        self._box, self._notice, self._follower, self._keymap = box, notice, follower, keymap

    def named(self, text: str) -> str:
        """Replace each `{approve}` in a text of rundry's own by the key of this action."""
        return self._keymap.named(text)

    @property
    def text(self) -> str:
        """The text in the message box, with placeholders for long pasted parts."""
        return self._box.text

    @property
    def whole_text(self) -> str:
        """The text in the message box, with its pasted parts in full."""
        return self._box.pastes.unfold(self._box.text)

    def fill(self, text: str) -> None:
        """Replace the text in the message box."""
        self._box.fill(text)

    def send_now(self) -> None:
        """Send the message so that it interrupts the running step."""
        self._box.send(steer=True)

    def clear(self) -> None:
        """Empty the message box; its text is the newest one of the history."""
        self._box.recalled.add(self.whole_text)
        self._box.pastes.clear()
        self._box.text = ""

    def tell(self, text: str, *, asked: int | None = None) -> None:
        """Show a notice for some seconds. `asked`: id of the command whose answer removes the notice earlier."""
        self._notice.tell(text, asked=asked)
        self._follower.draw_soon()

    def shows(self, text: str) -> bool:
        """Return whether this notice is on the screen."""
        return self._notice.says(text)
