"""Undo what commands changed in layers: an order with the inverse rows, which is finished whatever is killed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...host.crash import crash_point
from ...journal.encoding import recorded_text
from ...layers.apply import CHANGED, MADE, Result
from ...layers.effect_rows import EffectRow, decode_git, decode_rows, encode_git, encode_rows, new_name
from ...layers.fitness import place_of_orders
from ...layers.git.apply_git_rows import HELD_BACK, name_of
from ...layers.git.git_rows import GitChanges, HeadRow, IndexRow, RefRow, StashRow, StateRow
from ...layers.orders import Order, Orders
from ...protocol import UndoAccepted, Undone
from ...protocol.text.counts import plural
from ...state.facts.standing_changes import GIT_WORDS
from ...step.tool_calls.file_events import file_changed, stored_contents

if TYPE_CHECKING:
    from ...state.facts.change_log import RecordedChange
    from .inverse_rows import Inverse
    from .undo_context import UndoContext

UNPROVEN = "changed while a command ran, perhaps by you: confirm it with /changes, or `rundry ctl undo file PATH`"
_MOST_KEPT = 40
"""Conflicts that are named of files that were not shown one by one."""
_NAMED = 5
_CHANGED, _MADE = "not undone, because someone changed it since", "not undone, because someone made it since"
_WHY = {CHANGED: _CHANGED, MADE: _MADE}


def why_kept(existed: bool) -> str:
    """Return why a file stays that somebody changed since, or made where there was none after the change."""
    return _CHANGED if existed else _MADE


async def undo_effects(
    context: UndoContext,
    chosen: Sequence[RecordedChange],
    found: Inverse,
    left: Collection[str],
    *,
    step: int | None,
    path: str | None,
    by: str,
) -> Undone:
    """Undo these changes by their inverse rows, and return the event. `found`: these rows.

    `left`: the files that stay because nobody confirmed them. Once the event is in the journal, the caller calls
    `forget_undo`.
    """
    with context.journal.transaction():
        rows = context.journal.blobs.keep(encode_rows(found.rows))
        git = context.journal.blobs.keep(encode_git(found.git)) if found.git else None
    accepted = UndoAccepted(
        order=new_name(),
        rows=rows,
        changes=len(chosen),
        shown=found.shown,
        git=git,
        also=found.also,
        kept=sorted([*found.lost, *(f"{name}: {UNPROVEN}" for name in left)]),
        unconfirmed=sorted(left),
        step=step,
        path=path,
        by=by,
    )
    context.events.record(accepted)
    crash_point("undo: accepted")
    order = Order(
        workspace=context.workspace.root, rows=found.rows, contents=found.contents, git=found.git, is_undo=True
    )
    try:
        results = await asyncio.to_thread(_carried_out, context, accepted.order, order)
    except (OSError, ValueError) as error:  # what was done of it is as it should be when the undo is repeated
        return nothing_undone(error, by, accepted.order)
    undone = _undone(context, accepted, found.rows, found.git, results)
    if path is None and not undone.kept:
        kept = orders_of(context).kept
        for change in chosen:
            if change.effects is not None:
                kept.drop(change.effects.order)
    return undone


async def finish_undos(context: UndoContext) -> list[Undone]:
    """Finish the undos that a killed process accepted, and return their events for the caller to record."""
    found = list[Undone]()
    for name, accepted in list(context.facts.changes.undoing.items()):
        try:
            orders = await asyncio.to_thread(orders_of, context)
            if name not in orders.names():
                found.append(nothing_undone("the program ended before the undo began", accepted.by, name))
                continue
            results = await asyncio.to_thread(orders.carry_out, name)
        except (OSError, ValueError) as error:
            found.append(nothing_undone(error, accepted.by, name))
            continue
        rows = decode_rows(context.journal.blobs.load(accepted.rows))
        git = decode_git(context.journal.blobs.load(accepted.git)) if accepted.git is not None else []
        found.append(_undone(context, accepted, rows, git, results))
    return found


def nothing_undone(why: object, by: str, order: str = "") -> Undone:
    """Return the event of an undo that was not carried out."""
    return Undone(changes=0, kept=[f"nothing was undone: {why}"], by=by, order=order)


def forget_undo(context: UndoContext, undone: Undone) -> None:
    """Delete the order of an undo whose event is in the journal."""
    if undone.order:
        with suppress(OSError):
            orders_of(context).forget(undone.order)


def orders_of(context: UndoContext) -> Orders:
    """Return the orders for the workspace of a run, whether it has a runner or not. Raises OSError."""
    if context.layers is not None:
        return context.layers.orders
    return Orders(place_of_orders(context.workspace.root, context.journal.path.parent))


def _carried_out(context: UndoContext, name: str, order: Order) -> list[Result]:
    if context.layers is not None:
        return context.layers.undo(name, order)
    orders = orders_of(context)
    orders.give(name, order)
    return orders.carry_out(name)


def _undone(
    context: UndoContext,
    accepted: UndoAccepted,
    rows: Sequence[EffectRow],
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
    also += [_git_words(done)] if done else []
    return Undone(
        changes=accepted.changes,
        step=accepted.step,
        path=accepted.path,
        files=sorted(files),
        kept=sorted([*kept, *lines]),
        unconfirmed=accepted.unconfirmed,
        by=accepted.by,
        order=accepted.order,
        also=also,
    )


def _is_leaving(row: EffectRow) -> bool:
    """Return whether the row removes a folder. A folder that is not empty stays."""
    return row.after is None and row.before is not None and row.before.type == "folder"


def _record(context: UndoContext, name: str, row: EffectRow) -> None:
    """Record a file that was undone, unless an undo that was killed recorded it already."""
    event = file_changed(context.journal, stored_contents(context.journal, row), "undo")
    known = context.facts.changes.files.get(name)
    if known is None or known[1] != event.new or event.new == event.old:
        context.events.record(event)


def _git_outcome(git: Sequence[GitChanges], results: Sequence[Result]) -> tuple[list[str], list[GitChanges]]:
    """Return a line for each reason why a repository stays as it is, and the repositories that were undone."""
    lines, done = list[str](), list[GitChanges]()
    for changes in git:
        own, results = results[: len(changes.rows)], results[len(changes.rows) :]
        reasons = dict.fromkeys(one.conflict for one in own if one.conflict and one.conflict != HELD_BACK)
        if any(one.conflict for one in own):
            lines.append(f"{_git_words([changes])}: not undone, because {'; '.join(reasons)}")
        else:
            done.append(changes)
    return lines, done


def _line(name: str, conflict: str) -> str:
    return f"{name}: {_WHY.get(conflict, f'not undone: {conflict}')}"


def _git_words(repositories: Sequence[GitChanges]) -> str:
    """Return which refs and what else changes in repositories, for people."""
    rows = [row for changes in repositories for row in changes.rows]
    refs = [row for row in rows if isinstance(row, RefRow)]
    others = [row for row in rows if isinstance(row, HeadRow | StateRow) and row.before != row.after]
    others += [row for row in rows if isinstance(row, StashRow)]
    index = sum(isinstance(row, IndexRow) for row in rows)
    names = list(dict.fromkeys(name_of(row) for row in (*refs[:_NAMED], *others)))
    more = [f"{plural(len(refs) - _NAMED, 'ref')} more"] if len(refs) > _NAMED else []
    of_index = [f"{plural(index, 'file')} in the index"] if index else []
    return f"{GIT_WORDS}{', '.join([*names, *more, *of_index])}"
