"""A summary by the model that replaces the old rounds (docs/requirements.md 8.7). Not a step, but admitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...facts.conversation import Conversation
from ...protocol import ConversationCut, Interrupted, Message, Prompted
from ...stops import Exhausted, Margin, admit, reserve_for
from ..fitting.context import fit
from ..fitting.smallest import prompt_room
from ..resources.activity import PersonInterrupted
from ..resources.kit import Kit
from .call import Failed, call
from .images_shown import shown_to

WORK = "compact"
"""Its events are no part of the run's own conversation."""
_PROMPT = (
    "The conversation so far is replaced by a summary that you write now; you will read nothing else of it. Keep what "
    "is needed to go on: what the person wants, in their words where they matter; what was done and found, with paths "
    "and names; decisions and why; what failed; what is open. No greeting, no comment on the summary itself. You have "
    "no tools for this answer."
)
_KEPT_SHARE = 0.15
"""Of the window, that the newest rounds may take to stay as they are."""
_KEPT_ROUNDS = 2
_FEWEST = 3
"""Messages, the task among them, below which a summary is not worth its price."""


@dataclass(frozen=True, slots=True)
class NotSummarised:
    """Why there is none."""

    why: str


async def summarise(kit: Kit) -> ConversationCut | NotSummarised:
    """The cut, priced and not recorded yet. The caller holds the run still."""
    conversation = kit.facts.main
    kept = _kept(conversation, kit)
    old = len([m for m in conversation.messages if m.role != "system"]) - kept
    if old < _FEWEST:
        return NotSummarised("there is nothing to compact yet")
    usd = kit.facts.spent.usd
    said = await _ask(kit, conversation.current())
    kit.facts.conversations.pop(WORK, None)
    if isinstance(said, NotSummarised):
        return said
    count = kit.models.current.count
    before = count(conversation.current(), ())
    cut = ConversationCut(summary=said, kept=kept, usd=kit.facts.spent.usd - usd if kit.models.current.price else None)
    trial = Conversation(list(conversation.messages), list(conversation.seqs), upto=conversation.upto)
    trial.apply(cut, kit.facts.last_seq)
    after = count(trial.current(), ())
    if after >= before:
        return NotSummarised(f"the summary is no shorter than what it replaces ({after} of {before} tokens): all stays")
    return ConversationCut(summary=said, kept=kept, tokens_before=before, tokens_after=after, usd=cut.usd)


def _kept(conversation: Conversation, kit: Kit) -> int:
    """How many of the newest messages stay: whole rounds, as far as they are small."""
    messages = conversation.messages
    first = next((i for i, m in enumerate(messages) if m.role == "user"), len(messages))
    starts = [
        i for i, m in enumerate(messages) if m.role in ("user", "assistant") and i >= max(first + 1, conversation.upto)
    ][-_KEPT_ROUNDS:]
    room = kit.models.current.window * _KEPT_SHARE
    start = next((i for i in starts if kit.models.current.count(messages[i:], ()) <= room), len(messages))
    return len(messages) - start


async def _ask(kit: Kit, messages: Sequence[Message]) -> str | NotSummarised:
    """The model's words."""
    record = kit.events.bound(None, WORK)
    kit.facts.conversations[WORK] = Conversation(list(messages), [0] * len(messages))
    record(Prompted(kind="compact", text=_PROMPT))
    model, budget = kit.models.current, kit.facts.budget
    fitted = fit(
        shown_to(model, kit.facts, kit.facts.conversation(WORK)),
        count=model.count,
        window=model.window,
        room=prompt_room(model.window, model.max_output),
    )
    grant = admit(
        budget,
        kit.usage.spent(),
        fitted.tokens,
        price=model.price,
        margin=Margin(kit.facts.margins),
        reserve=reserve_for(budget, model.price, model.window),
        window=model.window,
        max_output=model.max_output,
        retry=True,  # it is no step
        now=kit.clock.now(),
    )
    if isinstance(grant, Exhausted):
        return NotSummarised(f"a summary does not fit the limits: {grant.detail}")
    try:
        reply = await call(kit, WORK, (), record, fitted, grant)
    except PersonInterrupted as how:
        record(Interrupted(what="model", detail=str(how)))
        return NotSummarised("it was interrupted: the conversation stays as it is")
    if isinstance(reply, Failed):
        return NotSummarised(f"the model gave no summary: {reply.text}")
    if isinstance(reply, Exhausted):
        return NotSummarised(f"a summary does not fit the limits: {reply.detail}")
    return reply.text.strip() or NotSummarised("the model gave an empty summary: the conversation stays as it is")
