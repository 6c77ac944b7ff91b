"""Make the last call of a run that stops early: for text alone, paid from the reserve (docs/requirements.md 3.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import Exhausted, Interrupted, Prompted
from ...state.facts.conversation import last_text
from ..prompt.fit_conversation import Fitted, fit
from ..resources.activity import PersonInterrupted
from .call import admit_call, call, prepare_call
from .images_shown import with_accepted_images
from .stream import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...budget.admission import Grant
    from ...protocol import ToolSpec
    from ..resources.run_context import RunContext

_PROMPT = (
    "The run ends here: {why}. Do not call tools: no call is carried out any more. Give your best answer to the task "
    "so far, in a few sentences, and say plainly what is not finished and what could not be verified."
)
_USEFUL = 128
"""Length of an answer in tokens below which the prompt is trimmed further instead."""
_SMALLEST = 200
"""Length of a prompt in tokens below which a wrap-up is useless."""


async def wrap_up(ctx: RunContext, why: str) -> str | None:
    """Return the model's final answer; None if the call does not fit the limits. It does not count as a step.

    If no step followed an earlier wrap-up, that one is returned.
    """
    if ctx.facts.wrapped_up:
        return last_text(ctx.facts.main.messages)
    ctx.events.record(Prompted(kind="wrap_up", text=_PROMPT.format(why=why)))
    found = _room(ctx)
    if found is None:
        return None
    tools, fitted, grant = found
    events = ctx.events.bound(None, None)
    with ctx.activity.in_progress():
        try:
            reply = await call(ctx, None, tools, events, fitted, grant, purpose="wrap_up")
        except PersonInterrupted as how:
            events.record(Interrupted(what="model", detail=str(how)))
            return None
    return reply.text.strip() or None if isinstance(reply, Reply) else None


def _room(ctx: RunContext) -> tuple[Sequence[ToolSpec], Fitted, Grant] | None:
    """Return tools, prompt and grant of the last call, or None if the reserve admits none.

    The prompt continues that of the newest step, with its tools, so that it is read from the provider's cache. If the
    reserve does not admit that, it is the longest prompt without tools that it admits.
    """
    if tools := ctx.prompts.offered:
        fitted, grant = prepare_call(ctx, None, tools, wrap_up=True)
        if fitted.fits and not isinstance(grant, Exhausted) and grant.max_tokens >= _USEFUL:
            return tools, fitted, grant
    model, budget = ctx.models.current, ctx.facts.budget
    room = model.window * 3 // 4
    if budget.tokens is not None:
        room = min(room, max(budget.tokens - ctx.limits.spent().counted_tokens, 0) * 2 // 3)
    shown = with_accepted_images(model, ctx.facts, ctx.facts.main)
    best: tuple[Fitted, Grant] | None = None
    while room >= _SMALLEST:
        fitted = fit(shown, count=model.count, window=model.window, room=room)
        grant = admit_call(ctx, fitted.tokens, wrap_up=True)
        if not isinstance(grant, Exhausted):
            best = (fitted, grant)
            if grant.max_tokens >= _USEFUL:
                break
        room = min(room, fitted.tokens) * 2 // 3
    return None if best is None else ((), *best)
