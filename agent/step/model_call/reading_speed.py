"""Measure with a tiny call how fast a server of the user's own reads, if nothing is known about it.

The budget admits the call like any other, and it is charged, but it is not a step.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from ...budget.ledger import charged_for
from ...models.server_tokenizer import SAMPLE_TEXT
from ...protocol import CallAdmitted, Exhausted, Message, ModelFault, Request, ServerKind, Tokens, UsagePart
from ..prompt.next_prompt import MOST_SECONDS
from .call import admit_call

if TYPE_CHECKING:
    from ..resources.run_context import RunContext

_MEASURED: frozenset[ServerKind] = frozenset({"llama.cpp", "ollama", "lm-studio"})
"""Kinds of servers that often run without a graphics card."""
WORK = "reading speed"
"""Name of its work order, so that its events do not belong to the conversation of the run."""
_CALLS = 2
"""Maximum number of calls: the first one can include the time in which the server loads the model."""
_PROMPT_TOKENS = 2_000
"""Tokens of a usual first prompt with tools. If the server reads that in time, no second call is made."""
_CHARACTERS = 320
"""Characters of the text that is read: about 100 tokens."""
_ANSWER_TOKENS = 4


async def measure_reading(ctx: RunContext) -> None:
    """Let the model read a few tokens, if a server of the user's own may read slowly.

    The speed is in `Model.served` then. A call that fails is not repeated.
    Raises PersonInterrupted.
    """
    model = ctx.models.current
    if not ctx.prompts.is_first_measurement(model.name):
        return
    is_known = model.served is not None and model.served.read_speed is not None
    for _ in range(0 if is_known else _CALLS):
        served = model.served
        if served is None or not served.self_hosted or served.kind not in _MEASURED:
            return
        if served.read_speed is not None and served.read_speed * MOST_SECONDS >= _PROMPT_TOKENS:
            return
        await _measure(ctx)
        if model.served is None or model.served.read_speed is None:
            return


async def _measure(ctx: RunContext) -> None:
    """Make the call, and charge it however it ends."""
    model, events = ctx.models.current, ctx.events.bound(None, WORK)
    text = f"{secrets.token_hex(8)}\n{SAMPLE_TEXT[:_CHARACTERS]}\nReply with the one word: ready"
    messages = [Message(role="user", text=text)]
    tokens = model.count(messages, ())
    grant = admit_call(ctx, tokens, retry=True)  # it does not count as a step
    if isinstance(grant, Exhausted):
        return
    limit = min(grant.max_tokens, _ANSWER_TOKENS)
    grant = msgspec.structs.replace(grant, max_tokens=limit, worst_tokens=grant.worst_tokens - grant.max_tokens + limit)
    admitted = CallAdmitted(
        prompt_tokens=tokens,
        max_tokens=grant.max_tokens,
        worst_usd=grant.worst_usd,
        worst_tokens=grant.worst_tokens,
        model=model.name,
    )
    if ctx.shared.hold(admitted, ctx.work) is not None:
        return
    events.record(admitted)
    request = Request(messages=messages, max_tokens=limit, seconds=grant.seconds)
    usage = list[UsagePart]()

    async def ask() -> None:
        async for part in model.stream(request):
            if isinstance(part, UsagePart):
                usage.append(part)

    try:
        with ctx.limits.running():
            await ctx.activity.interruptible(ask())
    except ModelFault:
        pass  # the step that follows meets the same fault, and shows it
    finally:
        own, reported = Tokens(tokens, _ANSWER_TOKENS), usage[-1] if usage else None
        events.record(charged_for(own, reported, admitted, model, is_cut=reported is None))
