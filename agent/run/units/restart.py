"""Start over: revert edits, and record with what the next answer begins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...protocol import BY_TOOLS, FILE_FORMATS, Prompted, Restarted
from ...protocol.text.counts import plural
from ...state.facts.answer_facts import RESTART
from ...step.checks.feedback import feedback
from ...step.prompt.system_prompt import system_prompt
from ..commands.undo_command import revert_changes
from ..commands.undo_context import UndoContext

if TYPE_CHECKING:
    from ...protocol import Restart, Undone
    from ...state.facts.answer_facts import TriedAnswer
    from ...state.facts.run_facts import RunFacts
    from ..live.live_run import LiveRun

_MOST_TRIED = 5
"""Lines about what was tried before a new start."""
_SAID = 80


async def restart(run: LiveRun, decision: Restart) -> None:
    """Revert the newest answer, or with tools the edits since the best state, and record the restart.

    After a kill it can be repeated.
    """
    by_tools = decision.format == BY_TOOLS
    undone = await (_reverted_since(run, decision.since) if by_tools else _reverted(run))
    said = ""
    if by_tools:
        is_stalled = run.facts.answers.newest is None
        said = _start_over_prompt(run.facts, decision, undone) if is_stalled else _undone_words(undone)
    restarted = Restarted(
        number=run.facts.answers.restarts + 1,
        why=decision.why,
        base=decision.base,
        format=decision.format,
        temperature=decision.temperature,
        variant=decision.variant,
        part=decision.part,
        kept=decision.kept,
    )
    is_first = not by_tools and run.facts.answers.format not in FILE_FORMATS
    with run.ctx.events.together():
        if is_first:
            run.ctx.events.record(Prompted(kind="system", text=system_prompt(run.facts.spec, decision.format)))
        if undone is not None:
            run.ctx.events.record(undone)
        run.ctx.events.record(restarted)
        if by_tools:
            run.ctx.events.record(Prompted(kind="again", text=said))
    if is_first:
        run.ctx.models.current.remember_format(decision.format)
    if undone is not None:
        run.ctx.files.mark_changed()
    run.ctx.stalls.forget(None)


def _undone_words(undone: Undone | None) -> str:
    """Return the message with which a run changes from a file format to tools."""
    done = "The edits of your answers were undone, because the check failed. " if undone is not None else ""
    kept = f"Not undone: {'; '.join(undone.kept)}. " if undone and undone.kept else ""
    return f"{done}{kept}From now on, edit files with your tools."


async def take_back(run: LiveRun) -> None:
    """Revert the newest answer at the end of a run whose check it did not pass.

    A success that a person has to decide about, such as a suspect one, stays.
    """
    newest = run.facts.answers.newest
    undone = await _reverted(run) if newest is not None and not newest.is_green else None
    if undone is not None:
        run.ctx.events.record(undone)
        run.ctx.files.mark_changed()


def unjudged(facts: RunFacts) -> TriedAnswer | None:
    """Return the newest answer if its change is in the workspace and a check has no verdict on it, else None."""
    newest = facts.answers.newest
    if newest is None or not newest.is_written or facts.open_steps:
        return None
    return None if all(command in newest.checks for command in facts.spec.predicates.until) else newest


async def _reverted(run: LiveRun) -> Undone | None:
    """Restore the files that the newest answer changed, and return the event, or None if there is nothing to take back.

    What a person decided on stays, and so does a file that changed since.
    """
    newest = run.facts.answers.newest
    if newest is None or not newest.is_written or newest.is_kept:
        return None
    return await _reverted_since(run, newest.seq)


async def _reverted_since(run: LiveRun, seq: int) -> Undone | None:
    chosen = run.facts.changes.after(seq)
    if not chosen or any(change.command is not None for change in chosen):
        return None
    ctx = run.ctx
    context = UndoContext(ctx.journal, ctx.facts, ctx.workspace, ctx.snapshots, ctx.events)
    async with run.files_lock.held("a restart"):
        return await asyncio.shield(revert_changes(context, chosen, by=RESTART))


def _start_over_prompt(facts: RunFacts, decision: Restart, done: Undone | None) -> str:
    """Return the message with which a stalled run starts over: where it stands, and what did not help."""
    undone = facts.changes.after(decision.since)
    state = f"where {plural(decision.kept, 'test')} passed" if decision.kept else "of the start"
    parts = [f"You were stuck ({decision.why}), so you start over. The files are in the state {state}."]
    tried = [change.title for change in undone] or [
        f"{action.tool}: {action.summary or action.result[:_SAID]}" for action in facts.actions
    ]
    if rows := list(dict.fromkeys(reversed(tried)))[:_MOST_TRIED]:
        what = "Edits that were taken back, because they did not help" if undone else "What you did did not help"
        parts.append("\n".join([f"{what}:", *(f"- {row}" for row in reversed(rows))]))
    if done is not None and done.kept:
        parts.append("\n".join(["Not taken back:", *(f"- {line}" for line in done.kept)]))
    if not undone:
        parts += [feedback(check) for check in facts.verdicts.checks.values() if not check.passed]
    return "\n\n".join([*parts, "Look at the cause again, and solve it in another way."])
