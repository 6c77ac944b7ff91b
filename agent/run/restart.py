"""Start over: take back the edits of the newest answer, and record with what the next one begins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..facts.answers import RESTART
from ..protocol import FILE_FORMATS, Prompted, Restarted
from ..step.prompt import system_prompt
from .commands.undo import UndoContext, revert_changes

if TYPE_CHECKING:
    from ..facts.answers import Answer
    from ..facts.facts import RunFacts
    from ..protocol import Restart, Undone
    from .live.live_run import LiveRun


async def restart(run: LiveRun, decision: Restart) -> None:
    """Take back the newest answer, and record the restart. After a kill it can be repeated."""
    undone = await _reverted(run)
    restarted = Restarted(
        number=run.facts.answers.restarts + 1,
        why=decision.why,
        base=decision.base,
        format=decision.format,
        temperature=decision.temperature,
    )
    is_first = run.facts.answers.format not in FILE_FORMATS
    with run.ctx.events.together():
        if is_first:
            run.ctx.events.record(Prompted(kind="system", text=system_prompt(run.facts.spec, decision.format)))
        if undone is not None:
            run.ctx.events.record(undone)
        run.ctx.events.record(restarted)
    if undone is not None:
        run.ctx.files.mark_changed()
    run.ctx.stalls.forget(None)


async def take_back(run: LiveRun) -> None:
    """Take back the newest answer at the end of a run whose check it did not pass.

    A success that a person has to decide about, such as a suspect one, stays.
    """
    newest = run.facts.answers.newest
    undone = await _reverted(run) if newest is not None and not newest.is_green else None
    if undone is not None:
        run.ctx.events.record(undone)
        run.ctx.files.mark_changed()


def unjudged(facts: RunFacts) -> Answer | None:
    """Return the newest answer if its change is in the workspace and a check has no verdict on it, else None."""
    newest = facts.answers.newest
    if newest is None or not newest.is_written or facts.open_steps:
        return None
    return None if all(command in newest.checks for command in facts.spec.predicates.until) else newest


async def _reverted(run: LiveRun) -> Undone | None:
    """Restore the files that the newest answer changed, and return the event; None: there is nothing to take back.

    What a person decided on stays, and so does a file that changed since.
    """
    newest = run.facts.answers.newest
    if newest is None or not newest.is_written or newest.is_kept:
        return None
    chosen = run.facts.changes.after(newest.seq)
    if not chosen or any(change.command is not None for change in chosen):
        return None
    ctx = run.ctx
    context = UndoContext(ctx.journal, ctx.facts, ctx.workspace, ctx.snapshots, ctx.events.record)
    async with run.files_lock.held("a restart"):
        return await asyncio.shield(revert_changes(context, chosen, by=RESTART))
