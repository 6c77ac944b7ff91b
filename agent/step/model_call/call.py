"""Make one model call: admit it, stream it into the journal, charge it, and retry it if the fault allows that."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol import (
    Budget,
    CallAdmitted,
    ContextTrimmed,
    Exhausted,
    Fault,
    ImagesRefused,
    Message,
    ModelFault,
    Record,
    Request,
    Spent,
    ToolSpec,
)
from ...stops.budget import Grant, admit, tighter
from ...stops.margin import Margin
from ...stops.reserve import Reserve, reserve_for
from ...stops.surcharge import with_surcharge
from ..constrained import SCHEMA, Constrained, plain_messages
from ..fitting.next_prompt import fit_prompt, window_too_small
from ..resources.activity import PersonInterrupted
from ..resources.ancestors import with_run_id
from .images_shown import is_about_images
from .stream import Reply, Stream

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Price
    from ..fitting.context import Fitted
    from ..resources.context import RunContext
    from ..resources.models_in_use import ModelsInUse
    from ..resources.prompt_limits import PromptLimits

RETRIES = 3
"""How often a call is repeated after a fault that may pass."""
TRIMS = 3
"""How often a prompt is halved that the provider refuses as too long."""
ASK_ABOVE = 60.0
"""Seconds. If a provider asks to wait longer, the call fails and the user sees the time."""
_BILLED = frozenset({"cut", "stalled", "timeout", "deadline", "chant"})
"""Faults after which the provider may bill the call."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed permanently, after all its retries."""

    text: str
    retryable: bool


CallResult = Reply | Failed | Exhausted


def prepare(
    ctx: RunContext,
    work: str | None,
    tools: Sequence[ToolSpec],
    constrained: Constrained | None = None,
    *,
    wrap_up: bool = False,
) -> tuple[Fitted, Grant | Exhausted]:
    """Fit the conversation to the window and ask the budget."""
    fitted = fit_prompt(ctx, work, tools, constrained)
    return fitted, admit_call(ctx, fitted.tokens, wrap_up=wrap_up)


def admit_call(ctx: RunContext, prompt_tokens: int, *, wrap_up: bool = False, retry: bool = False) -> Grant | Exhausted:
    """Ask the budget of the run, and those of all runs above it, for a call with a prompt of this size."""
    reserve = reserve_for(ctx.facts.budget, _price(ctx), ctx.models.current.window)
    found = _admit(ctx, ctx.facts.budget, ctx.usage.spent(), reserve, prompt_tokens, wrap_up=wrap_up, retry=retry)
    for run_id, budget, spent in ctx.ancestors.limits(ctx.usage.uncounted()):
        if isinstance(found, Exhausted):
            return found
        above = _admit(ctx, budget, spent, Reserve(), prompt_tokens, wrap_up=wrap_up, retry=retry)
        found = with_run_id(run_id, above) if isinstance(above, Exhausted) else tighter(found, above)
    return found


def _admit(
    ctx: RunContext, budget: Budget, spent: Spent, reserve: Reserve, prompt_tokens: int, *, wrap_up: bool, retry: bool
) -> Grant | Exhausted:
    return admit(
        budget,
        spent,
        prompt_tokens,
        price=_price(ctx),
        margin=Margin(ctx.facts.margins),
        reserve=reserve,
        window=ctx.models.current.window,
        max_output=ctx.models.current.max_output,
        wrap_up=wrap_up,
        retry=retry,
        now=ctx.clock.now(),
    )


def _price(ctx: RunContext) -> Price | None:
    """Return the price of the current model, with what its provider has reported in addition."""
    model = ctx.models.current
    return with_surcharge(model.price, ctx.facts.spending.costs.get(model.name, []))


