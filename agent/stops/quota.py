"""Rates: how often a tool may be called (docs/requirements.md 3.9)."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

from ..protocol import UserError

_SPANS = {"second": 1.0, "min": 60.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "run": inf}
_IN_A_ROW = 5
"""Steps with a refusal after which a quota ends the run: the model does not stop asking."""
_LONGEST = 86_400.0
"""Seconds of the longest span but the whole run: of older calls only the number counts."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One tool's rate: the number of calls in any span of seconds, or in the run."""

    text: str
    most: int
    span: float

    def room_in(self, times: Sequence[float], older: int, now: float) -> str | None:
        """Say when the next call is possible, by the times of earlier ones and the number of still older ones.

        None: the next call is possible now.
        """
        if self.span == inf:
            return None if older + len(times) < self.most else "no more calls in this run"
        if len(times) - bisect_right(times, now - self.span) < self.most:
            return None
        room = times[-self.most] + self.span - now if self.most else self.span
        return f"the next call is possible in {max(1.0, room):.0f} s"


@cache
def read_quota(text: str) -> Quota:
    """`30/min`, `100/hour`, `20/run`. Raises UserError."""
    match = re.fullmatch(r"\s*(\d+)\s*/\s*([a-z]+)\s*", text, re.ASCII)
    if match is None or match[2] not in _SPANS:
        raise UserError(f"quota `{text}`: write a number and a span, such as 30/min, 100/hour or 20/run")
    return Quota(f"{int(match[1])}/{match[2]}", int(match[1]), _SPANS[match[2]])


class Quotas:
    """All tools' rates. A call over quota is refused with the reason; a model that keeps on calling ends the run."""

    def __init__(self, rates: Callable[[], Mapping[str, str]], used: Mapping[str, int] | None = None) -> None:
        """`rates`: tool to rate, as they are now. `used`: calls before a resume, for rates of the whole run."""
        self._rates = rates
        self._older = dict(used or {})
        """Calls of each tool before a resume, or longer ago than any span but the whole run."""
        self._times: dict[str, array[float]] = {}
        """Of each tool's other calls, oldest first. Tools without a rate count too: they can get one later."""
        self._refused: dict[str, int] = {}
        self._refused_in: dict[str, int] = {}

    def take(self, tool: str, now: float, step: int) -> str | None:
        """None: the call may be made, and counts. Else why not, for the model to read.

        Several refusals within one step are one: the model has heard of none of them yet.
        """
        times = self._within_longest(tool, now)
        rate = self._rates().get(tool)
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
        """Times of the tool's calls that any rate needs; what is older is only counted from now on."""
        times = self._times.setdefault(tool, array("d"))
        if times and times[0] <= now - _LONGEST:
            gone = bisect_right(times, now - _LONGEST)
            self._older[tool] = self._older.get(tool, 0) + gone
            del times[:gone]
        return times

    def end(self) -> str | None:
        """`stop`, told once: who goes on after it, a chat with its next message, begins a new row."""
        why = self.stop
        if why is not None:
            self._refused = dict.fromkeys(self._refused, 0)
        return why

    @property
    def stop(self) -> str | None:
        """The detail of a `budget` outcome where a tool was refused again and again, or None."""
        rates = self._rates()
        for tool, refused in self._refused.items():
            if refused >= _IN_A_ROW and tool in rates:
                return f"quota: {tool} {read_quota(rates[tool]).text}, refused in {refused} steps in a row"
        return None
