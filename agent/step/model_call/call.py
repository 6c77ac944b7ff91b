"""Make one model call: admit it, stream it into the journal, charge it, and retry it if the fault allows that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...budget.admission import CallRequest, Grant, admit
from ...budget.count_margin import Margin, expected, with_surcharge
from ...protocol import (
    CallAdmitted,
    ContextTrimmed,
    Exhausted,
    Fault,
    ImagesRefused,
    LoopKind,
    Message,
    ModelFault,
    Request,
    ToolSpec,
    duration,
)
from ..formats.format_words import SCHEMA
from ..prompt.next_prompt import fit_prompt, note_shortened, window_too_small
from ..resources.activity import PersonInterrupted
from .images_shown import is_about_images
from .outages import BY_ITSELF, TRIES, is_away
from .stream import Reply, Stream
from .written_ending import written_ending

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.recorder import Events
    from ..formats.text_edits import TextEdits
    from ..prompt.fit_conversation import Fitted
    from ..resources.models_in_use import ModelsInUse
    from ..resources.prompt_limits import PromptLimits
    from ..resources.run_context import RunContext

TRIMS = 3
"""How often a prompt is halved that the provider refuses as too long."""
_BILLED = frozenset({"cut", "stalled", "timeout", "deadline", "chant"})
"""Faults after which the provider may bill the call."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed permanently, after all its retries."""

    text: str
    retryable: bool


CallResult = Reply | Failed | Exhausted
Purpose = Literal["step", "wrap_up", "summary"]
"""What a call is for. Only during a step can a person be asked to wait for a server."""


def prepare_call(
    ctx: RunContext,
    work: str | None,
    tools: Sequence[ToolSpec],
    edits: TextEdits | None = None,
    *,
    wrap_up: bool = False,
) -> tuple[Fitted, Grant | Exhausted]:
    """Fit the conversation to the window and ask the budget."""
    fitted = fit_prompt(ctx, work, tools, edits)
    return fitted, admit_call(ctx, fitted.tokens, wrap_up=wrap_up, edits=edits)


def admit_call(
    ctx: RunContext, prompt_tokens: int, *, wrap_up: bool = False, retry: bool = False, edits: TextEdits | None = None
) -> Grant | Exhausted:
    """Ask the limits of the run, and those of all runs above it, for a call with a prompt of this size."""
    model, ledger = ctx.models.current, ctx.facts.ledger
    request = CallRequest(
        prompt_tokens=prompt_tokens,
        expected_tokens=expected(prompt_tokens, ledger.newest_prompts.get(model.name)),
        margin=Margin(ledger.margins),
        window=model.window,
        max_output=_longest(ctx, edits),
        limits_output=model.limits_output,
        wrap_up=wrap_up,
        retry=retry,
        now=ctx.clock.now(),
    )
    price = with_surcharge(model.price, ledger.costs.get(model.name, []))
    return admit(ctx.limits.left(), price, request)


def _longest(ctx: RunContext, edits: TextEdits | None) -> int | None:
    """Return the tokens of the longest answer, if the model or the edit format limits it."""
    if not ctx.models.current.limits_output:
        return ctx.models.current.max_output
    limits = [ctx.models.current.max_output, None if edits is None else edits.longest]
    return min((limit for limit in limits if limit is not None), default=None)


