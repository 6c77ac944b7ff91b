"""The limits that hold where nobody set others (REQUIREMENTS 3.1)."""

from __future__ import annotations

from ..protocol import Budget, LoopKind

_SMALL = Budget(steps=40, tokens=200_000, usd=0.50, seconds=600.0)
_LARGE = Budget(steps=200, tokens=2_000_000, usd=5.0, seconds=3_600.0)

FIELDS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}
"""Name of the option to name in the budget."""


def default_budget(loop: LoopKind) -> Budget:
    """By the kind of the loop."""
    return _SMALL if loop in (LoopKind.CHAT, LoopKind.GOAL, LoopKind.NAIVE) else _LARGE
