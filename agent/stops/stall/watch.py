"""Tells when a run goes round in circles (REQUIREMENTS 4.3 to 4.5): the model is told first, then the run ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .observation import Finding, Observation
from .windows import DRY_ROUNDS, Sign, Windows

ERROR_RATE, ERROR_WINDOW = 0.8, 10
_GOOD_AGAIN = 0.5
"""Below this share of failing calls a hint about them has done its work."""
_LASTING = frozenset({"oscillation", "stagnation", "tool-errors"})
"""Kinds that show across changes of the workspace: such a change does not make their hint forgotten."""


class StallWatch:
    """The detectors of one conversation. Pure: the same observations give the same findings."""

    def __init__(self, world: str | None = None) -> None:
        """`world`: fingerprint of the workspace before the first step, where it is known."""
        self._windows = Windows(world)
        self._hinted: set[tuple[str, str]] = set()
        self._failed: deque[bool] = deque(maxlen=ERROR_WINDOW)

    def observe(self, seen: Observation) -> Finding | None:
        """Takes in a step. A finding with `hint` comes once for each stall, one with `stop` only after its hint."""
        known_score = self._windows.score
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
        if len(self._failed) == ERROR_WINDOW and sum(self._failed) < _GOOD_AGAIN * ERROR_WINDOW:
            self._hinted.discard(("tool-errors", "tool-errors"))

    def _rate_signs(self) -> Iterator[Sign]:
        failed = sum(self._failed)
        if len(self._failed) == ERROR_WINDOW and failed >= ERROR_RATE * ERROR_WINDOW:
            yield Sign("tool-errors", "tool-errors", f"{failed} of the last {ERROR_WINDOW} calls failed")


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
