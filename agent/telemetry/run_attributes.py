"""Attributes of the span of a run: its settings, its budget and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import Budget, Reason, RunEnded, RunStarted
from . import conventions as names

if TYPE_CHECKING:
    from .span import Value

_ERRORS = (Reason.ERROR, Reason.REFUSED)
"""Ends that are errors. Any other end, such as an exhausted budget, is in `rundry.reason` only."""


def start_attributes(started: RunStarted, *, with_content: bool) -> dict[str, Value]:
    """Return what is known at the start of a run."""
    found: dict[str, Value] = {"rundry.loop": started.loop.value, "rundry.gate.mode": started.gate.value}
    if started.parent is not None:
        found["rundry.parent"] = started.parent.run_id
    if with_content and started.task:
        found[names.INPUT] = names.message("user", started.task)
    return found


def budget_attributes(budget: Budget) -> dict[str, Value]:
    """Return the limits of a run: steps, tokens, USD, seconds, and a Unix time. A limit that is not set is missing."""
    limits = {
        "steps": budget.steps,
        "tokens": budget.tokens,
        "usd": budget.usd,
        "seconds": budget.seconds,
        "deadline": budget.deadline,
    }
    return {f"rundry.budget.{name}": limit for name, limit in limits.items() if limit is not None}


def end_attributes(ended: RunEnded, *, with_content: bool) -> dict[str, Value]:
    """Return the outcome of a run, and what all its sessions used."""
    found: dict[str, Value] = {
        "rundry.reason": ended.reason.value,
        "rundry.complete": ended.complete,
        "rundry.exit_code": ended.exit_code,
        "rundry.steps": ended.steps,
        "rundry.seconds": ended.seconds,
        names.TOKENS_IN: ended.tokens.in_,
        names.TOKENS_OUT: ended.tokens.out,
    }
    if ended.usd is not None:
        found["rundry.usd"] = ended.usd
    if with_content and ended.detail:
        found["rundry.detail"] = names.content(ended.detail)
    if with_content and ended.answer:
        found[names.OUTPUT] = names.message("assistant", ended.answer)
    return found


def error_of(ended: RunEnded) -> str | None:
    """Return the class of the error with which a run ended; None: the end is not an error."""
    return ended.reason.value if ended.reason in _ERRORS else None
