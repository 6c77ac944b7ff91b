"""How far the provider's count of a prompt may lie above ours (docs/requirements.md 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import ceil

FIRST_SHARE = 0.25
FIRST_TOKENS = 200
LEAST_SHARE = 0.10
LEAST_TOKENS = 50
_TRUST_SHARE, _TRUST_TOKENS = 0.01, 10
"""What one reported usage takes off the margin: a single short prompt says little about the next long one."""
_SAFETY = 0.05
"""Above the worst ratio that was seen."""
_STEP_TOKENS = 200
"""A prompt that grew by so much tells what its new part was billed, whatever the old part is made of."""


class Margin:
    """Learned from (our count, billed) pairs of this run's calls: 25 % and 200 tokens at first, never below 10 %."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        known = [(counted, billed) for counted, billed in pairs if counted > 0]
        self._tokens = max(LEAST_TOKENS, FIRST_TOKENS - _TRUST_TOKENS * len(known))
        seen = [(billed - self._tokens) / counted - 1 for counted, billed in known]
        seen += [_slope(a, b) for a, b in pairwise(known) if b[0] - a[0] >= _STEP_TOKENS]
        worst = max((share + _SAFETY for share in seen if share > 0), default=0.0)
        self._share = max(LEAST_SHARE, FIRST_SHARE - _TRUST_SHARE * len(known), worst)

    def bound(self, counted: int) -> int:
        """The most tokens that an honest provider bills for a prompt that we count as `counted`."""
        return ceil(counted * (1 + self._share)) + self._tokens


def _slope(before: tuple[int, int], after: tuple[int, int]) -> float:
    """How far the new part of a prompt was billed above our count, as a share."""
    return (after[1] - before[1]) / (after[0] - before[0]) - 1
