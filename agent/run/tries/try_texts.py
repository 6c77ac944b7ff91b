"""Texts for tries: their prompt, and the summary of the pass."""

from __future__ import annotations

from collections.abc import Mapping

from ...facts.facts import RunFacts
from ...facts.passes import PassFacts
from ...protocol import TryFinished, TryMeasured
from ...step import RunContext, system_prompt
from ..passes.pass_texts import first_message

_TOLD = """\
You are try {candidate} of {tries} of this pass. All tries work on the same task at the same time, each in a git \
worktree of its own, and do not see each other. The program measures them afterwards and keeps the best one. So the \
tries should differ: choose a way that the other tries probably do not take. {way} Change files below {root} only."""
_WAYS = (
    "As try 1, take the most direct way.",
    "As try 2, look for a different algorithm or data structure.",
    "As try 3, look for work that can be left out or done once.",
    "As try 4, question an assumption that the code makes.",
)
_OTHER = "As try {candidate}, pick a part of the code that is not the obvious one."


def system_prompt_of_try(facts: RunFacts) -> str:
    """Return the system prompt of a try; `ctx` is the try's."""
    return system_prompt(facts.spec)


def first_message_of_try(ctx: RunContext, made: RunContext, number: int, candidate: int, tries: int) -> str:
    """Return the first message of a try. `ctx`: the run's; `made`: its own."""
    assert ctx.facts.pass_facts is not None  # tries belong to a pass
    way = _WAYS[candidate - 1] if candidate <= len(_WAYS) else _OTHER.format(candidate=candidate)
    told = _TOLD.format(candidate=candidate, tries=tries, way=way, root=made.workspace.root)
    return f"{first_message(ctx.facts, ctx.facts.pass_facts, number)}\n\n{told}"


def summary(passing: PassFacts, tries: int) -> str:
    """Return the result of each try on one line: `try 1: score 6, try 2: nothing was changed`."""
    return "; ".join(
        f"try {candidate} of {tries}: {_result_of(end, passing.measured)}"
        for candidate, end in sorted(passing.tries.items())
        if end is not None
    )


def _result_of(end: TryFinished, measured: Mapping[int, TryMeasured]) -> str:
    found = measured.get(end.candidate)
    if found is None:
        return end.fault or ("not measured" if end.files else "nothing was changed")
    return found.why if found.score is None or found.why else f"score {found.score:g}"
