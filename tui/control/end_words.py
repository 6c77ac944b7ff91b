"""The words of an ended run: verdict with evidence, changes, cost and next step. Does not import textual."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len

from rundry.agent import (
    LoopKind,
    Outcome,
    Reason,
    RunEnded,
    ViewState,
    clock,
    estimate_words,
    evidence_words,
    grade_row,
    held_words,
    look_first_words,
    money,
    opened_words,
    plan_steps,
    plan_summary,
    plural,
    proof_words,
    short,
    undecided_help,
    undecided_words,
    void_words,
)

from ..keys.lookup import BY_NAME
from ..text.show_text import one_line
from ..text.wrap_lines import terminal_width, wrapped
from .resume_command import raised

END_WIDTH = 80
"""Columns at which the end of a run is wrapped on a terminal, if that is not narrower."""
_LABEL = re.compile(r"-> |(?:resume|decide|continue|carry out) with: |[a-z]+: |read  | +")
_COMMAND = "rundry "
_NEXT: Mapping[Reason, str] = {
    Reason.DONE: "type the next task",
    Reason.ANSWERED: "type the next question",
    Reason.DRY: "judge the findings on the board, or export them",
    Reason.PLATEAU: "the files have the best score; a message continues",
    Reason.CLAIMED: "the model chose the end: read the changes, or add --until CMD",
    Reason.PARTIAL: "findings are left: /resume continues with them",
    Reason.STAGNATION: "it repeated itself: continue with a hint, or hand it off",
    Reason.OSCILLATION: "it went back and forth: send a hint, or hand it off",
    Reason.TOOL_ERRORS: "its tools kept failing: fix the cause, then send a message",
    Reason.HANDOFF: "it waits for you: read the hand-off, then send a message",
    Reason.USER: "you stopped it: a message continues where it stopped",
    Reason.REFUSED: "nothing was changed: fix what is named above, start again",
}

JOBS_ENDED = "jobs ended"
"""Label of the background commands that were ended with a run."""
_OF_PLAN = "carry out the plan, or say what should be different"
_READ_CHANGES = "read the changes; a message continues"
_OF_STAGE = "apply what is staged: until then, the workspace stays as it was"
OF_CHAT = "its chat asks you about these changes: go back to it"
"""The next step in a child run while its chat is about to decide on what is staged."""
_FAILED = "failed permanently"
_LEAST_CHECKS = 5.0
"""Seconds of checks from which on the end names them."""
_MOST_KINDS = 4
"""Number of reasons that the line about failed items names."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Lines that the run added and removed."""

    files: int
    added: int
    removed: int


def sign_of(ended: RunEnded | Outcome) -> tuple[str, str]:
    """Return the symbol of the verdict and its meaning: `good` or `bad`."""
    return ("✓", "good") if ended.complete else ("✗", "bad")


def verdict_words(ended: RunEnded | Outcome, state: ViewState | None = None) -> str:
    """Return the detail, and what is missing if the work is not complete."""
    if void := void_words(ended):
        return f"{void}; it was {ended.reason.value}: {one_line(ended.detail)}"
    missing = "" if ended.complete else f"not complete{_missing(ended, state)}"
    return "; ".join(part for part in (one_line(ended.detail), missing) if part)


def proof_rows(ended: RunEnded | Outcome, *, helps: bool = True) -> Iterator[tuple[str, str]]:
    """Yield label and text of what ended with a run, and of what proves its result.

    That is its grade, the evidence, what the check opened, and what is undecided.

    `helps`: and what to do about it. The grade and the evidence of a void end are left out.
    """
    evidence, is_void = ended.evidence, bool(void_words(ended))
    if words := ended_jobs_words(ended):
        yield JOBS_ENDED, words
    label, words = grade_row(evidence) if evidence is not None else ("", "")
    if words and not is_void:
        yield label, one_line(words)
    if not is_void and (words := proof_words(evidence, ended.approved_by)):
        yield "evidence", one_line(words)
    if evidence is None:
        return
    if words := opened_words(evidence):
        yield "opened", one_line(words)
    if words := undecided_words(evidence):
        help_ = undecided_help(evidence, is_staged=bool(ended.staged)) if helps else ""
        yield "undecided", one_line("; ".join(part for part in (words, help_) if part))
    if not ended.staged and (words := look_first_words(evidence.look_first)):
        yield "look first", one_line(words)


