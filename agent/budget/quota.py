"""Limit how often a tool may be called (docs/requirements.md 3.9)."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

from ..protocol import UserError
from ..protocol.text.counts import plural

OVER_QUOTA = "over quota"
"""The summary of the result of a call that a quota refused."""
_SPANS = {"second": 1.0, "min": 60.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "run": inf}
_IN_A_ROW = 5
"""Number of consecutive steps with a refused call after which a quota ends the run."""
_LONGEST = 86_400.0
"""Longest span in seconds, except the whole run. For older calls only their number is stored."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One tool's rate: the most calls in any span of seconds, or in the run."""

    text: str
    most: int
    span: float

    def room_in(self, times: Sequence[float], older: int, now: float) -> str | None:
        """Return when the next call is possible, as text for the model; None if it is possible now.

        `times`: Unix times of recent calls. `older`: number of earlier calls.
        """
        if self.span == inf:
            return None if older + len(times) < self.most else "no more calls in this run"
        if len(times) - bisect_right(times, now - self.span) < self.most:
            return None
        room = times[-self.most] + self.span - now if self.most else self.span
        return f"the next call is possible in {max(1.0, room):.0f} s"


@cache
def read_quota(text: str) -> Quota:
    """Parse a rate such as `30/min`, `100/hour` or `20/run`. Raises UserError."""
    match = re.fullmatch(r"\s*(\d+)\s*/\s*([a-z]+)\s*", text, re.ASCII)
    if match is None or match[2] not in _SPANS:
        raise UserError(f"quota `{text}`: write a number and a span, such as 30/min, 100/hour or 20/run")
    return Quota(f"{int(match[1])}/{match[2]}", int(match[1]), _SPANS[match[2]])


class Quotas:
    """The rates of all tools. A call over quota is refused with the reason; repeated refusals end the run."""

    def __init__(self, used: Mapping[str, int] | None = None) -> None:
        """Count calls. `used`: number of each tool's calls before a resume."""
        self._older = dict(used or {})
        """Number of each tool's calls before a resume or before the longest span."""
        self._times: dict[str, array[float]] = {}
        """Times of each tool's other calls, oldest first, also of tools without a rate: they can get one later."""
        self._refused: dict[str, int] = {}
        self._refused_in: dict[str, int] = {}

    def admit(self, tool: str, now: float, step: int, rates: Mapping[str, str]) -> str | None:
        """Count the call and return None, or return why it is refused, as text for the model.

        `rates`: the rate of each tool that has one now, because a person can change them.
        Several refusals in one step count as one, because the model has not seen any of them yet.
        """
        times = self._within_longest(tool, now)
        rate = rates.get(tool)
        quota = None if rate is None else read_quota(rate)
        refusal = None if quota is None else quota.room_in(times, self._older.get(tool, 0), now)
        if quota is None or refusal is None:
            times.append(now)
            self._refused[tool] = 0
            return None
        if self._refused_in.get(tool) != step:
            self._refused[tool] = self._refused.get(tool, 0) + 1
        self._refused_in[tool] = step
        return f"refused: the quota of {tool} is {quota.text}; {refusal}. Do something else."

    def _within_longest(self, tool: str, now: float) -> array[float]:
        """Return the times of the tool's calls within the longest span, and only count the earlier ones."""
        times = self._times.setdefault(tool, array("d"))
        if times and times[0] <= now - _LONGEST:
            gone = bisect_right(times, now - _LONGEST)
            self._older[tool] = self._older.get(tool, 0) + gone
            del times[:gone]
        return times

    def end(self, rates: Mapping[str, str]) -> str | None:
        """Return `stop` and reset the refusals, so that a chat can continue with its next message."""
        why = self.stop(rates)
        if why is not None:
            self._refused = dict.fromkeys(self._refused, 0)
        return why

    def stop(self, rates: Mapping[str, str]) -> str | None:
        """Return the detail of the `budget` outcome after too many refusals of one tool, or None."""
        for tool, refused in self._refused.items():
            if refused >= _IN_A_ROW and tool in rates:
                return f"quota: {tool} {read_quota(rates[tool]).text}, refused in {plural(refused, 'step')} in a row"
        return None
