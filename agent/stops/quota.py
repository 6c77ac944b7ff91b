"""Rates: how often a tool may be called (REQUIREMENTS 3.9)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from math import inf

from ..protocol import UserError

_SPANS = {"second": 1.0, "min": 60.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "run": inf}
_IN_A_ROW = 5
"""Steps with a refusal after which a quota ends the run: the model does not stop asking."""


class Quota:
    """One tool's rate: so many calls in any span of so many seconds, or in the run."""

    def __init__(self, text: str) -> None:
        """`30/min`, `100/hour`, `20/run`. Raises UserError."""
        match = re.fullmatch(r"\s*(\d+)\s*/\s*([a-z]+)\s*", text)
        if match is None or match[2] not in _SPANS:
            raise UserError(f"quota `{text}`: write a number and a span, such as 30/min, 100/hour or 20/run")
        self.text = f"{int(match[1])}/{match[2]}"
        self.most = int(match[1])
        self._span = _SPANS[match[2]]
        self._calls: deque[float] = deque()

    def take(self, now: float) -> str | None:
        """Counts a call at this time (seconds), or says when there will be room."""
        while self._calls and self._calls[0] <= now - self._span:
            self._calls.popleft()
        if len(self._calls) < self.most:
            self._calls.append(now)
            return None
        if self._span == inf:
            return "no more calls in this run"
        room = self._calls[0] + self._span - now if self._calls else self._span
        return f"the next call is possible in {max(1.0, room):.0f} s"


class Quotas:
    """All tools' rates. A call over quota is refused with the reason; one that goes on so ends the run."""

    def __init__(self, rates: Mapping[str, str], used: Mapping[str, int] | None = None) -> None:
        """`rates`: tool to rate. `used`: calls before a resume, for rates of the whole run. Raises UserError."""
        self._quotas = {tool: Quota(text) for tool, text in rates.items()}
        self._refused = dict.fromkeys(self._quotas, 0)
        self._refused_in: dict[str, int] = {}
        for tool, count in (used or {}).items():
            for _ in range(count if tool in self._quotas and self._quotas[tool].text.endswith("/run") else 0):
                self._quotas[tool].take(0.0)

    def take(self, tool: str, now: float, step: int) -> str | None:
        """None: the call may be made, and counts. Else why not, for the model to read.

        Several refusals within one step are one: the model has heard of none of them yet.
        """
        quota = self._quotas.get(tool)
        if quota is None:
            return None
        refusal = quota.take(now)
        if refusal is None:
            self._refused[tool] = 0
            return None
        if self._refused_in.get(tool) != step:
            self._refused[tool] += 1
        self._refused_in[tool] = step
        return f"refused: the quota of {tool} is {quota.text}; {refusal}. Do something else."

    def end(self) -> str | None:
        """`stop`, told once: who goes on after it, a chat with its next message, begins a new row."""
        why = self.stop
        if why is not None:
            self._refused = dict.fromkeys(self._refused, 0)
        return why

    @property
    def stop(self) -> str | None:
        """The detail of a `budget` outcome where a tool was refused again and again, or None."""
        for tool, refused in self._refused.items():
            if refused >= _IN_A_ROW:
                return f"quota: {tool} {self._quotas[tool].text}, refused in {refused} steps in a row"
        return None
