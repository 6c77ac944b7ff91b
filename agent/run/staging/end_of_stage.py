"""End a run that works in a stage: describe what is staged, write its patch, and flush it to the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import StaleFile
from ...journal.encoding import recorded_text
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...protocol import Fault, Finish, Judged, Reason
from ...protocol.text.counts import plural
from ...state.reports.deciding_chat import deciding_chat
from ...step.resources.run_stage import decided_on, has_output, is_staged
from ...step.tool_calls.effect_entries import is_folder
from ...verdict.judge.judge import not_judged, still_judged
from ...verdict.judge.judge_view import ViewFailed
from ..end.case_of_run import case_of_stage
from .stage_patch import write_patch

if TYPE_CHECKING:
    from ...layers.run_layers import Listed
    from ...step.resources.run_context import RunContext
    from ...step.resources.run_stage import Stage

_SUCCESSES = frozenset({Reason.DONE, Reason.ANSWERED, Reason.PLATEAU, Reason.DRY})
"""Reasons that say that the workspace itself is as the run wants it."""


async def end_in_stage(ctx: RunContext, end: Finish) -> tuple[Finish, list[str]]:
    """Keep what is staged. Returns a hand-off instead of a success if somebody has to decide on it, and its files.

    Every other end keeps its reason, and its detail says what is staged.
    """
    stage = ctx.stage
    if stage is None:
        return end, []
    await ctx.background.end_all("the run ended", with_run=True)
    try:
        listed = await stage.listed()
        await stage.keep()
    except (Occupied, TooMuch, NamespacesRefused, OSError) as error:
        why = f"what is staged cannot be listed: {error}"
        ctx.events.record(Fault(kind="program", text=why))
        return _handed_off(end, why), ctx.facts.staged
    if end.reason is Reason.DONE and ctx.judges:
        end = await _compared_with_judged(ctx, listed, end)
    if ctx.facts.spec.stage_patch is not None:
        await _write_patch(ctx, stage, listed, Path(ctx.facts.spec.stage_patch))
    if not is_staged(listed):
        passed = end.reason is Reason.DONE or end.judged
        if not passed or not ctx.facts.spent.steps or not has_output(listed):
            return end, []
        stage.is_empty = False  # the check failed before the steps; that it passes may be because of this output
    files = [one.path for one in decided_on(listed) if not is_folder(one)]
    if await asyncio.to_thread(deciding_chat, ctx.facts.spec):
        return end, sorted(map(recorded_text, files))  # its parent asks about them now
    what = [*([plural(len(files), "file")] if files else []), *(["git"] if any(one.rows for one in listed.git) else [])]
    what = what or ["folders" if is_staged(listed) else "build output"]
    words = f"{' and '.join(what)} staged, see `rundry apply {ctx.facts.spec.run_id}`"
    return _handed_off(end, words), sorted(map(recorded_text, files))


async def _compared_with_judged(ctx: RunContext, listed: Listed, end: Finish) -> Finish:
    """Return the end, or a hand-off if what is staged is not as it was judged: the background has ended since."""
    judged = ctx.facts.verdicts.judgement
    if judged is None or not judged.passed:
        return end
    try:
        if await asyncio.to_thread(still_judged, case_of_stage(ctx, listed), judged) is not None:
            return end
        found = Judged(grade="passed", passed=False, why="moved", detail="files changed after the result was judged")
    except ViewFailed as failed:
        found = not_judged(failed)
    ctx.events.record(found)
    return Finish(reason=Reason.HANDOFF, detail=f"{found.detail} ({end.reason}: {end.detail})")


def _handed_off(end: Finish, words: str) -> Finish:
    if end.reason not in _SUCCESSES:
        return msgspec.structs.replace(end, detail=f"{end.detail}; {words}")
    return Finish(reason=Reason.HANDOFF, detail=f"{words} ({end.reason}: {end.detail})")


async def _write_patch(ctx: RunContext, stage: Stage, listed: Listed, target: Path) -> None:
    """Write the patch that the user asked for."""
    try:
        await asyncio.to_thread(write_patch, stage, listed, target)
    except (OSError, StaleFile) as error:
        ctx.events.record(Fault(kind="program", text=f"--stage-patch {target} was not written: {error}"))
