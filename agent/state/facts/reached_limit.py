"""Find the limit that ended a run. Journals of older versions name it only in the detail of the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...protocol import LimitName, Reason

if TYPE_CHECKING:
    from ...protocol import Outcome, RunEnded

_NAMED = re.compile(r"(?:^|: )(step|token|cost|time) budget: ")
_NAMES: dict[str, LimitName] = {"step": "steps", "token": "tokens", "cost": "usd", "time": "seconds"}


def reached_limit(ended: RunEnded | Outcome) -> LimitName | None:
    """Return the limit that ended the run. None means no limit did, or not one alone."""
    if ended.reason is not Reason.BUDGET:
        return None
    return ended.limit or limit_in(ended.detail)


def limit_in(detail: str) -> LimitName | None:
    """Return the limit that a detail of `agent/budget/admission.py` names, with or without the name of a child run."""
    if "until the deadline" in detail or "after the deadline" in detail:
        return "deadline"
    if detail.startswith("quota: "):
        return "quota"
    named = _NAMED.search(detail)
    return None if named is None else _NAMES[named[1]]
