"""`/compact`: replace old rounds by a summary. It can be undone."""

from __future__ import annotations

from ...protocol import Compact, ConversationRestored, LoopKind
from ...step import NotSummarised, summarise
from ..live.live_run import LiveRun

LOOPS = (LoopKind.CHAT, LoopKind.GOAL, LoopKind.NAIVE, LoopKind.PACED)
"""Loops with one long conversation. The others start new conversations themselves."""


async def compact(run: LiveRun, command: Compact) -> str | None:
    """Compact the conversation. Returns None, or why it was refused; then the conversation is unchanged."""
    kit, loop = run.kit, run.facts.spec.loop
    if loop not in LOOPS:
        return f"{loop.a_run} starts new conversations by itself"
    if kit.activity.is_running:
        return "a step runs: interrupt it first, or wait until it ends"
    if command.undo:
        return _restore_rounds(run)
    async with run.files_at_rest:
        if kit.activity.is_running or run.facts.main.unanswered():
            return "a step runs: interrupt it first, or wait until it ends"
        with kit.activity.in_progress():
            cut = await summarise(kit)
    if isinstance(cut, NotSummarised):
        return cut.why
    kit.events.record(cut)
    return None


def _restore_rounds(run: LiveRun) -> str | None:
    if not run.facts.main.cuts:
        return "there is no compaction or clearing to undo"
    run.kit.events.record(ConversationRestored())
    return None
