"""Detect a run that repeats itself (docs/requirements.md 4.3 to 4.5): first a hint to the model, then the run ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .observation import Finding, Observation
from .step_entries import Symptom
from .windows import DRY_ROUNDS, Windows

if TYPE_CHECKING:
    from ...protocol import StallLimits

_RECOVERED = 0.5
"""Share of failing calls below which the hint is forgotten; the limit itself if that is lower."""
_MOST_CALLS = 1_000
"""Most calls from which the share of failed calls is calculated."""
_LASTING = frozenset({"oscillation", "stagnation", "tool-errors"})
"""Kinds that span changes of the workspace, so such a change does not reset their hint."""


class StallWatch:
    """The detectors of one conversation. Pure: the same observations give the same findings."""

    def __init__(self, world: str | None = None) -> None:
        """Start to watch. `world`: fingerprint of the workspace before the first step."""
        self._windows = Windows(world)
        self._hinted: set[tuple[str, str]] = set()
        self._failed: deque[bool] = deque(maxlen=_MOST_CALLS)

    def observe(self, seen: Observation, limits: StallLimits) -> Finding | None:
        """Add a step. A stall is returned once with `hint`, and with `stop` only after its hint.

        `limits`: those of now, because a person can change them.
        """
        known_score = self._windows.score
        self._windows.window = limits.window
        is_novel = self._windows.add(seen)
        if is_novel:
            self._hinted = {hinted for hinted in self._hinted if hinted[0] in _LASTING and not _is_about_facts(hinted)}
        if self._windows.score != known_score:
            self._hinted.discard(("stagnation", "score"))
        self._update_rate(seen, limits)
        for symptom in (*self._windows.symptoms(), *self._rate_symptoms(limits)):
            is_hinted = (symptom.kind, symptom.key) in self._hinted
            if is_hinted and not symptom.full:
                continue
            self._hinted.add((symptom.kind, symptom.key))
            self._windows.clear()
            self._failed.clear()
            return Finding(kind=symptom.kind, signature=symptom.signature, response="stop" if is_hinted else "hint")
        return None

    def reset_after_message(self) -> None:
        """Reset everything after a person's message: repetitions after it may be what the person asked for."""
        self._windows.forget()
        self._hinted.clear()
        self._failed.clear()

    def _update_rate(self, seen: Observation, limits: StallLimits) -> None:
        self._failed.extend(not call.ok for call in seen.calls if not call.refused)
        newest = self._newest(limits)
        if newest is not None and sum(newest) < min(_RECOVERED, limits.tool_error_rate) * len(newest):
            self._hinted.discard(("tool-errors", "tool-errors"))

    def _rate_symptoms(self, limits: StallLimits) -> Iterator[Symptom]:
        newest = self._newest(limits)
        if newest is not None and sum(newest) >= limits.tool_error_rate * len(newest):
            yield Symptom("tool-errors", "tool-errors", f"{sum(newest)} of the last {len(newest)} calls failed")

    def _newest(self, limits: StallLimits) -> list[bool] | None:
        """Return for each of the newest calls whether it failed; None while there are too few calls."""
        calls = limits.tool_error_calls
        return list(self._failed)[-calls:] if len(self._failed) >= calls else None


def _is_about_facts(hinted: tuple[str, str]) -> bool:
    return hinted == ("stagnation", "facts") or (hinted[0] == "oscillation" and not hinted[1].startswith("world "))


class StallVerdicts:
    """The verdicts of the windows alone, without the memory of hints, as listed in `tests/budget/stall.json`."""

    def __init__(self, world: str | None = None) -> None:
        self._windows = Windows(world)

    def observe(self, seen: Observation) -> str:
        """Add a step and return `ok`, `nudge`, `stuck:KIND` or `dry`."""
        self._windows.add(seen)
        return self.verdict

    def reset_after_message(self) -> str:
        """Add a person's message and return the verdict."""
        self._windows.forget()
        return self.verdict

    def hinted(self) -> str:
        """Note that the model got a hint, and return the verdict."""
        self._windows.clear()
        return self.verdict

    @property
    def verdict(self) -> str:
        """The verdict on the current windows."""
        symptom = next(self._windows.symptoms(), None)
        if symptom is not None:
            return f"stuck:{symptom.kind}" if symptom.full else "nudge"
        return "dry" if self._windows.dry >= DRY_ROUNDS else "ok"
