"""The picker of sessions: every run of this folder, or of all folders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from rundry.agent import Journal, RundryError, RunLine, as_tree, delete_run, pending, plural, title_of

from ..keys.screen_keymap import keymap_of
from ..text.ages import age_words
from ..text.show_text import one_line
from .picker import Picker
from .picker_rows import PickRow

if TYPE_CHECKING:
    from ..control.services import Host

STATE, AGE, COST, FOLDER = 12, 10, 8, 18
HINT = "type to filter by task, state, model, folder or id"


class SessionPicker(Picker[RunLine]):
    """The runs of a folder. A run is opened by leaving this view for it."""

    title_text = "Sessions"
    hint = HINT

    def __init__(self, runs: Sequence[RunLine], workspace: Path, host: Host) -> None:
        super().__init__()
        self._runs, self._here = list(runs), str(workspace)
        self._everywhere = not any(run.workspace == self._here for run in runs)
        self._host = host
        self._waiting = {each.run_id for each in pending(run for run in runs if run.state == "running")}
        """Ids of running runs that wait for a person."""
        self._to_delete: RunLine | None = None

    def rows(self, wanted: str) -> Sequence[PickRow[RunLine]]:
        """Return the runs that contain all typed words."""
        words = wanted.lower().split()
        shown = [run for run in self._runs if self._everywhere or run.workspace == self._here]
        found = as_tree([run for run in shown if all(word in self._searched(run) for word in words)])
        rows = [PickRow(self._line(run, depth), run) for depth, run in found]
        if rows:
            return [PickRow(self._heading()), *rows]
        if not self._runs:
            why = "no runs yet: {close_dialog}, then write what should be done"
        elif not words and not self._everywhere:
            why = "no run of this folder: {session_folders} shows those of all folders"
        else:
            why = "no run has this text" + ("" if self._everywhere else ": {session_folders} searches all folders")
        return [PickRow(Content.styled(keymap_of(self).named(why), "$dim"))]

    def _heading(self) -> Content:
        where = "  folder".ljust(FOLDER) if self._everywhere else ""
        names = f"{'state':<{STATE}}{'started':>{AGE}}{'USD':>{COST}}{where}  task"
        return Content.styled(names, "$dim")

    def _state(self, run: RunLine) -> str:
        return "waits" if run.run_id in self._waiting else state_of(run)

    def _searched(self, run: RunLine) -> str:
        staged = "staged" if run.staged else ""
        words = f"{run.task} {staged} {self._state(run)} {run.model} {run.workspace} {run.run_id} {run.loop}"
        return words.lower()

    def _line(self, run: RunLine, depth: int) -> Content:
        where = [("  " + Path(run.workspace).name)[: FOLDER - 1].ljust(FOLDER)] if self._everywhere else []
        cost = "$?" if run.usd is None else f"{run.usd:.2f}"
        return Content.assemble(
            (self._state(run).ljust(STATE), _style(run)),
            (age_words(run.started, time.time()).rjust(AGE), "$dim"),
            (cost.rjust(COST), "$dim"),
            *((one_line(each), "$dim") for each in where),
            "  ",
            *([(f"{run.why_void}  ", "$dim")] if run.is_void else []),
            *([(f"{plural(run.staged, 'file')} staged  ", "$needs-you")] if run.staged else []),
            Content.styled("└─ ".rjust(3 * depth), "$dim") if depth else "",
            Content.styled(one_line(run.error or title_of(run.task)), "$foreground"),
        )

    def about(self, marked: RunLine | None) -> Content:
        """Return id, folder, model and end of a run."""
        if marked is None:
            return Content("")
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(marked.started))
        fork = f"   fork of {marked.forked_from}" if marked.forked_from else ""
        fork += f"   child of {marked.parent}" if marked.parent else ""
        facts = f"{marked.run_id}   {began}   {marked.loop}   {plural(marked.steps, 'step')}   {marked.model}{fork}"
        lines = [marked.task, facts, marked.workspace, marked.error or marked.evidence or marked.detail]
        return Content("\n").join(Content(one_line(line)).truncate(self._room, ellipsis=True) for line in lines if line)

    @property
    def _room(self) -> int:
        return self.list.size.width or 80

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the keys of the footer, each with its label."""
        scope = "this folder" if self._everywhere else "all folders"
        if self.list.marked is None:
            folders = [("session_folders", scope)] if self._runs else []
            return (*folders, ("close_dialog", "back"))
        return (
            ("take", "open"),
            ("session_watch", "watch"),
            ("session_fork", "fork"),
            ("session_export", "export"),
            ("session_delete", "delete"),
            ("session_folders", scope),
        )

    def press(self, key: str) -> bool:
        """Watch, fork, export, delete, or change the folder."""
        marked = self.list.marked
        match keymap_of(self).action_of(key, "sessions"):
            case "session_folders":
                self._everywhere = not self._everywhere
                self.draw(marked)
            case "session_watch" if marked is not None:
                self._host.leave_for(f"watch {marked.run_id}")
            case "session_fork" if marked is not None:
                self._fork(marked)
            case "session_export" if marked is not None:
                self._export(marked)
            case "session_delete" if marked is not None:
                self._delete(marked)
            case _:
                return False
        return True

    def pick(self) -> None:
        """Resume the selected run, or watch it if it is running or finished."""
        marked = self.list.marked
        if marked is not None and marked.is_unreadable:
            self.say(f"{marked.run_id} cannot be opened: {marked.error}")
        elif marked is not None:
            what = "watch" if marked.is_finished or marked.state == "running" else "resume"
            self._host.leave_for(f"{what} {marked.run_id}")

    def _fork(self, run: RunLine) -> None:
        from rundry.agent import fork_run

        try:
            forked = fork_run(Path(run.path), Path(run.path).parent)
        except RundryError as error:
            self.say(str(error))
        else:
            self._host.leave_for(f"resume {forked.run_id}")

    def _export(self, run: RunLine) -> None:
        from ..export.formats import ExportFormat
        from ..export.writing import export_next_to

        try:
            journal = Journal.open(Path(run.path))
            try:
                self.say(f"written to {export_next_to(journal, ExportFormat.HTML)}")
            finally:
                journal.close()
        except RundryError as error:
            self.say(str(error))

    def _delete(self, run: RunLine) -> None:
        if self._to_delete is not run:
            self._to_delete = run
            key = keymap_of(self).shown("session_delete")
            self.say(f"press {key} again to delete {run.run_id}: its journal cannot be restored")
            return
        try:
            delete_run(Path(run.path))
        except RundryError as error:
            self.say(str(error))
            return
        self._runs.remove(run)
        self.draw()
        self.say(f"{run.run_id} was deleted")


def state_of(run: RunLine) -> str:
    """Return `done`, `budget` and so on for an ended run, `void` if that does not hold any more; else its state."""
    if run.is_void:
        return "void"
    if run.is_ended_chat:
        return "ended"
    return run.reason.words if run.reason is not None and run.state == "ended" else run.state


def _style(run: RunLine) -> str:
    if run.state == "running":
        return "$needs-you"
    if run.complete:
        return "$verdict-good"
    return "$verdict-bad" if run.is_unreadable else "$foreground"
