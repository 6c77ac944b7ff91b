"""Texts about passes: the first message to the model, the commit message, and why a predicate does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.text.shorten_text import end_cut, first_line, line_cut
from ...state.facts.conversation import last_text
from ...state.facts.tool_actions import arguments_of
from ...step.checks.feedback import feedback
from ..loops.shared.loop_state import failing_checks

if TYPE_CHECKING:
    from ...protocol import PassFinished
    from ...state.facts.pass_facts import PassFacts
    from ...state.facts.run_facts import RunFacts

LINE = 160
"""Maximum number of characters of one line."""
LISTED_PASSES = 12
"""Maximum number of earlier passes that the first message lists."""
SUBJECT = 60
"""Maximum number of characters of a commit's subject, after its prefix."""


COPY_WORDS = "\n\nThis pass works in a copy of the workspace, {folder}: use relative paths, or paths in it."
"""Added to the first message where commands do not see the copy at the path of the workspace."""


def describe_failure(facts: RunFacts) -> str:
    """Describe which check fails, or which other predicate does not hold."""
    checks = failing_checks(facts)
    if checks:
        last = checks[-1]
        how = "timed out" if last.timed_out else last.error or f"exit code {last.exit_code}"
        if last.suspect is not None:
            return f"suspect check `{end_cut(last.command, 60)}`: {last.suspect}"
        return f"the check `{end_cut(last.command, 60)}` fails ({how})"
    judged = [one for one in facts.verdicts.predicates.values() if not one.passed]
    return f"{judged[-1].name}: {judged[-1].detail}" if judged else "the success predicates do not hold"


def first_message(facts: RunFacts, passing: PassFacts, number: int) -> str:
    """Return the message with which pass `number` begins."""
    spec = facts.spec
    parts = [f"Pass {number}. {spec.task}"]
    if passing.done:
        parts.append("What earlier passes did:\n" + "\n".join(_line(one) for one in passing.done[-LISTED_PASSES:]))
    if spec.improve is not None and passing.best is not None:
        way = "higher" if spec.improve.goal == "max" else "lower"
        parts.append(
            f"The score is {passing.best:g} now, printed by `{spec.improve.score}`; {way} is better. "
            "Make one change that improves it, then call `finish`. The program measures, and reverts other changes."
        )
    parts += [feedback(check) for check in failing_checks(facts)]
    if passing.said:
        parts.append("The person said:\n" + "\n".join(passing.said))
    return "\n\n".join(parts)


def _line(one: PassFinished) -> str:
    files = f", {len(one.files)} files" if len(one.files) > 1 else f", {one.files[0]}" if one.files else ""
    again = f", the same change as pass {one.repeats}" if one.repeats is not None else ""
    said = f': "{one.said}"' if one.said else ""
    return f"- pass {one.number} {one.verdict}{files}{again} ({end_cut(one.why, LINE)}){said}"


def model_summary(facts: RunFacts) -> str:
    """Return the model's own summary of the pass, on one line."""
    text = str(arguments_of(facts.finish).get("answer", "")) if facts.finish is not None else ""
    return first_line(text.strip() or last_text(facts.main.messages) or "", LINE)


def commit_message(facts: RunFacts, number: int, said: str, why: str) -> str:
    """Return the commit message: the model's summary, the task, the reason and the run."""
    spec = facts.spec
    subject = line_cut(said or spec.task, SUBJECT)
    return f"rundry pass {number}: {subject}\n\n{spec.task.strip()}\n\n{why}\nRundry-Run: {spec.run_id}"


def pass_summary(facts: RunFacts) -> str:
    """Return the summary of the pass on one line: that of the chosen try or of its child run, if there is one."""
    passing, improve = facts.pass_facts, facts.spec.improve
    if passing is not None and improve is not None and improve.pass_loop is not None:
        child = facts.common.children.by_number.get(passing.number)
        return "" if child is None or child.finished is None else child.finished.said
    chosen = None if passing is None else passing.chosen
    return model_summary(facts) if chosen is None else chosen.said
