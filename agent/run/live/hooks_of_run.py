"""The hooks at the start and the end of a run, and before a message of the person is delivered.

What those at the start add is sent at the first step of each conversation (`agent/step/hooks/send_context.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import HookPoint, HookRan, Outcome, Prompted, Unqueued
from ...step.hooks.hook_input import HookEvent
from ...step.hooks.run_hooks import run_hooks, says
from ...step.hooks.send_context import contexts_of
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
    ran = await _ran(run, HookEvent(on="run-start", fields=fields))
    run.ctx.start_context[:] = contexts_of(run.ctx, ran)
    if (refused := _refusal(ran)) is not None:
        run.requests.refuse_start(refused)


async def deliver_messages(run: LiveRun) -> None:
    """Deliver the queued messages, each after its hooks ran. One that a hook refuses is withdrawn."""
    contexts = await _before_messages(run) if has_hooks(run, "before-message") else {}
    delivered = [context for queued_id, found in contexts.items() if queued_id in run.facts.queue for context in found]
    run.queue.deliver()
    for text in delivered:
        run.ctx.events.record(Prompted(kind="hook", text=text))


async def _before_messages(run: LiveRun) -> dict[int, list[str]]:
    """Run the hooks before the queued messages. Returns what they add to the model, by the id of the message."""
    contexts = dict[int, list[str]]()
    if run.facts.main.unanswered():  # nothing is delivered then
        return contexts
    for queued_id, queued in sorted(run.facts.queue.items()):
        ran = await _ran(run, HookEvent(on="before-message", fields={"text": queued.text}))
        if _refusal(ran) is None:
            contexts[queued_id] = contexts_of(run.ctx, ran)
        elif queued_id in run.facts.queue:
            run.ctx.events.record(Unqueued(queued_id=queued_id))
    return contexts


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
    await _ran(run, HookEvent(on="run-end", fields=fields))


async def _ran(run: LiveRun, event: HookEvent) -> list[HookRan]:
    """Run the hooks, and return what they said. An interrupt ends the running hook and those after it."""
    with run.ctx.activity.in_progress():
        try:
            return await run_hooks(run.ctx, event, run.ctx.events)
        except PersonInterrupted:
            return []


def _refusal(ran: list[HookRan]) -> str | None:
    """Return what the hook said that refused, or None."""
    return next((says(one) for one in ran if one.result == "refused"), None)
