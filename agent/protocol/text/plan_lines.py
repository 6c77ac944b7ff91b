"""The lines of a model's plan: the mark at the start of a line says the state of its step.

A model writes the mark itself (`[x] read the tests`), or an object with a state, as tools of other programs take it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

StepState = Literal["open", "doing", "done"]

_MARKS: dict[StepState, str] = {"done": "[x]", "doing": "[>]", "open": "[ ]"}
_SIGNS: dict[str, StepState] = {
    **dict.fromkeys(("", "open", "todo", "pending", "not_started"), "open"),
    **dict.fromkeys((">", "~", "/", "*", "doing", "active", "current", "in_progress"), "doing"),
    **dict.fromkeys(("x", "✓", "✔", "✅", "done", "complete", "completed", "finished"), "done"),
}
_MARKED = re.compile(r"(\d+[.)]\s+)?\[([^\[\]]{0,12})\]\s*(.*)", re.DOTALL)
_BULLET = re.compile(r"[-*•]\s+")
_TEXT_NAMES = ("text", "step", "content", "title", "task")
_STATE_NAMES = ("state", "status")


class PlanStep(NamedTuple):
    """A step of the plan."""

    text: str
    state: StepState


def plan_steps(lines: Sequence[str]) -> list[PlanStep]:
    """Return the steps of a plan; a line without a mark is open, and blank lines are left out."""
    return [_step(" ".join(line.split())) for line in lines if line.strip()]


def plan_summary(steps: Sequence[PlanStep]) -> str:
    """Return how far the plan is: `2 of 5 done`."""
    return f"{sum(step.state == 'done' for step in steps)} of {len(steps)} done"


def line_of(step: Mapping[str, Any]) -> str:
    """Return the line of a step that is an object with a text and a state. Raises ValueError with what is wrong."""
    text = next((step[name] for name in _TEXT_NAMES if isinstance(step.get(name), str)), None)
    if text is None:
        raise ValueError("a step of the plan has no `text`")
    given = next((step[name] for name in _STATE_NAMES if name in step), "open")
    state = _SIGNS.get(_plain(given)) if isinstance(given, str) else None
    if state is None:
        raise ValueError(f"the state {given!r} of a step is not known: use `done`, `doing` or `open`")
    return f"{_MARKS[state]} {text}"


def _step(line: str) -> PlanStep:
    found = _MARKED.fullmatch(_BULLET.sub("", line, count=1) if _BULLET.match(line) else line)
    state = _SIGNS.get(_plain(found[2])) if found is not None else None
    if found is None or state is None:
        return PlanStep(line, "open")
    return PlanStep(f"{found[1] or ''}{found[3]}", state)


def _plain(state: str) -> str:
    return re.sub(r"(?<=\w)[\s-]+(?=\w)", "_", state.strip().lower())
