"""One model call: admitted, streamed into the journal, charged, and tried again where a fault allows it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...protocol import (
    CallAdmitted,
    ContextTrimmed,
    Fault,
    ImagesRefused,
    Message,
    ModelFault,
    Record,
    Request,
    ToolSpec,
)
from ...stops import Exhausted, Grant, Margin, admit, reserve_for
from ..constrained import SCHEMA, Constrained, plain_messages
from ..fitting.context import Fitted
from ..fitting.turn import fit_turn, too_small
from ..resources.activity import PersonInterrupted
from ..resources.kit import Kit
from .holds import release_due
from .images_shown import is_about_images
from .stream import Reply, Stream

RETRIES = 3
TRIMS = 3
"""How often a prompt that a provider refuses as too long is halved."""
ASK_ABOVE = 60.0
"""Seconds: a longer wait that a provider asks for is not waited out silently."""
_BILLED = frozenset({"cut", "stalled", "timeout", "deadline", "chant"})
"""Faults after which the provider may send a bill."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed for good, after the retries that it deserved."""

    text: str
    retryable: bool


CallResult = Reply | Failed | Exhausted


def prepare(
    kit: Kit,
    work: str | None,
    tools: Sequence[ToolSpec],
    form: Constrained | None = None,
    *,
    wrap_up: bool = False,
) -> tuple[Fitted, Grant | Exhausted]:
    """Fit the conversation to the window and ask the budget, after holds whose time is over were released."""
    release_due(kit)
    fitted = fit_turn(kit, work, tools, form)
    return fitted, _admit(kit, fitted.tokens, wrap_up=wrap_up)


def _admit(kit: Kit, prompt_tokens: int, *, wrap_up: bool, retry: bool = False) -> Grant | Exhausted:
    budget, price = kit.facts.budget, kit.models.current.price
    return admit(
        budget,
        kit.usage.spent(),
        prompt_tokens,
        price=price,
        margin=Margin(kit.facts.margins),
        reserve=reserve_for(budget, price, kit.models.current.window),
        window=kit.models.current.window,
        max_output=kit.models.current.max_output,
        wrap_up=wrap_up,
        retry=retry,
        now=kit.clock.now(),
    )


async def call(
    kit: Kit,
    work: str | None,
    tools: Sequence[ToolSpec],
    record: Record,
    fitted: Fitted,
    grant: Grant,
    *,
    wrap_up: bool = False,
    form: Constrained | None = None,
) -> CallResult:
    """The reply to the fitted conversation. Every attempt is admitted on its own. Raises PersonInterrupted.

    A model that is switched while a call runs answers the next one, or the next attempt of this one.
    """
    while True:
        with kit.models.keep_current() as other_waits:
            attempts = _Attempts(kit, work, tools, record, wrap_up, form)
            result = await attempts.run(fitted, grant, other_waits)
        if result is not None:
            return result
        fitted, _ = prepare(kit, work, tools, form, wrap_up=wrap_up)
        if not fitted.fits:
            return Failed(too_small(kit, work, tools), retryable=False)
        again = _admit(kit, fitted.tokens, wrap_up=wrap_up, retry=True)
        if isinstance(again, Exhausted):
            return again
        grant = again


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The attempts of one call at one model."""

    kit: Kit
    work: str | None
    tools: Sequence[ToolSpec]
    record: Record
    wrap_up: bool
    form: Constrained | None

    async def run(self, fitted: Fitted, grant: Grant, other_waits: Callable[[], bool]) -> CallResult | None:
        """None: another model is to make the next attempt."""
        kit, record, wrap_up = self.kit, self.record, self.wrap_up
        attempt = trims = 0
        _note_trim(kit, fitted, record)
        while True:
            record(_admitted(kit, fitted, grant, wrap_up=wrap_up))
            fault = await _attempt(kit, record, fitted, grant, self.form)
            if isinstance(fault, Reply):
                return fault
            if fault.kind == "context" and trims < TRIMS and (shorter := self._shorter(fitted)) is not None:
                trims += 1
                record(Fault(kind=fault.kind, text=f"{fault.text}; the conversation is trimmed", retry_in=0.0))
                fitted = shorter
                _note_trim(kit, fitted, record)
            elif is_about_images(fault, kit.models.current.name, fitted.messages):
                return _images_refused(fault, kit, fitted, record)
            elif fault.kind == "bad-request" and self.form is not None and not self.form.plain:
                self.form.plain = True
                record(Fault(kind=fault.kind, text=f"{fault.text}; asked once more without a schema", retry_in=0.0))
            elif (wait := _wait_before_retry(fault, attempt, kit.usage.seconds_left())) is not None:
                attempt += 1
                record(Fault(kind=fault.kind, text=fault.text, retry_in=wait))
                await kit.activity.interruptible(kit.clock.sleep(wait))
                if other_waits():
                    return None
            else:
                record(Fault(kind=fault.kind, text=fault.text))
                return _given_up(fault, kit, fitted, wrap_up=wrap_up)
            again = _admit(kit, fitted.tokens, wrap_up=wrap_up, retry=True)
            if isinstance(again, Exhausted):
                return again
            grant = again

    def _shorter(self, refused: Fitted) -> Fitted | None:
        """About half of a prompt that the provider refused as too long; None: it cannot be shortened."""
        kit = self.kit
        kit.prompts.note_refused(kit.models.current.name, refused.tokens)
        shorter = fit_turn(kit, self.work, self.tools, self.form, most=refused.tokens // 2)
        return shorter if shorter.tokens < refused.tokens else None


async def _attempt(
    kit: Kit,
    record: Record,
    fitted: Fitted,
    grant: Grant,
    form: Constrained | None,
) -> Reply | ModelFault:
    """The reply, or why there is none. Whatever ends it, what may be billed is charged. Raises PersonInterrupted."""
    stream = Stream(kit, record, fitted, grant, form)
    request = Request(
        messages=fitted.messages if form is None else plain_messages(fitted.messages),
        tools=fitted.fixed.tools,
        schema=SCHEMA if form is not None and not form.plain else None,
        max_tokens=grant.max_tokens,
        seconds=grant.seconds,
        blobs=_blobs(kit, fitted.messages),
    )
    try:
        with kit.usage.running():
            return await kit.activity.interruptible(stream.run(request))
    except ModelFault as fault:
        if fault.kind in _BILLED or stream.began:
            stream.charge_estimate()
        return fault
    except (PersonInterrupted, asyncio.CancelledError):
        stream.charge_estimate()
        raise


def _blobs(kit: Kit, messages: Sequence[Message]) -> dict[str, bytes]:
    """Content of the messages' images and opaque parts."""
    shas = {image.sha for m in messages for image in m.images}
    shas |= {m.opaque.sha for m in messages if m.opaque is not None}
    found: dict[str, bytes] = {}
    for sha in shas:
        with suppress(KeyError):  # a journal that lost a blob: the message goes without it
            found[sha] = kit.journal.blob(sha)
    return found


