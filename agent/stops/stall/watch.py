"""Detect a run that repeats itself (docs/requirements.md 4.3 to 4.5): first a hint to the model, then the run ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from ...protocol import StallLimits
from .observation import Finding, Observation
from .windows import DRY_ROUNDS, Sign, Windows

_GOOD_AGAIN = 0.5
"""Below this share of failing calls, or below the limit where that is lower, their hint has done its work."""
_MOST_CALLS = 1_000
"""Of which the share of failed calls can be taken."""
_LASTING = frozenset({"oscillation", "stagnation", "tool-errors"})
"""Kinds that show across changes of the workspace: such a change does not make their hint forgotten."""


class StallWatch:
    """The detectors of one conversation. Pure: the same observations give the same findings."""

    def __init__(self, world: str | None = None, limits: Callable[[], StallLimits] = StallLimits) -> None:
        """`world`: fingerprint of the workspace before the first step, where it is known. `limits`: those now."""
        self._windows = Windows(world)
        self._limits = limits
        self._hinted: set[tuple[str, str]] = set()
        self._failed: deque[bool] = deque(maxlen=_MOST_CALLS)

    def observe(self, seen: Observation) -> Finding | None:
        """Takes in a step. A finding with `hint` comes once for each stall, one with `stop` only after its hint."""
        known_score = self._windows.score
        self._windows.window = self._limits().window
        is_novel = self._windows.take(seen)
        if is_novel:
            self._hinted = {hinted for hinted in self._hinted if hinted[0] in _LASTING and not _is_about_facts(hinted)}
        if self._windows.score != known_score:
            self._hinted.discard(("stagnation", "score"))
        self._see_rate(seen)
        for sign in (*self._windows.signs(), *self._rate_signs()):
            told = (sign.kind, sign.key) in self._hinted
            if told and not sign.full:
                continue
            self._hinted.add((sign.kind, sign.key))
            self._windows.clear()
            self._failed.clear()
            return Finding(kind=sign.kind, signature=sign.signature, response="stop" if told else "hint")
        return None

    def person_said(self) -> None:
        """A message of a person: what repeats from here on is their wish."""
        self._windows.forget()
        self._hinted.clear()
        self._failed.clear()

    def _see_rate(self, seen: Observation) -> None:
        self._failed.extend(not call.ok for call in seen.calls if not call.refused)
        limits, newest = self._limits(), self._newest()
        if newest is not None and sum(newest) < min(_GOOD_AGAIN, limits.tool_error_rate) * len(newest):
            self._hinted.discard(("tool-errors", "tool-errors"))

    def _rate_signs(self) -> Iterator[Sign]:
        limits, newest = self._limits(), self._newest()
        if newest is not None and sum(newest) >= limits.tool_error_rate * len(newest):
            yield Sign("tool-errors", "tool-errors", f"{sum(newest)} of the last {len(newest)} calls failed")

    def _newest(self) -> list[bool] | None:
        """Which of the newest calls failed; None while there are too few of them."""
        calls = self._limits().tool_error_calls
        return list(self._failed)[-calls:] if len(self._failed) >= calls else None


def _is_about_facts(hinted: tuple[str, str]) -> bool:
    return hinted == ("stagnation", "facts") or (hinted[0] == "oscillation" and not hinted[1].startswith("world "))


class Judge:
    """The windows alone, without the memory of hints: what `stall.json` gives verdicts for."""

    def __init__(self, world: str | None = None) -> None:
        self._windows = Windows(world)

    def observe(self, seen: Observation) -> str:
        """`ok`, `nudge`, `stuck:KIND` or `dry` after this step."""
        self._windows.take(seen)
        return self.verdict

    def person_said(self) -> str:
        """A message of a person."""
        self._windows.forget()
        return self.verdict

    def hinted(self) -> str:
        """The model was told."""
        self._windows.clear()
        return self.verdict

    @property
    def verdict(self) -> str:
        """Of the windows as they are."""
        sign = next(self._windows.signs(), None)
        if sign is not None:
            return f"stuck:{sign.kind}" if sign.full else "nudge"
        return "dry" if self._windows.dry >= DRY_ROUNDS else "ok"
