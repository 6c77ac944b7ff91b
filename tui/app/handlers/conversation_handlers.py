"""Handle actions on the conversation: rewind, compact, clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rundry.agent import Changes, Point, Rewind, RundryError

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
        controller = self._controller
        if not controller.begun:
            raise RundryError("there is no run yet")
        if controller.state.activity:
            raise RundryError(self._prompt.named("a step is running: press {interrupt} to interrupt it first"))
        points = controller.reader.points()
        if not points:
            raise RundryError("there is no earlier message")

        self._pick(points, controller.reader.changes(), None)

    def _pick(self, points: Sequence[Point], changes: Changes, marked: Point | None) -> None:
        """Let the person choose a point. What its changes would become is shown first."""
        from ...pages.rewind_diff_page import RewindDiffScreen
        from ...pages.rewind_page import RewindScreen

        def chosen(point: Point | None) -> None:
            if point is None:
                return
            if not changes.after(point.seq):
                self._rewind_to(point)
                return
            preview = self._controller.reader.preview_rewind(changes.after(point.seq))
            self._services.open(RewindDiffScreen(_title(point), preview), partial(confirmed, point))

        def confirmed(point: Point, is_sure: bool | None) -> None:
            if is_sure:
                self._rewind_to(point)
            else:
                self._pick(points, changes, point)

        self._services.open(RewindScreen(points, self._controller.state.blocks, changes, marked), chosen)

    def _rewind_to(self, point: Point) -> None:
        try:
            self._controller.put_anywhere(Rewind(seq=point.seq))
        except RundryError as error:
            self._prompt.tell(str(error))
            return
        if point.text is not None and not self._controller.is_the_task(point.text):
            self._prompt.fill(point.text)

    def _compact(self, argument: str) -> None:
        if argument == "show":
            self._show_context()
            return
        asked = self._controller.put(typed_command("compact", argument))
        if not argument:
            self._prompt.tell("requesting a summary of the conversation", asked=asked)

    def _show_context(self) -> None:
        from ...pages.context_page import ContextScreen

        self._services.open(ContextScreen(self._controller.reader.sent_messages()))

    def _clear(self, argument: str) -> None:
        self._controller.put(typed_command("clear", argument))


def _title(point: Point) -> str:
    where = f"step {point.step}" if point.text is None else point.text.strip()
    return f"Rewind to before: {where}"
