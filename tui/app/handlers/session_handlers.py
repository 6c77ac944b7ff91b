"""Handle actions about the session: palette, editor, theme, trust, demo, child runs, leaving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import RundryError, Trust

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Host, Services
    from ..leave_screen import Leaving
    from ..message_and_notice import Prompt
    from ..middle_areas import Areas
    from .run_handlers import RunHandlers


class SessionHandlers:
    """Handlers that concern the app and not the run."""

    def __init__(
        self, controller: RunController, prompt: Prompt, services: Services, host: Host, leaving: Leaving
    ) -> None:
        self._controller, self._prompt, self._services, self._host = controller, prompt, services, host
        self._leaving = leaving

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "palette": self._palette,
            "editor": self._editor,
            "theme": self._theme,
            "trust": self._trust,
            "demo": self._demo,
            "carry_out": self._carry_out,
            "suspend": self._suspend,
            "quit": self._quit,
            "copy_or_leave": self._copy_or_leave,
        }

    def _palette(self, _argument: str) -> None:
        self._host.action_command_palette()

    def _editor(self, _argument: str) -> None:
        self._services.after_pending_keys(self._edit_message)

    def _edit_message(self) -> None:
        try:
            text = self._services.edit(self._prompt.whole_text, "message.md")
        except RundryError as error:
            self._prompt.tell(str(error))
            return
        if text is not None:
            self._prompt.fill(text.rstrip("\n"))

    def _theme(self, argument: str) -> None:
        self._prompt.tell(f"theme {self._host.choose_theme(argument)}")

    def _trust(self, _argument: str) -> None:
        start = self._controller.start
        folder = start.workspace if start is not None else Path(self._controller.state.workspace)
        names = dict.fromkeys([*Trust().trust(folder), *self._controller.extensions.trust()])
        if not names:
            self._prompt.tell("this folder has nothing to trust")
            return
        is_used = self._controller.load_config_again()
        when = "used from now on" if is_used else "for this folder's config, leave and open rundry again"
        # The list may be cut off at the width of the screen, so it comes last.
        self._prompt.tell(f"trusted; {when}: {', '.join(names)}")

    def _demo(self, _argument: str) -> None:
        self._host.leave_for("demo")

    def _carry_out(self, _argument: str) -> None:
        self._host.leave_for(f"resume {self._controller.state.run_id}")

    def _suspend(self, _argument: str) -> None:
        self._host.action_suspend_process()

    def _copy_or_leave(self, _argument: str) -> None:
        self._host.copy_or_leave()

    def _quit(self, _argument: str) -> None:
        self._leaving.begin()


class ChildRunHandlers:
    """Handlers that open the view of a child run, and return to that of its parent."""

    def __init__(self, controller: RunController, prompt: Prompt, host: Host, areas: Areas, run: RunHandlers) -> None:
        """`run` handles the key that leads back in the views of other runs."""
        self._controller, self._prompt, self._host, self._run = controller, prompt, host, run
        self._transcript = areas.transcript
        if not controller.is_read_only:
            areas.transcript.keyboard.on_enter(self._open_chosen)

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {"child": self._child, "parent": self._parent, "interrupt": self._step_back}

    def _step_back(self, argument: str) -> None:
        if self._controller.came_from_parent and not self._prompt.text:
            self._parent(argument)
        else:
            self._run.interrupt(argument)

    def _child(self, argument: str) -> None:
        children = self._controller.state.common.children
        if not children.by_number:
            raise RundryError("this run has no child run")
        if argument and not argument.isdecimal():
            raise RundryError(f"/child {argument}: give the number of a child run, 1 to {len(children.by_number)}")
        waiting = min(self._controller.state.waiting_children, default=None)
        newest = waiting or (children.open or list(children.by_number.values())[-1]).number
        number = int(argument) if argument else newest
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
