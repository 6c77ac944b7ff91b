"""Handle actions that undo changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import LoopKind, RundryError, Undo

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services
    from ..message_and_notice import Prompt


class UndoHandlers:
    """Handlers that undo changes to files."""

    def __init__(self, controller: RunController, prompt: Prompt, services: Services) -> None:
        self._controller, self._prompt, self._services = controller, prompt, services

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "undo": self._undo,
            "undo_last": self.undo_last,
            "best": self._best,
            "changes": self.changes,
        }

    def _undo(self, argument: str) -> None:
        changes, step = _wanted(argument)
        newest = self._controller.reader.changes().standing[-1:]
        if step is None and changes == 1 and not any(change.command for change in newest):
            self._controller.put_anywhere(Undo())
        else:
            self._undo_when_confirmed(changes, step)

    def changes(self, _argument: str) -> None:
        """Open the dialog that shows each changed file with its diff."""
        self._show_files(None)

    def _show_files(self, only: frozenset[str] | None) -> None:
        """Open the dialog with the diff of each changed file. `only`: these files, or None for all of the run."""
        from ...pages.changed_files_page import ChangesScreen

        self._services.open(ChangesScreen(self._controller, only))

    def undo_last(self, _argument: str) -> None:
        """Undo the newest change, after asking. Raises RundryError."""
        self._undo_when_confirmed(1, None)

    def _best(self, _argument: str) -> None:
        state = self._controller.state
        if state.loop is not LoopKind.IMPROVE:
            raise RundryError("/best works only in a run with --score")
        if not state.scores:
            raise RundryError("nothing has been measured yet: the files are unchanged")
        if state.pass_step is None:
            self._prompt.tell(f"the files already have the best score: {state.scores[-1].best:g}")
            return
        if state.activity and not self._controller.status.is_at_rest:
            running = "a step is running: press {interrupt} to interrupt it, then use /best"
            raise RundryError(self._prompt.named(running))
        if not self._controller.reader.changes().since(state.pass_step):
            self._prompt.tell(f"this pass changed nothing: the files have the best score, {state.scores[-1].best:g}")
            return
        self._undo_when_confirmed(1, state.pass_step)

    def _undo_when_confirmed(self, changes: int, step: int | None) -> None:
        from ...pages.undo_page import UndoScreen

        made = self._controller.reader.changes()
        if step is None:
            chosen = made.standing[-changes:]
        elif (since := made.since(step)) is not None:
            chosen = list(since)
        else:
            raise RundryError(f"/undo step {step}: there is no such step")
        if not chosen:
            self._prompt.tell("all changes are already undone" if made.undone else "nothing has been changed yet")
            return
        if any(change.files and not change.is_proven for change in chosen) and not self._controller.reader.is_own_tree:
            self._prompt.tell("a command ran, and you may have changed these files meanwhile: choose what to undo")
            self._show_files(frozenset(path for change in chosen for path in change.files))
            return
        command = Undo(changes=len(chosen), step=step)

        def decided(yes: bool | None) -> None:
            try:
                if yes:
                    self._controller.put_anywhere(command)
            except RundryError as error:
                self._prompt.tell(str(error))

        self._services.open(UndoScreen(chosen, step), decided)


def _wanted(argument: str) -> tuple[int, int | None]:
    """Return the number of changes, or the step whose start is restored. Raises RundryError."""
    words = argument.split()
    match words:
        case []:
            return 1, None
        case [number] if number.isdecimal() and int(number) > 0:
            return int(number), None
        case ["step", number] if number.isdecimal():
            return 1, int(number)
        case _:
            raise RundryError(f"/undo {argument}: use /undo, /undo 3 or /undo step 7")
