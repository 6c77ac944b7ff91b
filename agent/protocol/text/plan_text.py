"""A plan with its check as the text that a person edits, and plans that a model writes into an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_MARK = re.compile(r"(?:\d{1,3}[.)]|[-*+•])(?:\s+|$)(?:\[[ xX]\](?:\s+|$))?")
"""How a step begins. The mark is not a part of it."""
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")
_CHECK = re.compile(r"check\s*:(.*)", re.IGNORECASE)
_CHECK_IN_ANSWER = re.compile(r"[\s*_#>-]*check(?: command)?[\s*_]*:[\s*_]*(.+)", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_NONE = frozenset({"", "-", "none", "no check", "n/a"})
_LEAST_ITEMS = 2
"""Steps of a list in an answer that is read as a plan."""
_INDENTED = 4
"""Columns from which a line of an answer belongs to the step above."""
FOLLOW_PLAN = (
    "The person accepted this plan. Follow it, and keep it up to date with `update_plan`, which shows it to them. "
    "If it proves wrong, say why before you leave it."
)
"""What the model reads between the task and the accepted plan. The transcript leaves it out."""
LONGEST_PLAN = 20_000
"""Characters of a plan with its check."""
NO_STEPS = "the plan has no steps: write one a line, or reject it"
ONE_CHECK = "the check is one line below the steps: join commands with &&"
TOO_LONG = f"the plan is longer than {LONGEST_PLAN:,} characters: shorten it"


class Plan(msgspec.Struct, frozen=True):
    """The steps of a plan, and the command that decides when its task is done."""

    lines: list[str]
    check: str | None = None


def plan_text(plan: Plan, *, has_check: bool = True) -> str:
    """Return the plan as a text. `has_check`: with the line for the check, also if it has none."""
    width = len(str(len(plan.lines)))
    steps = "\n".join(f"{number:>{width}}. {line}" for number, line in enumerate(plan.lines, 1))
    return f"{steps}\n\nCheck: {plan.check or ''}".rstrip(" ") + "\n" if has_check else f"{steps}\n"


def read_plan(text: str) -> Plan | str:
    """Read such a text after an edit, or return why it is not a plan. An indented line belongs to the step above."""
    steps, check = list[str](), None
    if len(text) > LONGEST_PLAN:
        return TOO_LONG
    for line in text.splitlines():
        words = " ".join(line.split())
        if not words:
            continue
        if check is not None:
            return ONE_CHECK
        if found := _CHECK.fullmatch(line.rstrip()):
            check = found[1].strip()
        elif _MARK.match(words) is None and line[0].isspace() and steps:
            steps[-1] += f" {words}"
        elif step := _without_mark(words):
            steps.append(step)
    return plan_of(steps, check)


def plan_of(lines: Sequence[str], check: str | None) -> Plan | str:
    """Return the plan with these steps and this check, or why it is not one."""
    steps = [step for line in lines if (step := _without_mark(" ".join(line.split())))]
    command = _bare((check or "").strip())
    if not steps:
        return NO_STEPS
    if len(command.splitlines()) > 1:
        return ONE_CHECK
    if not command.isprintable():
        return "the check has control characters: write it as one line of shell"
    if sum(map(len, steps)) + len(command) > LONGEST_PLAN:
        return TOO_LONG
    return Plan(steps, None if command.lower() in _NONE else command)


def plan_in_answer(text: str) -> Plan | None:
    """Read the plan that an answer in words has, or return None if it has none.

    It is the last list of at least two steps: a numbered one, or any list if the answer names a check.
    """
    check, lists, is_open = None, [list[str]()], False
    in_code = False
    numbered = set[int]()
    for line in text.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
            continue
        words = line.strip()
        if in_code or not words:
            continue
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        if found := _CHECK_IN_ANSWER.fullmatch(line):
            check, is_open = _bare(found[1].strip().rstrip("*_ ")), False
        elif indent >= _INDENTED and is_open:
            lists[-1][-1] += f"; {_without_mark(words)}" if _MARK.match(words) else f" {words}"
        elif _MARK.match(words):
            if not is_open:
                lists.append([])
            numbered |= {len(lists) - 1} if _NUMBERED.match(words) else set()
            lists[-1].append(_without_mark(words))
            is_open = True
        else:
            is_open = False
    usable = [
        steps for at, steps in enumerate(lists) if len(steps) >= _LEAST_ITEMS and (at in numbered or check is not None)
    ]
    found_plan = plan_of(usable[-1], check) if usable else ""
    return found_plan if isinstance(found_plan, Plan) else None


def _without_mark(words: str) -> str:
    found = _MARK.match(words)
    return words[found.end() :] if found else words


def _bare(command: str) -> str:
    """Return a command without the backticks of Markdown around it."""
    if command.startswith("`") and (end := command.find("`", 1)) > 0:
        return command[1:end].strip()
    return command
