"""`/compact`: a summary takes the place of the old rounds; it can be taken back."""

from __future__ import annotations

from ...protocol import Compact, ConversationRestored, LoopKind
from ...step import NotSummarised, summarise
from ..run_driver import RunDriver

LOOPS = (LoopKind.CHAT, LoopKind.GOAL, LoopKind.NAIVE, LoopKind.PACED)
"""The others start their conversations over by themselves."""


async def compact(run: RunDriver, command: Compact) -> str | None:
    """None: it was done. Else why it was refused; the conversation is as it was then."""
    kit, loop = run.kit, run.facts.spec.loop
    if loop not in LOOPS:
        return f"{loop.a_run} starts its conversations over by itself"
    if kit.active:
        return "a step runs: interrupt it first, or wait for its end"
    if command.undo:
        return _take_back(run)
    async with run.files_at_rest:
        if kit.active or run.facts.main.unanswered():
            return "a step runs: interrupt it first, or wait for its end"
        with kit.activity():
            cut = await summarise(kit)
    if isinstance(cut, NotSummarised):
        return cut.why
    kit.record(cut)
    return None


def _take_back(run: RunDriver) -> str | None:
    if not run.facts.main.cuts:
        return "nothing was compacted or cleared that could be taken back"
    run.kit.record(ConversationRestored())
    return None
