"""Compute the share of a run's budget that a child run gets."""

from __future__ import annotations

from ...protocol import Budget, LimitValue, Spent


def share_of(budget: Budget, spent: Spent, left: float) -> Budget:
    """Return an equal share of the remaining budget for one of `left` child runs, but at least one step."""

    def part(limit: float | None, used: float) -> float | None:
        return None if limit is None else max(0.0, limit - used) / left

    steps, tokens = part(budget.steps, spent.steps), part(budget.tokens, spent.counted_tokens)
    return Budget(
        steps=None if steps is None else max(1, int(steps)),
        tokens=None if tokens is None else int(tokens),
        usd=part(budget.usd, spent.counted_usd),
        seconds=part(budget.seconds, spent.seconds),
        deadline=budget.deadline,
    )


def raised_limits(share: Budget, spent: Spent) -> dict[str, LimitValue]:
    """Return the limits of a resumed child run: its use so far plus its new share."""
    return {
        "steps": None if share.steps is None else spent.steps + share.steps,
        "tokens": None if share.tokens is None else spent.counted_tokens + share.tokens,
        "usd": None if share.usd is None else spent.counted_usd + share.usd,
        "seconds": None if share.seconds is None else spent.seconds + share.seconds,
        "deadline": share.deadline,
    }


def least_of(one: Budget, other: Budget) -> Budget:
    """Return the smaller one of each two limits."""
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in Budget.__struct_fields__)
    return Budget(
        **{name: min((limit for limit in limits if limit is not None), default=None) for name, *limits in pairs}
    )