async def call(
    ctx: RunContext,
    work: str | None,
    tools: Sequence[ToolSpec],
    events: Events,
    fitted: Fitted,
    grant: Grant,
    *,
    purpose: Purpose = "step",
    edits: TextEdits | None = None,
) -> CallResult:
    """Return the reply to the fitted conversation. Every attempt is admitted separately. Raises PersonInterrupted.

    If the model is switched while a call runs, the new model answers the next attempt. If the server stays away during
    a step, the run is paused so that a person decides, if one looks on.
    """
    wrap_up = purpose == "wrap_up"
    may_ask = purpose == "step" and ctx.work is None and not ctx.headless
    while True:
        with ctx.models.keep_current() as other_waits:
            attempts = _Attempts(ctx, work, tools, events, wrap_up, edits, may_ask, purpose != "step")
            result = await attempts.run(fitted, grant, other_waits)
        if result is not None:
            return result
        fitted, _ = prepare_call(ctx, work, tools, edits, wrap_up=wrap_up)
        if not fitted.fits:
            return Failed(window_too_small(ctx.facts, ctx.models, edits, work, tools), retryable=False)
        again = admit_call(ctx, fitted.tokens, wrap_up=wrap_up, retry=True, edits=edits)
        if isinstance(again, Exhausted):
            return again
        grant = again


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The attempts of one call at one model."""

    ctx: RunContext
    work: str | None
    tools: Sequence[ToolSpec]
    events: Events
    wrap_up: bool
    edits: TextEdits | None
    may_ask: bool
    forbids_calls: bool

    async def run(self, fitted: Fitted, grant: Grant, other_waits: Callable[[], bool]) -> CallResult | None:
        """Return the result, or None if the call is prepared again, for another model or after a person was asked."""
        ctx, events, wrap_up = self.ctx, self.events, self.wrap_up
        attempt = trims = 0
        _note_trim(ctx.models, ctx.prompts, fitted, events)
        while True:
            admitted = _admitted(ctx.models, fitted, grant, wrap_up=wrap_up)
            if (refused := ctx.shared.hold(admitted, self.work or ctx.work)) is not None:
                return refused
            events.record(admitted)
            fault = await _attempt(
                ctx, events, fitted, admitted, grant.seconds, self.edits, forbids_calls=self.forbids_calls
            )
            if isinstance(fault, Reply) or not is_away(fault):
                ctx.outages.end(ctx.models.current.name)
            if isinstance(fault, Reply):
                return fault
            if fault.kind == "context" and trims < TRIMS and (shorter := self._shorter(fitted)) is not None:
                trims += 1
                events.record(Fault(kind=fault.kind, text=f"{fault.text}; the prompt is shortened", retry_in=0.0))
                fitted = shorter
                note_shortened(ctx, fitted.fixed, self.work, self.tools, ctx.events.bound(None, self.work))
                _note_trim(ctx.models, ctx.prompts, fitted, events)
            elif is_about_images(fault, ctx.models.current.name, fitted.messages):
                return _images_refused(fault, ctx.models, fitted, events)
            elif fault.try_again:
                events.record(Fault(kind=fault.kind, text=fault.text, retry_in=0.0))
            elif (wait := self._seconds_to_wait(fault, attempt)) is not None:
                attempt += 1
                events.record(Fault(kind=fault.kind, text=fault.text, retry_in=wait))
                await ctx.activity.wait_to_retry(ctx.clock.sleep(wait), other_waits)
                await self._rest()
                if other_waits():
                    return None
            elif is_away(fault) and self.may_ask and ctx.journal.views.is_attended():
                events.record(Fault(kind=fault.kind, text=fault.text))
                ctx.activity.pause(self._question(fault), ctx.events)
                ctx.outages.end(ctx.models.current.name)
                await self._rest()
                return None
            else:
                events.record(Fault(kind=fault.kind, text=fault.text))
                return _given_up(fault, ctx, fitted, wrap_up=wrap_up)
            again = admit_call(ctx, fitted.tokens, wrap_up=wrap_up, retry=True, edits=self.edits)
            if isinstance(again, Exhausted):
                return again
            grant = again

    def _seconds_to_wait(self, fault: ModelFault, attempt: int) -> float | None:
        ctx = self.ctx
        if self.wrap_up and attempt >= TRIES:
            return None  # the end of a run does not wait for an answer that it can do without
        is_attended = self.wrap_up or (self.may_ask and ctx.journal.views.is_attended())
        left = ctx.limits.seconds_left()
        return ctx.outages.seconds_to_wait(ctx.models.current.name, fault, attempt, left, is_attended=is_attended)

    async def _rest(self) -> None:
        """Wait while the run is paused. Raises PersonInterrupted."""
        await self.ctx.activity.rest_while_paused()
        self.ctx.activity.raise_if_interrupted()

    def _question(self, fault: ModelFault) -> str:
        """Return the reason for the pause: what is waited for, until when, and what the person can do."""
        ctx = self.ctx
        if fault.retry_after is not None and fault.retry_after > BY_ITSELF:
            until = time.strftime("%H:%M", time.localtime(ctx.clock.now() + fault.retry_after))
            return f"{fault.text} (until {until}). Continue to try again, switch the model, or stop"
        waited = duration(ctx.outages.waited(ctx.models.current.name))
        return f"{fault.text} (waited {waited}). Continue to try again, switch the model, or stop"

    def _shorter(self, refused: Fitted) -> Fitted | None:
        """Return half of the prompt, which the provider refused as too long, or None if it cannot be shortened."""
        ctx = self.ctx
        ctx.prompts.note_refused(ctx.models.current.name, refused.tokens)
        shorter = fit_prompt(ctx, self.work, self.tools, self.edits, limit=refused.tokens // 2)
        return shorter if shorter.tokens < refused.tokens else None


async def _attempt(
    ctx: RunContext,
    events: Events,
    fitted: Fitted,
    admitted: CallAdmitted,
    seconds: float | None,
    edits: TextEdits | None,
    *,
    forbids_calls: bool,
) -> Reply | ModelFault:
    """Return the reply, or the fault. However the attempt ends, what may be billed is charged.

    Raises PersonInterrupted.
    """
    is_plan = ctx.facts.spec.loop is LoopKind.PLAN
    written = "propose_plan" if is_plan else written_ending(tool.name for tool in fitted.fixed.tools)
    stream = Stream(ctx, events, admitted, edits, written=None if forbids_calls else written)
    request = Request(
        messages=fitted.messages if edits is None else edits.as_sent(fitted.messages),
        tools=fitted.fixed.tools,
        forbids_calls=forbids_calls,
        schema=SCHEMA if edits is not None and edits.asks_for_json else None,
        temperature=None if edits is None else edits.temperature,
        max_tokens=admitted.max_tokens,
        seconds=seconds,
        blobs=_blobs(ctx.journal, fitted.messages),
    )
    try:
        with ctx.limits.running():
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
            found[sha] = journal.blobs.load(sha)
    return found


def _images_refused(fault: ModelFault, models: ModelsInUse, fitted: Fitted, events: Events) -> Failed:
    """Leave these images out of later calls, so that the conversation can continue. Return the failure of this call."""
    model = models.current
    shas = sorted({image.sha for message in fitted.messages for image in message.images})
    is_known_to_see = model.sees_images is True
    what = "refused the images of this call" if is_known_to_see else "does not accept images"
    text = f"{model.name} {what} ({fault.text}); later calls leave them out: switch the model, or describe them"
    events.record(ImagesRefused(model=model.name, shas=shas if is_known_to_see else []))
    events.record(Fault(kind=fault.kind, text=text))
    return Failed(text, retryable=False)


def _note_trim(models: ModelsInUse, prompts: PromptLimits, fitted: Fitted, events: Events) -> None:
    images = prompts.more_images(fitted.images)
    if fitted.dropped or fitted.shortened or images > 0:
        events.record(
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


def _given_up(fault: ModelFault, ctx: RunContext, fitted: Fitted, *, wrap_up: bool) -> Failed | Exhausted:
    if fault.kind == "deadline":
        end = admit_call(ctx, fitted.tokens, wrap_up=wrap_up, retry=True)
        if isinstance(end, Exhausted):
            return end
        return Exhausted(resource="seconds", detail=f"time budget: {fault.text}")
    waited = ctx.outages.waited(ctx.models.current.name)
    text = f"{fault.text} (waited {duration(waited)})" if waited >= 1 else fault.text
    return Failed(text, fault.retryable or fault.kind == "quota")
