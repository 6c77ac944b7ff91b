"""The hooks at the start and the end of a run, and before a message of the person is delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import HookPoint, Outcome, Unqueued
from ...step.hooks.hook_input import HookEvent
from ...step.hooks.run_hooks import run_hooks, says
from ...step.resources.activity import PersonInterrupted

if TYPE_CHECKING:
    from .live_run import LiveRun


def has_hooks(run: LiveRun, on: HookPoint) -> bool:
    """Return whether the run has a hook on this event."""
    return any(hook.on == on for hook in run.facts.spec.hooks)


async def run_start_hooks(run: LiveRun, *, resumed: bool, hint: str | None) -> None:
    """Run the hooks at the start. If one refuses, the run ends before its next step."""
    spec = run.facts.spec
    if not has_hooks(run, "run-start"):
        return
    fields = {"task": spec.task, "model": run.facts.model, "resumed": resumed, "hint": hint or ""}
    refused = await _refused(run, HookEvent(on="run-start", fields=fields))
    if refused is not None:
        run.requests.refuse_start(refused)


async def withhold_messages(run: LiveRun) -> None:
    """Run the hooks before the queued messages. One that a hook refuses is withdrawn, and the person sees why."""
    if not has_hooks(run, "before-message") or run.facts.main.unanswered():
        return
    for queued_id, queued in sorted(run.facts.queue.items()):
        refused = await _refused(run, HookEvent(on="before-message", fields={"text": queued.text}))
        if refused is not None and queued_id in run.facts.queue:
            run.ctx.events.record(Unqueued(queued_id=queued_id))


async def run_end_hooks(run: LiveRun, outcome: Outcome) -> None:
    """Run the hooks at the end. What they say is recorded and changes nothing."""
    if not has_hooks(run, "run-end"):
        return
    fields = {
        "reason": outcome.reason.value,
        "detail": outcome.detail,
        "complete": outcome.complete,
        "files_changed": list(outcome.files_changed),
    }
    await _refused(run, HookEvent(on="run-end", fields=fields))


async def _refused(run: LiveRun, event: HookEvent) -> str | None:
    """Run the hooks, and return what the refusing one said, or None. An interrupt ends the running hook."""
    with run.ctx.activity.in_progress():
        try:
            ran = await run_hooks(run.ctx, event, run.ctx.events)
        except PersonInterrupted:
            return None
    return next((says(one) for one in ran if one.result == "refused"), None)
