"""Replace old rounds by a summary of the model (docs/requirements.md 8.7).

The call is not a step, but the budget has to admit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol import SUMMARY_WORK, ConversationCut, Exhausted, Interrupted, Message, Prompted
from ...state.facts.conversation import Conversation
from ..prompt.fit_conversation import fit
from ..prompt.next_prompt import fixed_limits
from ..prompt.smallest_window import prompt_room
from ..resources.activity import PersonInterrupted
from .call import Failed, admit_call, call
from .images_shown import with_accepted_images

if TYPE_CHECKING:
    from ..resources.models_in_use import ModelsInUse
    from ..resources.run_context import RunContext

_PROMPT = (
    "The conversation so far is replaced by a summary that you write now; you will read nothing else of it. Keep what "
    "is needed to continue: what the person wants, in their words where they matter; what was done and found, with "
    "paths and names; decisions and why; what failed; what is open. No greeting, no comment on the summary itself. You "
    "must not call tools in this answer."
)
_KEPT_SHARE = 0.15
"""Share of the window up to which the newest rounds are kept unchanged."""
_KEPT_ROUNDS = 2
_FEWEST = 3
"""Number of messages, including the task, below which a summary is not worth its price."""


@dataclass(frozen=True, slots=True)
class NotSummarised:
    """The reason why there is no summary."""

    why: str


async def summarise(ctx: RunContext) -> ConversationCut | NotSummarised:
    """Return the cut with its price, not recorded yet. The caller must keep the run from continuing meanwhile."""
    conversation = ctx.facts.main
    kept = _kept(conversation, ctx.models)
    old = len([m for m in conversation.messages if m.role != "system"]) - kept
    if old < _FEWEST:
        return NotSummarised("there is nothing to compact yet")
    usd = ctx.facts.spent.usd
    said = await _ask(ctx, conversation.current())
    ctx.facts.conversations.pop(SUMMARY_WORK, None)
    if isinstance(said, NotSummarised):
        return said
    count = ctx.models.current.count
    before = count(conversation.current(), ())
    cut = ConversationCut(summary=said, kept=kept, usd=ctx.facts.spent.usd - usd if ctx.models.current.price else None)
    trial = Conversation(list(conversation.messages), list(conversation.seqs), upto=conversation.upto)
    trial.apply(cut, ctx.facts.last_seq)
    after = count(trial.current(), ())
    if after >= before:
        return NotSummarised(f"the summary is not shorter than what it replaces ({after} of {before} tokens): not used")
    return ConversationCut(summary=said, kept=kept, tokens_before=before, tokens_after=after, usd=cut.usd)


def _kept(conversation: Conversation, models: ModelsInUse) -> int:
    """Return how many of the newest messages are kept: whole rounds, while they are small."""
    messages = conversation.messages
    first = next((i for i, m in enumerate(messages) if m.role == "user"), len(messages))
    starts = [
        i for i, m in enumerate(messages) if m.role in ("user", "assistant") and i >= max(first + 1, conversation.upto)
    ][-_KEPT_ROUNDS:]
    room = models.current.window * _KEPT_SHARE
    start = next((i for i in starts if models.current.count(messages[i:], ()) <= room), len(messages))
    return len(messages) - start


async def _ask(ctx: RunContext, messages: Sequence[Message]) -> str | NotSummarised:
    """Return the summary that the model wrote."""
    events = ctx.events.bound(None, SUMMARY_WORK)
    ctx.facts.conversations[SUMMARY_WORK] = Conversation(list(messages), [0] * len(messages))
    events.record(Prompted(kind="compact", text=_PROMPT))
    model = ctx.models.current
    tools = ctx.prompts.offered  # so that the prompt begins as that of the newest step, and is read from the cache
    fitted = fit(
        with_accepted_images(model, ctx.facts, ctx.facts.conversation(SUMMARY_WORK)),
        count=model.count,
        window=model.window,
        room=prompt_room(model.window, model.max_output),
        tools=tools,
        limits=fixed_limits(ctx, SUMMARY_WORK, tools),
    )
    grant = admit_call(ctx, fitted.tokens, retry=True)  # it does not count as a step
    if isinstance(grant, Exhausted):
        return NotSummarised(f"a summary does not fit the limits: {grant.detail}")
    try:
        reply = await call(ctx, SUMMARY_WORK, tools, events, fitted, grant, purpose="summary")
    except PersonInterrupted as how:
        events.record(Interrupted(what="model", detail=str(how)))
        return NotSummarised("it was interrupted: the conversation stays as it is")
    if isinstance(reply, Failed):
        return NotSummarised(f"the model gave no summary: {reply.text}")
    if isinstance(reply, Exhausted):
        return NotSummarised(f"a summary does not fit the limits: {reply.detail}")
    return reply.text.strip() or NotSummarised("the model gave an empty summary: the conversation stays as it is")
