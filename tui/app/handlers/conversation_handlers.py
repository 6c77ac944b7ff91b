"""Handle actions on the conversation: rewind, compact, clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import Point, Rewind, RundryError

from ...control.typed_commands import typed_command

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services  # loads textual
    from ..message_and_notice import Prompt


class ConversationHandlers:
    """Handlers that rewind, compact or clear the conversation."""

    def __init__(self, controller: RunController, prompt: Prompt, services: Services) -> None:
        self._controller, self._prompt, self._services = controller, prompt, services

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "rewind": self.rewind,
            "compact": self._compact,
            "clear": self._clear,
        }

    def rewind(self, _argument: str) -> None:
        """Open the list of messages and steps that the run can be rewound to. Raises RundryError."""
        from ...pages.rewind_page import RewindScreen

        controller = self._controller
        if not controller.begun:
            raise RundryError("there is no run yet")
        if controller.state.activity:
            raise RundryError(self._prompt.named("a step is running: press {interrupt} to interrupt it first"))
        points = controller.reader.points()
        if not points:
            raise RundryError("there is no earlier message")

        def chosen(point: Point | None) -> None:
            if point is None:
                return
            try:
                controller.put_anywhere(Rewind(seq=point.seq))
            except RundryError as error:
                self._prompt.tell(str(error))
                return
            if point.text is not None and not controller.is_the_task(point.text):
                self._prompt.fill(point.text)

        self._services.open(RewindScreen(points, controller.state.blocks, controller.reader.changes()), chosen)

    def _compact(self, argument: str) -> None:
        asked = self._controller.put(typed_command("compact", argument))
        if not argument:
            self._prompt.tell("requesting a summary of the conversation", asked=asked)

    def _clear(self, argument: str) -> None:
        self._controller.put(typed_command("clear", argument))
