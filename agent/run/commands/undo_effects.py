"""Undo what commands changed in layers: an order with the inverse rows, which is finished whatever is killed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...journal.encoding import recorded_text
from ...layers.apply import CHANGED, MADE, Result, Row
from ...layers.fitness import place_of_orders
from ...layers.git.carry_out import HELD_BACK
from ...layers.git.rows import GitChanges
from ...layers.orders import Order, Orders, decode_git, decode_rows, encode_git, encode_rows, new_name
from ...protocol import UndoAccepted, Undone
from ...protocol.text.counts import plural
from ...step.tool_calls.file_events import file_changed, stored_change
from ...system.crash import crash_point
from .inverse_rows import InversePlan, git_words

if TYPE_CHECKING:
    from ...facts.logs.change_log import RecordedChange
    from .undo import UndoContext

_MOST_KEPT = 40
"""Conflicts that are named of files that were not shown one by one."""
_WHY = {
    CHANGED: "not undone, because someone changed it since",
    MADE: "not undone, because someone made it since",
}


async def undo_effects(
    context: UndoContext,
    chosen: Sequence[RecordedChange],
    left: Collection[str],
    *,
    step: int | None,
    path: str | None,
    by: str,
    unproven: Sequence[str],
) -> Undone:
    """Undo these changes by their inverse rows, and return the event. `chosen`: oldest first.

    `left`: files of commands without a layer, which are not undone; `unproven` has a line for each. Once the event is
    in the journal, the caller calls `forget_undo`.
    """
    try:
        orders = await asyncio.to_thread(_orders, context)
    except OSError as error:
        return _nothing(error, by)
    plan = InversePlan(context.workspace, context.journal, context.snapshots, orders.kept)
    for landed in reversed(chosen):
        await plan.add(landed, only=path, left=left)
    found = await asyncio.to_thread(plan.build)
    with context.journal.transaction():
        rows = context.journal.keep(encode_rows(found.rows))
        git = context.journal.keep(encode_git(found.git)) if found.git else None
    accepted = UndoAccepted(
        order=new_name(),
        rows=rows,
        changes=len(chosen),
        shown=found.shown,
        git=git,
        also=found.also,
        kept=sorted([*found.lost, *unproven]),
        step=step,
        path=path,
        by=by,
    )
    context.record(accepted)
    crash_point("undo: accepted")
    order = Order(
        workspace=context.workspace.root, rows=found.rows, contents=found.contents, git=found.git, is_undo=True
    )
    try:
        results = await asyncio.to_thread(_carried_out, context, accepted.order, order)
    except (OSError, ValueError) as error:  # what was done of it is as it should be when the undo is repeated
        return _nothing(error, by, accepted.order)
    undone = _undone(context, accepted, found.rows, found.git, results)
    if path is None and not undone.kept:
        for landed in chosen:
            if landed.effects is not None:
                orders.kept.drop(landed.effects.order)
    return undone


async def finish_undos(context: UndoContext) -> list[Undone]:
    """Finish the undos that a killed process accepted, and return their events for the caller to record."""
    found = list[Undone]()
    for name, accepted in list(context.facts.changes.undoing.items()):
        try:
            orders = await asyncio.to_thread(_orders, context)
            if name not in orders.names():
                found.append(_nothing("the program ended before the undo began", accepted.by, name))
                continue
            results = await asyncio.to_thread(orders.carry_out, name)
        except (OSError, ValueError) as error:
            found.append(_nothing(error, accepted.by, name))
            continue
        rows = decode_rows(context.journal.blob(accepted.rows))
        git = decode_git(context.journal.blob(accepted.git)) if accepted.git is not None else []
        found.append(_undone(context, accepted, rows, git, results))
    return found


def _nothing(why: object, by: str, order: str = "") -> Undone:
    return Undone(changes=0, kept=[f"nothing was undone: {why}"], by=by, order=order)


def forget_undo(context: UndoContext, undone: Undone) -> None:
    """Delete the order of an undo whose event is in the journal."""
    if undone.order:
        with suppress(OSError):
            _orders(context).forget(undone.order)


def _orders(context: UndoContext) -> Orders:
    if context.layers is not None:
        return context.layers.orders
    return Orders(place_of_orders(context.workspace.root, context.journal.path.parent))


def _carried_out(context: UndoContext, name: str, order: Order) -> list[Result]:
    if context.layers is not None:
        return context.layers.undo(name, order)
    orders = _orders(context)
    orders.give(name, order)
    return orders.carry_out(name)


def _undone(
    context: UndoContext,
    accepted: UndoAccepted,
    rows: Sequence[Row],
    git: Sequence[GitChanges],
    results: Sequence[Result],
) -> Undone:
    """Record the files that were undone, and return the event of the undo."""
    count = len(results) - sum(len(one.rows) for one in git)
    failed = {one.path: one.conflict for one in results[:count] if one.conflict}
    files, kept, also = list[str](), [*accepted.kept], list[str]()
    for row in rows[: accepted.shown]:
        name = recorded_text(row.path)
        if row.path in failed:
            kept.append(_line(name, failed[row.path]))
            continue
        files.append(name)
        _record(context, name, row)
    others = [row for row in rows[accepted.shown :] if not _is_leaving(row)]
    named = [_line(recorded_text(row.path), failed[row.path]) for row in others if row.path in failed]
    kept += named[:_MOST_KEPT]
    if len(named) > _MOST_KEPT:
        kept.append(f"{plural(len(named) - _MOST_KEPT, 'file')} more: someone changed them since")
    if any(row.path not in failed for row in rows[accepted.shown :]):
        also += accepted.also
    lines, done = _git_outcome(git, results[count:])
    also += [git_words(done)] if done else []
    return Undone(
        changes=accepted.changes,
        step=accepted.step,
        path=accepted.path,
        files=sorted(files),
        kept=sorted([*kept, *lines]),
        by=accepted.by,
        order=accepted.order,
        also=also,
    )


def _is_leaving(row: Row) -> bool:
    """Return whether a folder goes: one that is not empty stays, and what is in it is named or somebody else's."""
    return row.after is None and row.before is not None and row.before.type == "folder"


def _record(context: UndoContext, name: str, row: Row) -> None:
    """Record a file that was undone, unless an undo that was killed recorded it already."""
    event = file_changed(context.journal, stored_change(context.journal, row), "undo")
    known = context.facts.changes.files.get(name)
    if known is None or known[1] != event.after or event.after == event.before:
        context.record(event)


def _git_outcome(git: Sequence[GitChanges], results: Sequence[Result]) -> tuple[list[str], list[GitChanges]]:
    """Return a line for each reason why a repository stays as it is, and the repositories that were undone."""
    lines, done = list[str](), list[GitChanges]()
    for changes in git:
        own, results = results[: len(changes.rows)], results[len(changes.rows) :]
        reasons = dict.fromkeys(one.conflict for one in own if one.conflict and one.conflict != HELD_BACK)
        if any(one.conflict for one in own):
            lines.append(f"{git_words([changes])}: not undone, because {'; '.join(reasons)}")
        else:
            done.append(changes)
    return lines, done


def _line(name: str, conflict: str) -> str:
    return f"{name}: {_WHY.get(conflict, f'not undone: {conflict}')}"
