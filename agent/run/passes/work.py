"""What tools and commands changed in a unit of work, and what of it was approved while they worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...step.tool_calls.effect_entries import row_of

if TYPE_CHECKING:
    from ...facts.logs.change_log import RecordedChange
    from ...layers.effects import Effect
    from ...step.tool_calls.effect_entries import Sorted


class Work(NamedTuple):
    """What tools and commands changed, as far as it was recorded while they worked."""

    paths: frozenset[str]
    edited: Mapping[str, str | None]
    """The digests of files whose newest change was an edit, which the gate let pass."""


def work_of(changes: Sequence[RecordedChange]) -> Work:
    """Return what these changes of a run or a try wrote; oldest first."""
    newest = {path: (moved.after, change.command is None) for change in changes for path, moved in change.files.items()}
    return Work(frozenset(newest), {path: after for path, (after, is_edit) in newest.items() if is_edit})


def pass_approved(found: Sorted, work: Work) -> None:
    """Let what was approved at the gate pass: nobody is asked twice."""
    for part in list(found.asking):
        is_approved = bool(part.effects) and all(_is_edit(effect, work) for effect in part.effects)
        if part.git is None and not part.draft.shown.conflict and is_approved:
            found.asking.remove(part)
            found.passing += [row_of(effect) for effect in part.effects]
            found.recorded |= {effect.path for effect in part.effects}


def _is_edit(effect: Effect, work: Work) -> bool:
    """Return whether this is exactly what an edit wrote, which the gate let pass."""
    before, after = effect.before, effect.after
    if after is None or after.type != "file" or after.executable != (before is not None and before.executable):
        return False
    return work.edited.get(effect.path) == after.digest
