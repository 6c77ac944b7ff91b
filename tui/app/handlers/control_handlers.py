"""Handle taking and returning control, and what the person does while in control."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import Act, GiveWheel, RundryError, TakeWheel

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services  # loads textual
    from ..message_and_notice import Prompt


class ControlHandlers:
    """Handlers that take and return control, and act while the person is in control."""

    def __init__(self, controller: RunController, prompt: Prompt, services: Services) -> None:
        self._controller, self._prompt, self._services = controller, prompt, services

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "wheel": self._control,
            "edit_file": self._edit,
            "finish": self._finish,
        }

    def _control(self, argument: str) -> None:
        take_or_return_control(self._controller, argument)

    def _edit(self, argument: str) -> None:
        """Open a file in the person's editor, and write the result with the model's own tool."""
        if not self._controller.state.is_user_in_control:
            raise RundryError("/edit works only while you are in control: use /control first")
        if not argument:
            self._prompt.fill("/edit ")
            return
        path = Path(self._controller.state.workspace) / argument
        try:
            before = path.read_bytes() if path.exists() else None
            text = (before or b"").decode("utf-8")
        except OSError as error:
            raise RundryError(f"{argument} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise RundryError(f"{argument} is not UTF-8 text: edit it with a `!` command") from None
        edited = self._services.edit(text, path.name)
        if edited is None:
            self._prompt.tell("left unchanged")
            return
        expects = "" if before is None else hashlib.sha256(before).hexdigest()
        self._controller.put(Act(tool="write_file", arguments={"path": argument, "content": edited}, expects=expects))

    def _finish(self, argument: str) -> None:
        finish_in_control(self._controller, self._prompt, argument)


def take_or_return_control(controller: RunController, note: str) -> None:
    """Take control of the run, or return it with a note to the model. Raises RundryError."""
    if controller.state.is_user_in_control:
        controller.put(GiveWheel(note=note))
    else:
        if controller.status.is_orphaned:
            raise RundryError("this run has no runner: use /resume first, then /control")
        controller.put(TakeWheel())


def finish_in_control(controller: RunController, prompt: Prompt, answer: str) -> None:
    """Finish the task with the person's answer. Raises RundryError."""
    if not controller.state.is_user_in_control:
        raise RundryError("/finish works only while you are in control: use /control first")
    if not answer:
        prompt.fill("/finish ")
        return
    controller.put(Act(tool="finish", arguments={"answer": answer, "citations": []}))