def ended_jobs_words(ended: RunEnded | Outcome) -> str:
    """Return which background commands were ended with the run: `build, after 0:12: make all`. May be empty."""
    jobs = ended.ended_jobs
    return one_line("; ".join(f"{job.name}, after {clock(job.seconds)}: {job.command}" for job in jobs))


def plan_words(state: ViewState) -> str:
    """Return how far the plan is by the word of the model: `1 of 3 steps`. Empty if there is none."""
    return f"{plan_summary(plan_steps(state.plan))}, as the model ticked it" if state.plan else ""


def _missing(ended: RunEnded | Outcome, state: ViewState | None) -> str:
    if state is not None and state.check is not None and not state.check.passed:
        failing = state.check.failing
        return f": {failing} failing" if failing else ": the check fails"
    if ended.failed_items and _FAILED not in ended.detail:
        return f": {len(ended.failed_items)} {_FAILED}"
    return ""


def search_words(state: ViewState, ended: RunEnded) -> str:
    """Return what a search found; empty for another run."""
    facts = state.finder
    if facts is None:
        return ""
    if not facts.lenses:
        return f"{facts.done:,} worked, {facts.seen:,} seen{_failures(state, ended)}"
    judged = f"{facts.confirmed} confirmed, {facts.refuted} refuted"
    counts = [] if judged in ended.detail else [judged]
    if facts.judging:
        counts.append(f"{facts.judging} without a verdict")
    estimate = estimate_words(len(facts.findings), ended.estimate) if ended.estimate is not None else ""
    return "; ".join(part for part in (", ".join(counts), estimate) if part)


def _failures(state: ViewState, ended: RunEnded) -> str:
    """Return how many items failed permanently and why, or only why if the verdict has the number."""
    facts = state.finder
    if facts is None or not facts.set_aside:
        return ""
    kinds = sorted(((each.final, kind) for kind, each in state.progress.failures.items() if each.final), reverse=True)
    why = ", ".join(f"{count:,} × {one_line(kind)}" for count, kind in kinds[:_MOST_KINDS])
    more = f" and {len(kinds) - _MOST_KINDS} other reasons" if len(kinds) > _MOST_KINDS else ""
    is_known = sum(count for count, _ in kinds) == facts.set_aside  # not after some were tried again
    count = f", {facts.set_aside:,} {_FAILED}" if _FAILED not in ended.detail else ""
    return f"{count}: {why}{more}" if is_known and count else f"; failed: {why}{more}" if is_known else count


def cost_words(ended: RunEnded | Outcome, *, estimated: bool = False, has_checks: bool = True) -> list[str]:
    """Return steps, tokens, cost and time; `has_checks`: with the part that checks took."""
    usd = "$?" if ended.usd is None else f"{'~' if estimated else ''}${money(ended.usd)}"
    checks = f" (checks {clock(ended.check_seconds)})" if has_checks and ended.check_seconds >= _LEAST_CHECKS else ""
    return [plural(ended.steps, "step"), f"{short(ended.tokens.total)} tokens", usd, clock(ended.seconds) + checks]


def changed_words(changed: Changed | None, ended: RunEnded | Outcome, *, is_brief: bool = False) -> str:
    """Return `3 files changed +18 −9`, brief `3 files +18 −9`, what is staged, or that nothing was changed.

    What child runs changed is named apart: `2 files changed by child runs`.
    """
    staged = f"{plural(len(ended.staged), 'file')} staged" if ended.staged else ""
    files = changed.files if changed is not None else len(ended.files_changed)
    by_children = {path for child in ended.children for path in child.files_changed} - set(ended.files_changed)
    of_children = f"{plural(len(by_children), 'file')} changed by child runs" if by_children else ""
    if not files:
        return ", ".join(part for part in (of_children, staged) if part) or "no files changed"
    counts = f" +{changed.added} −{changed.removed}" if changed is not None and changed.added + changed.removed else ""
    own = f"{plural(files, 'file')}{'' if is_brief and counts else ' changed'}{counts}"
    return ", ".join(part for part in (own, of_children, staged) if part)