def _images_refused(fault: ModelFault, kit: Kit, fitted: Fitted, record: Record) -> Failed:
    """Later calls go without these images, so that the conversation is not stuck; this one was about them."""
    model = kit.models.current
    shas = sorted({image.sha for message in fitted.messages for image in message.images})
    is_known_to_see = model.sees_images is True
    what = "refused the images of this call" if is_known_to_see else "does not accept images"
    text = f"{model.name} {what} ({fault.text}); later calls go without them: switch the model, or describe them"
    record(ImagesRefused(model=model.name, shas=shas if is_known_to_see else []))
    record(Fault(kind=fault.kind, text=text))
    return Failed(text, retryable=False)


def _note_trim(kit: Kit, fitted: Fitted, record: Record) -> None:
    images = kit.prompts.more_images(fitted.images)
    if fitted.dropped or fitted.shortened or images > 0:
        record(
            ContextTrimmed(
                dropped_messages=fitted.dropped,
                dropped_tokens=fitted.dropped_tokens,
                window=kit.models.current.window,
                upto=fitted.upto,
                shortened=fitted.shortened,
                images=fitted.images,
            )
        )


def _admitted(kit: Kit, fitted: Fitted, grant: Grant, *, wrap_up: bool) -> CallAdmitted:
    return CallAdmitted(
        prompt_tokens=fitted.tokens,
        max_tokens=grant.max_tokens,
        worst_usd=grant.worst_usd,
        worst_tokens=grant.worst_tokens,
        model=kit.models.current.name,
        wrap_up=wrap_up,
    )


def _wait_before_retry(fault: ModelFault, attempt: int, seconds_left: float | None) -> float | None:
    """Seconds until the next attempt, with jitter; None where there is none."""
    if not fault.retryable or attempt >= RETRIES:
        return None
    wait = fault.retry_after if fault.retry_after is not None else 2**attempt * random.uniform(0.5, 1.0)
    if wait > ASK_ABOVE or (seconds_left is not None and wait >= seconds_left):
        return None
    return wait


def _given_up(fault: ModelFault, kit: Kit, fitted: Fitted, *, wrap_up: bool) -> Failed | Exhausted:
    if fault.kind == "deadline":
        end = _admit(kit, fitted.tokens, wrap_up=wrap_up, retry=True)
        if isinstance(end, Exhausted):
            return end
        return Exhausted(resource="seconds", detail=f"time budget: {fault.text}")
    text = fault.text
    if fault.retry_after is not None and fault.retry_after > ASK_ABOVE:
        text = f"{text} (the provider asks to wait {fault.retry_after:.0f} s)"
    return Failed(text, fault.retryable or fault.kind == "quota")
