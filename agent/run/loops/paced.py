"""The paced loop: like goal, but the model chooses the delay before the next step, adjusted to the prompt cache."""

from __future__ import annotations

import msgspec

from ...budget.pacing import lifetime, pace, prices, saves_money
from ...protocol import Again, Decision, Price, Sleeping, Wait
from . import goal
from .shared.loop_state import LoopState, common_end, suspect_handoff
from .shared.pass_decisions import pass_facts

_NUDGE = "If there is nothing to do before some time has passed, call `wake_after`."
_HOW = {"person": "the person woke you", "message": "a message woke you"}


def decide(state: LoopState) -> Decision:
    """Sleep if the model requested it, otherwise continue like the goal loop."""
    passing, verdicts = pass_facts(state), state.facts.verdicts
    is_news = verdicts.is_judged_red and verdicts.prompted_seq < verdicts.judgement_seq
    is_told = bool(verdicts.red_outputs) and not is_news  # it may wait before the result is judged again
    is_over = is_news or suspect_handoff(state) or common_end(state) or (not is_told and goal.end_of_met(state))
    if passing.asked is not None and state.facts.finish is None and not is_over:
        left = None if passing.asleep is None or passing.asleep.until is None else passing.asleep.until - state.now
        if passing.asleep is not None and left is not None:  # an earlier runner began this sleep
            left = max(0.01, min(left, passing.asleep.seconds))  # the clock may have been set back
            until = state.now + left
            return Wait(left, "clock", msgspec.structs.replace(passing.asleep, seconds=left, until=until))
        return _sleep(state, passing.asked.seconds, passing.asked.reason)
    decision = goal.decide(state)
    if not isinstance(decision, Again):
        return decision
    work = decision.works[0]
    if work.prompt_kind == "nudge" and work.prompt:
        work = msgspec.structs.replace(work, prompt=f"{work.prompt} {_NUDGE}")
    if passing.slept is not None:
        how = _HOW.get(passing.slept.by, "the delay is over")
        told = f"You slept {passing.slept.slept:.0f} s: {how}."
        told = f"{told}\n\n{work.prompt}" if work.prompt else told
        work = msgspec.structs.replace(work, prompt=told, prompt_kind="wake" if not work.prompt else work.prompt_kind)
    return Again([work])


def _sleep(state: LoopState, asked: float, reason: str) -> Wait:
    facts, spec = state.facts, state.facts.spec.paced
    ttl = None
    if spec is not None:
        hit = facts.spent.tokens.cached > 0
        ttl = lifetime(spec.cache_ttl, state.price, asked=spec.ttl_asked, was_hit=hit)
    delay = pace(asked, ttl if saves_money(state.price) else None)
    cost = _cost(state.price, pass_facts(state).prompt_tokens) if ttl is not None else (None, None)
    return Wait(
        delay.seconds,
        "clock",
        Sleeping(
            seconds=delay.seconds,
            asked=asked,
            why=reason,
            warm_until=None if ttl is None else state.now + ttl,
            until=state.now + delay.seconds,
            moved=delay.moved,
            warm_usd=cost[0],
            cold_usd=cost[1],
        ),
    )


def _cost(price: Price | None, tokens: int) -> tuple[float | None, float | None]:
    return prices(tokens, price) or (None, None)
