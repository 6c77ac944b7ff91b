"""`/compact`: replace old rounds of the conversation by a summary, or undo that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Compact, ConversationRestored
from ...step.model_call.summarise import NotSummarised, summarise

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder
    from ..live.live_run import LiveRun


async def compact(run: LiveRun, command: Compact) -> str | None:
    """Compact the conversation, or undo that. Returns None, or why it was refused."""
    ctx, loop = run.ctx, run.facts.spec.loop
    if not loop.traits.has_one_conversation:
        return f"{loop.a_run} starts new conversations by itself, so there is nothing to compact"
    if ctx.activity.is_running:
        return "a step runs: interrupt it first, or wait until it ends"
    if command.undo:
        return _restore_rounds(run.facts, run.ctx.events)
    async with run.files_lock.held("a compaction"):
        if ctx.activity.is_running or run.facts.main.unanswered():
            return "a step runs: interrupt it first, or wait until it ends"
        with ctx.activity.in_progress():
            cut = await summarise(ctx)
    if isinstance(cut, NotSummarised):
        return cut.why
    ctx.events.record(cut)
    return None


def _restore_rounds(facts: RunFacts, events: Recorder) -> str | None:
    if not facts.main.cuts:
        return "there is no compaction or clearing to undo"
    events.record(ConversationRestored())
    return None
