"""Handle actions that move between a run and its child runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import RundryError

if TYPE_CHECKING:
    from ..run_controller import RunController
    from ..screens.areas import Areas
    from ..screens.prompt import Prompt
    from ..screens.services import Host


class ChildRunHandlers:
    """Handlers that open the view of a child run, and return to that of its parent."""

    def __init__(self, controller: RunController, prompt: Prompt, host: Host, areas: Areas) -> None:
        self._controller, self._prompt, self._host = controller, prompt, host
        self._transcript = areas.transcript
        if not controller.is_read_only:
            areas.transcript.keyboard.on_enter(self._open_chosen)

    def table(self, interrupt: Callable[[str], None]) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name. `interrupt` is the handler of that key in other views."""

        def step_back(argument: str) -> None:
            if self._controller.came_from_parent and not self._prompt.text:
                self._parent(argument)
            else:
                interrupt(argument)

        return {"child": self._child, "parent": self._parent, "interrupt": step_back}

    def _child(self, argument: str) -> None:
        children = self._controller.state.common.children
        if not children.by_number:
            raise RundryError("this run has no child run")
        if argument and not argument.isdecimal():
            raise RundryError(f"/child {argument}: give the number of a child run, 1 to {len(children.by_number)}")
        number = int(argument) if argument else (children.open or list(children.by_number.values())[-1]).number
        if number not in children.by_number:
            raise RundryError(f"/child {number}: no such child run: use 1 to {len(children.by_number)}")
        self._host.leave_for(f"child {children.by_number[number].journal}")

    def _parent(self, _argument: str) -> None:
        parent = self._controller.state.parent
        if parent is None:
            raise RundryError("this run was not started by another run")
        self._host.leave_for(f"watch {parent.journal}")

    def _open_chosen(self) -> bool:
        """Open the child run of the chosen entry. Return False if the entry is about something else."""
        state, chosen = self._controller.state, self._transcript.cursor
        numbers = [number for number, index in state.at_child.items() if index == chosen]
        if not numbers or numbers[0] not in state.common.children.by_number:
            return False
        self._child(str(numbers[0]))
        return True
