"""A run named in a sentence."""

from __future__ import annotations

from ..protocol import LoopKind


def a_run(loop: LoopKind) -> str:
    """`a goal run`, `an interval run`."""
    return f"a{'n' * (loop.value[0] in 'aeiou')} {loop} run"
