"""Handle actions after the end of a run: export, commit, raise the limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import RundryError

from ...control.commit_changes import Commit, message_for
from ...control.resume_command import raised
from ...start.read_limit import parse_limit

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services
    from ..message_and_notice import Prompt
    from .page_handlers import DialogHandlers
    from .undo_handlers import UndoHandlers
    from .view_handlers import ViewHandlers


class EndHandlers:
    """Handlers of the keys of the end panel. Some are those of other actions under a key of their own."""

    def __init__(
        self,
        controller: RunController,
        prompt: Prompt,
        services: Services,
        dialogs: DialogHandlers,
        undo: UndoHandlers,
        view: ViewHandlers,
    ) -> None:
        self._controller, self._prompt, self._services = controller, prompt, services
        self._dialogs, self._undo, self._view = dialogs, undo, view

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "export": self._export,
            "commit": self._commit,
            "raise_limit": self._raise_limit,
            "to_gate": self._to_panel,
            "end_handoff": self._dialogs.handoff,
            "end_undo": self._undo.undo_last,
            "end_changes": self._undo.changes,
            "end_export": self._export,
            "end_message": lambda _argument: self._services.focus("message"),
        }

    def _to_panel(self, argument: str) -> None:
        state = self._controller.state
        at_board = self._services.is_focused("board")
        if state.outcome is not None and not state.proposals and (state.finder is None or at_board):
            self._services.focus("ended")
        else:
            self._view.to_gate(argument)

    def _export(self, argument: str) -> None:
        from ...export.formats import ExportFormat
        from ...export.writing import export_next_to

        journal = self._controller.link.journal
        if journal is None:
            raise RundryError("there is nothing to export yet")
        if argument not in ("", *ExportFormat):
            raise RundryError(f"/export {argument}: use {', '.join(ExportFormat)}")
        kind = ExportFormat(argument) if argument else ExportFormat.HTML
        self._prompt.tell(f"written to {export_next_to(journal, kind)}")

    def _raise_limit(self, _argument: str) -> None:
        ended, budget = self._controller.state.outcome, self._controller.state.budget
        limit = raised(ended, budget) if ended is not None and budget is not None else None
        if limit is None:
            raise RundryError("no limit ended this run")
        self._controller.set_limit(*parse_limit(*limit))
        self._prompt.tell(f"{limit[0]} is now {limit[1]}: the run continues")

    def _commit(self, _argument: str) -> None:
        from ...pages.commit_page import CommitScreen

        state = self._controller.state
        changes = self._controller.reader.changes()
        files = sorted({path for change in changes.standing for path in change.files})
        if not files:
            raise RundryError("nothing to commit: the run changed no files")
        commit = Commit(Path(state.workspace), files, message_for(state.task, state.run_id))

        def decided(yes: bool | None) -> None:
            if yes:
                self._guarded(lambda: self._made(commit))

        self._services.open(CommitScreen(commit), decided)

    def _made(self, commit: Commit) -> None:
        self._prompt.tell(commit.make())
        self._controller.committed_at = self._controller.state.last_seq

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except RundryError as error:
            self._prompt.tell(str(error))