def next_words(state: ViewState, ended: RunEnded, *, has_changes: bool, is_committed: bool = False) -> str:
    """Return the one line that says how to continue. `has_changes`: not all was undone."""
    if state.accepted is not None or is_staged(state, ended):
        return _OF_PLAN if state.accepted is not None else _OF_STAGE
    if state.loop is LoopKind.CHAT and ended.reason is not Reason.REFUSED:
        return "a message continues the chat"
    if void_words(ended):
        return "type the next task, or say what to do instead"
    if words := _next_of_undecided(ended):
        return words
    if ended.reason is Reason.ERROR:
        again = "the cause may pass" if ended.retryable else "fix the cause"
        return f"{again}: a message continues where it stopped"
    if ended.reason is Reason.DRY and not ended.complete:
        return "/resume tries again what failed permanently"
    if ended.reason is Reason.BUDGET:
        limit = raised(ended, state.budget) if state.budget is not None else None
        if limit is None:
            return "a message continues when there is room under the limit"
        return f"continue with {limit[0]} {limit[1]}, or send a message with another plan"
    can_commit = has_changes and not is_committed and _is_in_repository(Path(state.workspace))
    words = _READ_CHANGES if ended.reason is Reason.ANSWERED and state.plan and has_changes else _NEXT[ended.reason]
    return words + (", or commit the changes" if ended.reason is Reason.DONE and can_commit else "")


def _next_of_undecided(ended: RunEnded) -> str:
    """Return what to do about changes that nobody decided on, or an empty text if there are none."""
    found = ended.evidence
    if found is None or not found.undecided_count:
        return ""
    if ended.reason is Reason.HANDOFF and found.rests_on:
        return "/resume shows these changes as a diff: accept them, or let the model continue without them"
    return "type the next task; commit or restore what is undecided: no later run counts it" if ended.complete else ""


def is_staged(state: ViewState, ended: RunEnded) -> bool:
    """Return whether somebody has to decide on what the run staged."""
    return bool(ended.staged) or (state.in_stage and ended.reason is Reason.HANDOFF)


def _is_in_repository(folder: Path) -> bool:
    return any((each / ".git").exists() for each in (folder, *folder.parents))


def offered(state: ViewState, ended: RunEnded, *, has_changes: bool, is_committed: bool = False) -> Iterator[str]:
    """Yield the names of the actions that can be used now, the most useful first."""
    if state.accepted is not None:
        yield "carry_out"
    if is_staged(state, ended):
        yield "end_apply"
    if ended.reason is Reason.BUDGET and state.budget is not None and raised(ended, state.budget) is not None:
        yield "raise_limit"
    if (
        not ended.complete
        and not void_words(ended)
        and state.loop is not LoopKind.CHAT
        and ended.reason is not Reason.REFUSED
    ):
        yield "end_handoff"
    if ended.files_changed and has_changes:
        yield "end_undo"
        if "changes" in BY_NAME:
            yield "end_changes"
        if not is_committed and _is_in_repository(Path(state.workspace)):
            yield "commit"
    yield "end_export"
    yield "end_message"


def outcome_line(ended: RunEnded | Outcome) -> str:
    """Return the last line of a run, for example `-> done after 3 steps: check passed`."""
    gap = "" if ended.complete else " (not complete)"
    after = plural(ended.passes, "pass") if ended.reason is Reason.DRY and ended.passes else plural(ended.steps, "step")
    if void := void_words(ended):
        return f"-> void: {void}; it was {ended.reason.words} after {after}: {one_line(ended.detail)}{gap}"
    return f"-> {ended.reason.words} after {after}: {one_line(ended.detail)}{gap}"


def end_line(ended: RunEnded | Outcome) -> str:
    """Return evidence, cost and changes of an ended run: `212 tests as at the start; 61k tokens, $0.04, 2:41; ...`."""
    cost = ", ".join(cost_words(ended))
    evidence = one_line(evidence_words(ended.evidence, ended.approved_by))
    parts = (evidence, cost, held_words(ended.held), changed_words(None, ended))
    return f"   {'; '.join(part for part in parts if part)}"


def say_end(text: str) -> None:
    """Write a text of the end of a run to stderr: wrapped on a terminal, else as one line, which programs read."""
    width = terminal_width(sys.stderr)
    rows = [one_line(text)] if width is None else end_rows(one_line(text), min(width, END_WIDTH))
    print("\n".join(rows), file=sys.stderr, flush=True)


def end_rows(line: str, width: int) -> list[str]:
    """Break a line between words. Further rows are indented under the text that follows the label.

    A command is never broken, because it is copied: if it does not fit after its label, it gets a row of its own.
    """
    found = _LABEL.match(line)
    label = found[0] if found is not None else ""
    if cell_len(line) > width and line[len(label) :].startswith(_COMMAND):
        return [label.rstrip(), f"   {line[len(label) :]}"]
    return list(wrapped(line, width, len(label)))
