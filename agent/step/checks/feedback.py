"""Describe the result of a check to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...budget.stall.signature import without_traces_of_run
from ...protocol import SECOND_FAILED

if TYPE_CHECKING:
    from ...protocol import CheckFinished, ConfirmationFinished, Judged


def feedback(check: CheckFinished, last_output: str | None = None) -> str:
    """Return the text for the model, also if the check timed out or could not start.

    `last_output`: the output that the model read last; the same output is reported in one line. Durations, addresses,
    process ids and temporary names do not make a difference.
    """
    if check.uncounted is not None:
        return (
            f"The check `{check.command}` ended with exit code {check.exit_code}, but this does not count: "
            f"{check.uncounted}."
        )
    if check.suspect is not None:
        return suspect_feedback(check)
    if check.error is not None:
        return f"The check `{check.command}` could not be started: {check.error}"
    if check.timed_out:
        head = f"The check `{check.command}` timed out after {check.seconds:.0f} s and was ended. Its output so far:"
    else:
        count = f", {check.failing} failing" if check.failing is not None else ""
        if last_output is not None and without_traces_of_run(last_output) == without_traces_of_run(check.output):
            return f"The check `{check.command}` fails exactly as before (exit code {check.exit_code})."
        head = f"The check `{check.command}` has not passed yet (exit code {check.exit_code}{count}). Its output:"
    return f"{head}\n{check.output.strip() or '(no output)'}"


def unchanged_feedback(check: CheckFinished) -> str:
    """Return the text for the model if it claims to be done and the check was not run again."""
    return f"The check `{check.command}` was not run again, because nothing changed since it failed."


def unconfirmed_feedback(failed: ConfirmationFinished) -> str:
    """Return the text for the model if the checks pass in the workspace but not in a clean checkout."""
    head = f"The goal is not met: it holds in the workspace, but `{failed.command}` fails in a clean checkout"
    if failed.repeated:
        return f"{head}, and nothing that belongs to a checkout has changed since."
    text = (
        f"{head} ({failed.detail}). A clean checkout has the files that git does not ignore, without "
        "changes that nobody decided on, and the dependency folders of the start; no ignored file, no cache, nothing "
        "from .git."
    )
    if failed.left_out:
        text += f" Ignored here, so not in it: {', '.join(f'`{path}`' for path in failed.left_out)}."
    return f"{text} Its output:\n{failed.output.strip() or '(no output)'}"


def judged_feedback(judged: Judged, said: str = "") -> str:
    """Return the text for the model if the judge does not let a result pass. `said`: what a person said about it."""
    who = f" The person does not accept this: {said}." if said else ""
    if judged.why == "suspect":
        lines = "".join(f"\n- {line}" for line in judged.suspect)
        return f"The checks pass, but the result does not count:{lines}\n{who.strip()}".strip()
    if judged.why == "holdout":
        return f"The checks pass, but {SECOND_FAILED}.{who}"
    if judged.why == "undecided":
        head = (
            f"The checks pass only with changes that you were not meant to make: {', '.join(judged.rests_on)}."
            f"{who} Let them pass without these changes."
        )
    else:
        head = f"The checks pass in the workspace, but not in a fresh place: {judged.detail}.{who}"
    return f"{head} The output there:\n{judged.output.strip() or '(no output)'}"


def suspect_feedback(check: CheckFinished) -> str:
    """Return the text for the model if tests that ran before did not run."""
    left = check.missing_count - len(check.missing)
    more = f"\n- and {left} more" if left > 0 else ""
    names = "".join(f"\n- {name}" for name in check.missing)
    listed = f" Missing:{names}{more}\n" if names else " "
    return (
        f"The check `{check.command}` ended with exit code 0, but this is not a pass: {check.suspect}.{listed}"
        "Make every test run that ran before: do not end the tests early, skip them or hide them. "
        f"The output of the check:\n{check.output.strip() or '(no output)'}"
    )
