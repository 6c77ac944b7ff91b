"""Texts for tries: their first message, and the summary of their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...step.checks.feedback import feedback
from ...step.prompt.system_prompt import system_prompt
from ..loops.shared.loop_state import failing_checks
from .pass_texts import first_message

if TYPE_CHECKING:
    from ...protocol import TryFinished, TryMeasured
    from ...state.facts.pass_facts import PassFacts
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext

_TASK = """\
You are try {candidate} of {tries} of this pass. All tries work on the same task at the same time, each with \
files of its own, and do not see each other. The program measures them afterwards and keeps the best one. So the \
tries should differ: choose an approach that the other tries probably do not choose. {approach} Change only files in \
{root}."""
_GOAL = """\
You are try {candidate} of {tries}. All tries work on the same task at the same time, each with files of its own, \
and do not see each other. The program then keeps the smallest change that reaches the goal. So the tries should \
differ: choose an approach that the other tries probably do not choose. {approach} Change no more than the task needs. \
Change only files in {root}."""
_APPROACHES = (
    "As try 1, choose the most direct approach.",
    "As try 2, look for a different algorithm or data structure.",
    "As try 3, look for work that can be skipped or done only once.",
    "As try 4, question an assumption of the code.",
)
_OTHER_APPROACH = "As try {candidate}, choose a part of the code that is not the obvious one."


def system_prompt_of_try(facts: RunFacts) -> str:
    """Return the system prompt of a try. `facts`: of the try."""
    return system_prompt(facts.spec)


def first_message_of_try(ctx: RunContext, made: RunContext, number: int, candidate: int, tries: int) -> str:
    """Return the first message of a try. `ctx`: the run's; `made`: its own."""
    assert ctx.facts.pass_facts is not None  # tries belong to a pass
    approach = (
        _APPROACHES[candidate - 1] if candidate <= len(_APPROACHES) else _OTHER_APPROACH.format(candidate=candidate)
    )
    form = _TASK if ctx.facts.spec.tries is None else _GOAL
    task = form.format(candidate=candidate, tries=tries, approach=approach, root=made.workspace.seen)
    if ctx.facts.spec.tries is not None:
        return "\n\n".join([ctx.facts.spec.opening, *(feedback(check) for check in failing_checks(ctx.facts)), task])
    return f"{first_message(ctx.facts, ctx.facts.pass_facts, number)}\n\n{task}"


def tries_summary(passing: PassFacts, tries: int) -> str:
    """Return the results of all tries on one line: `try 1 of 2: score 6; try 2 of 2: nothing was changed`."""
    return "; ".join(
        f"try {candidate} of {tries}: {_result_of(end, passing.measured)}"
        for candidate, end in sorted(passing.tries.items())
        if end is not None
    )


def _result_of(end: TryFinished, measured: Mapping[int, TryMeasured]) -> str:
    found = measured.get(end.candidate)
    if found is None and end.exhausted:
        return end.why
    if found is None:
        return end.fault or ("not measured" if end.files else f"nothing was changed ({end.why})")
    if found.lines is not None:
        return f"{found.lines} changed lines"
    return found.why if found.score is None or found.why else f"score {found.score:g}"