async def call(
    ctx: RunContext,
    work: str | None,
    tools: Sequence[ToolSpec],
    record: Record,
    fitted: Fitted,
    grant: Grant,
    *,
    wrap_up: bool = False,
    constrained: Constrained | None = None,
) -> CallResult:
    """Return the reply to the fitted conversation. Every attempt is admitted separately. Raises PersonInterrupted.

    If the model is switched while a call runs, the new model answers the next attempt.
    """
    while True:
        with ctx.models.keep_current() as other_waits:
            attempts = _Attempts(ctx, work, tools, record, wrap_up, constrained)
            result = await attempts.run(fitted, grant, other_waits)
        if result is not None:
            return result
        fitted, _ = prepare(ctx, work, tools, constrained, wrap_up=wrap_up)
        if not fitted.fits:
            return Failed(window_too_small(ctx.facts, ctx.models, ctx.constrained, work, tools), retryable=False)
        again = admit_call(ctx, fitted.tokens, wrap_up=wrap_up, retry=True)
        if isinstance(again, Exhausted):
            return again
        grant = again


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The attempts of one call at one model."""

    ctx: RunContext
    work: str | None
    tools: Sequence[ToolSpec]
    record: Record
    wrap_up: bool
    constrained: Constrained | None

    async def run(self, fitted: Fitted, grant: Grant, other_waits: Callable[[], bool]) -> CallResult | None:
        """Return the result; None: the next attempt is made with another model."""
        ctx, record, wrap_up = self.ctx, self.record, self.wrap_up
        attempt = trims = 0
        _note_trim(ctx.models, ctx.prompts, fitted, record)
        while True:
            admitted = _admitted(ctx.models, fitted, grant, wrap_up=wrap_up)
            if (refused := ctx.ancestors.hold(admitted, self.work or ctx.work)) is not None:
                return refused
            record(admitted)
            fault = await _attempt(ctx, record, fitted, grant, self.constrained)
            if isinstance(fault, Reply):
                return fault
            if fault.kind == "context" and trims < TRIMS and (shorter := self._shorter(fitted)) is not None:
                trims += 1
                record(Fault(kind=fault.kind, text=f"{fault.text}; the conversation is trimmed", retry_in=0.0))
                fitted = shorter
                _note_trim(ctx.models, ctx.prompts, fitted, record)
            elif is_about_images(fault, ctx.models.current.name, fitted.messages):
                return _images_refused(fault, ctx.models, fitted, record)
            elif fault.kind == "bad-request" and self.constrained is not None and not self.constrained.plain:
                self.constrained.plain = True
                record(Fault(kind=fault.kind, text=f"{fault.text}; asked once more without a schema", retry_in=0.0))
            elif (wait := _wait_before_retry(fault, attempt, ctx.usage.seconds_left())) is not None:
                attempt += 1
                record(Fault(kind=fault.kind, text=fault.text, retry_in=wait))
                await ctx.activity.interruptible(ctx.clock.sleep(wait))
                if other_waits():
                    return None
            else:
                record(Fault(kind=fault.kind, text=fault.text))
                return _given_up(fault, ctx, fitted, wrap_up=wrap_up)
            again = admit_call(ctx, fitted.tokens, wrap_up=wrap_up, retry=True)
            if isinstance(again, Exhausted):
                return again
            grant = again

    def _shorter(self, refused: Fitted) -> Fitted | None:
        """Return half of the prompt, which the provider refused as too long; None: it cannot be shortened."""
        ctx = self.ctx
        ctx.prompts.note_refused(ctx.models.current.name, refused.tokens)
        shorter = fit_prompt(ctx, self.work, self.tools, self.constrained, most=refused.tokens // 2)
        return shorter if shorter.tokens < refused.tokens else None


async def _attempt(
    ctx: RunContext,
    record: Record,
    fitted: Fitted,
    grant: Grant,
    constrained: Constrained | None,
) -> Reply | ModelFault:
    """Return the reply, or the fault. However the attempt ends, what may be billed is charged.

    Raises PersonInterrupted.
    """
    stream = Stream(ctx, record, fitted, grant, constrained)
    request = Request(
        messages=fitted.messages if constrained is None else plain_messages(fitted.messages),
        tools=fitted.fixed.tools,
        schema=SCHEMA if constrained is not None and not constrained.plain else None,
        max_tokens=grant.max_tokens,
        seconds=grant.seconds,
        blobs=_blobs(ctx.journal, fitted.messages),
    )
    try:
        with ctx.usage.running():
            return await ctx.activity.interruptible(stream.run(request))
    except ModelFault as fault:
        if fault.kind in _BILLED or stream.began or fault.usage is not None:
            stream.charge(fault.usage, is_cut=True)
        return fault
    except (PersonInterrupted, asyncio.CancelledError):
        stream.charge(None, is_cut=True)
        raise


def _blobs(journal: Journal, messages: Sequence[Message]) -> dict[str, bytes]:
    """Return the content of the images and opaque parts of these messages, by blob."""
    shas = {image.sha for m in messages for image in m.images}
    shas |= {m.opaque.sha for m in messages if m.opaque is not None}
    found: dict[str, bytes] = {}
    for sha in shas:
        with suppress(KeyError):  # the journal lost the blob, so the message is sent without it
            found[sha] = journal.blob(sha)
    return found


def _images_refused(fault: ModelFault, models: ModelsInUse, fitted: Fitted, record: Record) -> Failed:
    """Leave these images out of later calls, so that the conversation can continue. Return the failure of this call."""
    model = models.current
    shas = sorted({image.sha for message in fitted.messages for image in message.images})
    is_known_to_see = model.sees_images is True
    what = "refused the images of this call" if is_known_to_see else "does not accept images"
    text = f"{model.name} {what} ({fault.text}); later calls leave them out: switch the model, or describe them"
    record(ImagesRefused(model=model.name, shas=shas if is_known_to_see else []))
    record(Fault(kind=fault.kind, text=text))
    return Failed(text, retryable=False)


def _note_trim(models: ModelsInUse, prompts: PromptLimits, fitted: Fitted, record: Record) -> None:
    images = prompts.more_images(fitted.images)
    if fitted.dropped or fitted.shortened or images > 0:
        record(
            ContextTrimmed(
                dropped_messages=fitted.dropped,
                dropped_tokens=fitted.dropped_tokens,
                window=models.current.window,
                upto=fitted.upto,
                shortened=fitted.shortened,
                images=fitted.images,
            )
        )


def _admitted(models: ModelsInUse, fitted: Fitted, grant: Grant, *, wrap_up: bool) -> CallAdmitted:
    return CallAdmitted(
        prompt_tokens=fitted.tokens,
        max_tokens=grant.max_tokens,
        worst_usd=grant.worst_usd,
        worst_tokens=grant.worst_tokens,
        model=models.current.name,
        wrap_up=wrap_up,
    )


def _wait_before_retry(fault: ModelFault, attempt: int, seconds_left: float | None) -> float | None:
    """Return the seconds until the next attempt, with jitter; None: there is no further attempt."""
    if not fault.retryable or attempt >= RETRIES:
        return None
    wait = fault.retry_after if fault.retry_after is not None else 2**attempt * random.uniform(0.5, 1.0)
    if wait > ASK_ABOVE or (seconds_left is not None and wait >= seconds_left):
        return None
    return wait


def _given_up(fault: ModelFault, ctx: RunContext, fitted: Fitted, *, wrap_up: bool) -> Failed | Exhausted:
    if fault.kind == "deadline":
        end = admit_call(ctx, fitted.tokens, wrap_up=wrap_up, retry=True)
        if isinstance(end, Exhausted):
            return end
        return Exhausted(resource="seconds", detail=f"time budget: {fault.text}")
    text = fault.text
    if fault.retry_after is not None and fault.retry_after > ASK_ABOVE:
        text = f"{text} (the provider asks to wait {fault.retry_after:.0f} s)"
    return Failed(text, fault.retryable or fault.kind == "quota")
