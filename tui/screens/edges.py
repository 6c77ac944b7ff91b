"""The lines above and below the middle of the main screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..actions.lookup import BY_NAME, shown_key
from ..ended.panel import EndPanel
from ..head.line import HeaderLine, MeterLine
from ..keyboard.keymap import Keymap
from ..progress.line import ProgressLine
from .footer import Footer
from .gone import GoneNotice
from .placeholder import placeholder

if TYPE_CHECKING:
    from ..message.row import MessageRow
    from ..run_controller import RunController


class Edges:
    """Header, meters, progress line, notice about a lost runner, message box and footer."""

    def __init__(
        self,
        controller: RunController,
        keymap: Mapping[str, str],
        message: MessageRow,
        do: Callable[[str], None],
    ) -> None:
        """`do` runs the action with that name."""
        self._controller, self._keymap = controller, keymap
        self.header = HeaderLine()
        self.meters = MeterLine()
        self.progress = ProgressLine(None if controller.is_read_only else keymap)
        self.gone = GoneNotice()
        self.message = message
        self.footer = Footer(keymap)
        self.ended = EndPanel(controller, keymap, do=do, is_writing=lambda: bool(message.box.text))

    def show_head(self, width: int) -> None:
        """Show what runs and what is left, on a screen with this width in cells."""
        state, status = self._controller.state, self._controller.status
        self.header.show(state, status.phase)
        self.meters.display = self._controller.begun
        self.meters.show(state, state.last_at if status.is_at_rest else time.time())
        self.progress.show(state, time.time(), width)

    def show_message(self, *, offers_choices: bool) -> None:
        """Show what the message box is for. `offers_choices`: its keys move the mark of the first screen."""
        state, status = self._controller.state, self._controller.status
        key = "" if self._controller.is_read_only else shown_key(self._keymap.get("pause", BY_NAME["pause"].keys))
        self.gone.show(state, is_gone=status.is_gone, key=key)
        self.ended.show()
        self.message.show(
            state,
            placeholder(self._controller, Keymap(self._keymap)),
            time.time(),
            at_rest=status.is_at_rest,
            offers_choices=offers_choices,
        )
