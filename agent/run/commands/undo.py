"""Undo changes of the run. Files that someone changed later stay and are reported; the model is informed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ...facts.changes import Landed
from ...facts.facts import RunFacts
from ...journal import Journal
from ...protocol import Event, Prompted, Stamped, Undo, Undone
from ...workspace import Restorer, Snapshots, Workspace
from ..live.live_run import LiveRun
from .undo_plan import Way, Ways

MID_STEP = "a step runs: interrupt it first, then undo"
AT_ONCE = 16
"""Files that are restored in parallel, because each waits for the disk."""
_NAMED = 40
"""Files of each kind that the message to the model names."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What an undo needs of the run."""

    journal: Journal
    facts: RunFacts
    workspace: Workspace
    snapshots: Snapshots
    record: Callable[[Event], Stamped]


async def undo(run: LiveRun, command: Undo) -> str | None:
    """Undo changes. Returns None, or why it was refused. No step begins meanwhile, and an undo that
    began is completed.
    """
    kit = run.kit
    if kit.activity.is_running:
        return MID_STEP
    async with run.files_at_rest:
        if kit.activity.is_running or is_mid_step(run.facts):
            return MID_STEP
        taking = asyncio.ensure_future(
            take_back(Ground(kit.journal, kit.facts, kit.workspace, kit.snapshots, kit.events.record), command)
        )
        try:
            taken = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taken = await taking
            _tell(run, taken)
            raise
        return _tell(run, taken)


def _tell(run: LiveRun, taken: str | Undone) -> str | None:
    if isinstance(taken, str):
        return taken
    with run.kit.events.together():
        run.kit.events.record(taken)
        run.messages.send(told_of(taken, run.facts))
    run.kit.files.mark_changed()
    run.kit.stalls.person_said()
    return None


async def undo_alone(ground: Ground, command: Undo) -> str | None:
    """Undo changes of a run that has no runner."""
    if is_mid_step(ground.facts):
        return "the run stopped in the middle of a step: /resume it so that the step ends, then undo"
    taken = await take_back(ground, command)
    if isinstance(taken, str):
        return taken
    note = told_of(taken, ground.facts)
    ground.record(taken)
    ground.record(note)
    return None


def is_mid_step(facts: RunFacts) -> bool:
    """Return whether a step has not ended, or a call has no result."""
    return bool(facts.open_steps or facts.main.unanswered())


async def take_back(ground: Ground, command: Undo) -> str | Undone:
    """Restore the files and record each. The caller records the returned result; a text says why nothing was undone."""
    chosen = _chosen(ground.facts, command)
    if isinstance(chosen, str):
        return chosen
    return await bring_back(ground, chosen, step=command.step)


async def bring_back(
    ground: Ground, chosen: Sequence[Landed], *, step: int | None = None, by: str = "person"
) -> Undone:
    """Restore these changes, given oldest first: they are the newest ones that were not undone."""
    ways = Ways(ground.journal, ground.snapshots)
    for landed in reversed(chosen):
        await ways.add(landed)
    files, kept = await _walk(ground, ways.found.values())
    return Undone(changes=len(chosen), step=step, files=sorted(files), kept=sorted([*kept, *ways.lost]), by=by)


def _chosen(facts: RunFacts, command: Undo) -> Sequence[Landed] | str:
    """Return the changes to undo, oldest first, or why there are none."""
    changes = facts.changes
    if command.step is not None:
        since = changes.since(command.step)
        if since is None:
            return f"there is no step {command.step}: the newest is {facts.step}"
        return since or f"nothing that was changed since step {command.step} began is left to undo"
    if command.changes < 1:
        return f"undo takes back 1 change or more, not {command.changes}"
    return changes.standing[-command.changes :] or (
        "all changes are undone already" if changes.undone else "nothing was changed yet"
    )


async def _walk(ground: Ground, ways: Iterable[Way]) -> tuple[list[str], list[str]]:
    """Restore the files. Returns the restored ones and a line for each other one. Deletions come first: a file may be
    in the way.
    """
    files: list[str] = []
    kept: list[str] = []
    all_ways = list(ways)
    for phase in ([w for w in all_ways if w.want is None], [w for w in all_ways if w.want is not None]):
        for start in range(0, len(phase), AT_ONCE):
            batch = phase[start : start + AT_ONCE]
            said = await asyncio.gather(*(asyncio.to_thread(_put_back, ground, way) for way in batch))
            kept += [why for why in said if why is not None]
            for way in (way for way, why in zip(batch, said, strict=True) if why is None):
                files.append(way.path)
                if not _is_recorded(ground.facts, way):
                    ground.record(way.moved())
    return files, kept


def _put_back(ground: Ground, way: Way) -> str | None:
    return Restorer(ground.workspace, way.folders.__contains__).restore(way.path, way.want, way.have)


def _is_recorded(facts: RunFacts, way: Way) -> bool:
    """Return whether an undo that was killed had recorded this file."""
    known = facts.changes.files.get(way.path)
    return known is not None and known[1] == way.to_blob != way.from_blob


def told_of(undone: Undone, facts: RunFacts) -> Prompted:
    """Return what the model reads: which files were restored, and that the user did it."""
    if undone.step is not None:
        text = [f"The person undid everything that was changed since step {undone.step} began."]
    else:
        last = "last change" if undone.changes == 1 else f"last {undone.changes} changes"
        text = [f"The person undid your {last}."]
    back = [path for path in undone.files if facts.changes.files.get(path, (None, ""))[1] is not None]
    gone = sorted({*undone.files} - {*back})
    if back:
        text.append(f"As they were before it: {_named(back)}.")
    if gone:
        text.append(f"Gone again, they did not exist before it: {_named(gone)}.")
    if undone.kept:
        text.append("Left as it is: " + "; ".join(undone.kept[:_NAMED]) + ".")
    text.append("Files that git ignores were not looked at. Read a file before you change it again.")
    return Prompted(kind="undo", text=" ".join(text))


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
