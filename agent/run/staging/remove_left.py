"""Remove what the runs of a workspace left outside of it: stages, and units of passes that nobody continued."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from ...journal.claim import claim
from ...journal.journal import Journal
from ...layers.copy_folder import COPIES, has_copy
from ...layers.fitness import places_of
from ...layers.left_layer_files import left_layers, remove_left_layers
from ...layers.left_layers import left_records, left_units, remove_left_unit, remove_unit
from ...layers.namespaces import Namespaces, NamespacesRefused
from ...layers.workspace_copies import sweep_copies
from ...protocol import RunHeld, StageEnded, UserError
from ...protocol.text.counts import plural
from ...state.facts.checkpoint import facts_of
from ...state.reports.deciding_chat import CHAT_DECIDES, deciding_chat
from .stage_note import DROPPED, message_about_stage


def drop_stage(path: Path) -> None:
    """Delete what the run of this journal staged. Raises RunHeld, JournalError, OSError and UserError."""
    with claim(path):
        journal = Journal.open(path)
        try:
            facts, spec = facts_of(journal), journal.spec
            if chat := deciding_chat(spec):
                raise UserError(CHAT_DECIDES.format(chat=chat))
            name = facts.changes.stage
            if name is None:
                remove_ended(path, Path(spec.workspace))
                raise UserError(f"nothing is staged in run {spec.run_id}")
            journal.append(StageEnded(how="dropped"), durable=True)
            for place in places_of(Path(spec.workspace), path.parent):
                if (folder := place / "layers" / name).is_dir():
                    remove_unit(folder)
            if (message := message_about_stage(facts, DROPPED)) is not None:
                journal.append(message)
        finally:
            journal.close()


def remove_ended(path: Path, workspace: Path) -> None:
    """Delete the folder of a stage that has ended, if a kill came before its removal. The run is claimed.

    Raises OSError.
    """
    for folder, record in left_records(workspace, path.parent):
        if record.run == path.stem and record.kind == "stage":
            remove_unit(folder)


def drop_all_left(workspace: Path, runs: Path) -> Sequence[str]:
    """Delete all stages, other units and copies that runs of a workspace left, and return a line for each.

    `runs`: the folder of the journals. Raises JournalError, OSError and UserError.
    """
    lines = list[str]()
    for unit in left_units(workspace, runs):
        path = runs / f"{unit.run}.db"
        try:
            if path.exists() and _stage_of(path) == unit.folder.name:
                try:
                    drop_stage(path)
                except UserError as refused:
                    lines.append(f"kept: the {unit.kind} of run {unit.run}: {refused}")
                    continue
            else:
                with nullcontext() if has_copy(unit.folder) else Namespaces() as namespaces:
                    if not remove_left_unit(unit, namespaces):
                        raise RunHeld(unit.run)
        except NamespacesRefused as refused:
            raise UserError(f"nothing can be removed: {refused}") from None
        except RunHeld:
            lines.append(f"kept: the {unit.kind} of run {unit.run}, which still runs")
            continue
        lines.append(f"removed: the {unit.kind} of run {unit.run}")
    count = sum(sweep_copies(place / COPIES) for place in places_of(workspace, runs))
    copies = [f"removed: the copies of {plural(count, 'killed run')}"] if count else []
    return [*lines, *copies, *_drop_layers(workspace, runs)]


def _drop_layers(workspace: Path, runs: Path) -> list[str]:
    """Delete the layers of commands that no process uses. Returns a line, or none. Raises OSError and UserError."""
    left = left_layers(workspace, runs)
    if not left.folders:
        return []
    try:
        with nullcontext() if all(map(has_copy, left.folders)) else Namespaces() as namespaces:
            count = remove_left_layers(left, namespaces)
    except NamespacesRefused as refused:
        raise UserError(f"nothing can be removed: {refused}") from None
    used = len(left.folders) - count
    return [f"removed: {plural(count, 'layer')} of commands{f'; {used} are used now' if used else ''}"]


def _stage_of(path: Path) -> str | None:
    journal = Journal.open_for_reading(path)
    try:
        return facts_of(journal).changes.stage
    finally:
        journal.close()


def newest_staged(workspace: Path, runs: Path) -> str | None:
    """Return the newest run of a workspace that has something staged. `runs`: the folder of the journals."""
    return max((record.run for _, record in left_records(workspace, runs) if record.kind == "stage"), default=None)
