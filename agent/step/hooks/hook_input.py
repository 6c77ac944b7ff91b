"""The JSON that a hook gets on standard input (docs/how-to/hooks.md). Names are as in `--json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ...protocol import HOOK_VERSION, HookPoint

if TYPE_CHECKING:
    from ..resources.run_context import RunContext


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The event of a hook: what happened, or is about to happen."""

    on: HookPoint
    tool: str = ""
    call_id: str = ""
    path: str = ""
    """The file that the call or the edit is about, relative to the workspace. Empty means none."""
    fields: dict[str, Any] = {}
    """Fields that only this event has."""


def hook_input(ctx: RunContext, event: HookEvent) -> bytes:
    """Return one JSON object in one line."""
    about: dict[str, Any] = {
        "version": HOOK_VERSION,
        "event": event.on,
        "run_id": ctx.facts.spec.run_id,
        "workspace": str(ctx.workspace.seen),
        "loop": ctx.facts.spec.loop,
        "step": ctx.facts.step,
        "work": ctx.work,
    }
    for name in ("tool", "call_id", "path"):
        if value := getattr(event, name):
            about[name] = value
    return msgspec.json.encode({**about, **event.fields}) + b"\n"
