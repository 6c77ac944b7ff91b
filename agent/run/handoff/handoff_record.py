"""Build the record of a hand-off: all that is needed to continue the run (docs/requirements.md 5.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import msgspec

from ...gate.text_diff import compare_contents, diff_head
from ...protocol import (
    ChangedFile,
    CheckFinished,
    FailingCheck,
    HandoffOpened,
    HandoffRecord,
    LastAction,
    OpenProposal,
    Reason,
    Tried,
)
from ...protocol.text.effect_words import effect_lines
from ...protocol.text.hunks import Split, hunk_text
from ...protocol.text.shorten_text import first_line, noted_cut
from ...protocol.tools.traits import tools_with
from ...state.facts.checkpoint import facts_of
from ...state.facts.tool_actions import Action, arguments_of
from ...state.view.show.titles import stall_kind_words
from ..end.suspect import suspect_digest

if TYPE_CHECKING:
    from ...journal.blobs import Blobs
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts

LAST_ACTIONS = 8
MOST_TRIED = 12
_TAIL = 2_000
"""Maximum number of characters of a check's output in the record."""
_DIFF, _ALL_DIFFS = 4_000, 24_000
"""Maximum number of characters of one file's diff, and of all diffs."""
_LARGEST = 1 << 20
"""Maximum size in bytes of a file that gets a diff."""
_RESULT = 300
_CHANGES = tools_with("change")
QUESTION_PREFIX = "the model asks: "
DECISION_PREFIX = "someone has to decide: "
STAGED_PREFIX = "a repair is staged: "
"""Prefixes of a hand-off's reason: the model has a question, someone has to decide on a conflict, or on the result of a
child run."""


def hand_off(facts: RunFacts, reason: str, blobs: Blobs) -> HandoffOpened:
    """Return the event of a hand-off. `blobs`: those of the journal."""
    return HandoffOpened(
        reason=reason, suggested_action=suggested_action(facts, reason), record=handoff_record(facts, reason, blobs)
    )


def handoff_record(facts: RunFacts, reason: str, blobs: Blobs) -> HandoffRecord:
    """Return the task, last actions, open proposals, changes, failing check, attempts and remaining budget."""
    failing = _failing(facts)
    asked = [question.question for question in facts.requests.questions.values()]
    return HandoffRecord(
        task=facts.spec.task,
        last_actions=[_last(action) for action in facts.actions[-LAST_ACTIONS:]],
        open_proposals=[
            OpenProposal(
                proposal_id=p.proposal_id if p.proposal_id in facts.requests.proposals else "",
                digest=p.digest if p.proposal_id in facts.requests.proposals else "",
                tool=p.tool,
                path=p.path,
                command=p.command,
                call=None if (text := p.call or p.plan or p.request or None) is None else noted_cut(text, _DIFF),
                diff=noted_cut(
                    p.diff if p.effects is None else "\n".join([*effect_lines(p.effects), "", p.diff]), _DIFF
                ),
            )
            for p in [*facts.requests.proposals.values(), *facts.requests.refused]
        ],
        questions=asked or ([reason.removeprefix(QUESTION_PREFIX)] if reason.startswith(QUESTION_PREFIX) else []),
        files_changed=facts.files_changed,
        changes=_changes(facts, blobs),
        failing_check=_check(failing, facts) if failing is not None else None,
        tried=_tried(facts),
        spent=facts.spent,
        budget=facts.budget,
        shares=list(facts.ledger.shares.values()),
        staged_child=_staged_child(facts, reason),
    )


def _staged_child(facts: RunFacts, reason: str) -> str:
    """Return the child run whose staged result the person has to decide on, or an empty text."""
    child = facts.common.children.open
    return child.run_id if child is not None and reason.startswith(STAGED_PREFIX) else ""


def handoff_after_end(journal: Journal) -> HandoffOpened | None:
    """Return a hand-off for a run that ended incomplete, or None if it is complete, or has not ended."""
    facts = facts_of(journal)
    ended = facts.ended
    if ended is None or ended.complete:
        return None
    opened = hand_off(facts, f"{ended.reason.value}: {ended.detail}", journal.blobs)
    if ended.reason is not Reason.BUDGET:
        return opened
    action = f"Raise the limit: {opened.suggested_action[0].lower()}{opened.suggested_action[1:]}"
    return msgspec.structs.replace(opened, suggested_action=action)


def suggested_action(facts: RunFacts, reason: str) -> str:
    """Return one sentence about what the person should do first."""
    if reason.startswith(QUESTION_PREFIX) or (facts.requests.questions and not reason.startswith(DECISION_PREFIX)):
        return "Answer the model's question, then resume the run."
    if reason.startswith(DECISION_PREFIX):
        return "Restore the files that were edited, or resume the run on a screen and decide there."
    if child := _staged_child(facts, reason):
        return f"Decide on the staged repair with `rundry apply {child}`, then resume the run."
    if facts.requests.proposals:
        return "Look at the proposal, then approve or reject it."
    if facts.requests.refused:
        return "Look at the proposal, then resume the run on a screen and decide there."
    failing = _failing(facts)
    if failing is not None and failing.suspect is not None:
        return "Look at which tests did not run, then accept or reject the result."
    if failing is not None:
        return f"Look at why `{failing.command}` fails, then resume the run with a hint."
    judged = facts.verdicts.judgement
    if facts.verdicts.is_judged and judged is not None and judged.rests_on and not judged.passed:
        return "Look at the changes that nobody decided on with `rundry apply --keep`, then accept or restore them."
    return "Resume the run with a hint about what to try instead."


def _failing(facts: RunFacts) -> CheckFinished | None:
    if facts.finder is not None and facts.finder.suspects.checks:
        return facts.finder.suspects.checks[0]
    return next((check for check in reversed(facts.verdicts.checks.values()) if not check.passed), None)


def _check(check: CheckFinished, facts: RunFacts) -> FailingCheck:
    return FailingCheck(
        command=check.command,
        exit_code=check.exit_code,
        timed_out=check.timed_out,
        failing=check.failing,
        output=check.output[-_TAIL:],
        suspect=check.suspect or "",
        missing=check.missing,
        missing_count=check.missing_count,
        digest=suspect_digest(facts) if check.suspect else "",
    )


def _last(action: Action) -> LastAction:
    return LastAction(
        step=action.step,
        tool=action.tool,
        arguments=_shortened(action.arguments),
        ok=action.ok,
        result=noted_cut(action.result, _RESULT),
    )


def _shortened(arguments: object) -> object:
    """Shorten the texts in arguments, which may contain whole files."""
    match arguments:
        case dict():
            return {key: _shortened(value) for key, value in cast("dict[str, object]", arguments).items()}
        case list():
            return [_shortened(value) for value in cast("list[object]", arguments)]
        case str():
            return noted_cut(arguments, _RESULT)
        case _:
            return arguments


def _changes(facts: RunFacts, blobs: Blobs) -> list[ChangedFile]:
    room, found = _ALL_DIFFS, list[ChangedFile]()
    for path in facts.files_changed:
        before, after = facts.changes.files[path]
        change = _changed(path, before, after, blobs, min(room, _DIFF))
        room = max(0, room - len(change.diff))
        found.append(change)
    return found


def _changed(path: str, before: str | None, after: str | None, blobs: Blobs, room: int) -> ChangedFile:
    try:
        old, new = (None if sha is None else blobs.load(sha) for sha in (before, after))
    except KeyError:
        return ChangedFile(path=path, diff="(its content is not in the journal)")
    if max(len(old or b""), len(new or b"")) > _LARGEST:
        return ChangedFile(path=path, diff="(too large for this record)")
    sides = compare_contents(old, new)
    if sides is None:
        return ChangedFile(path=path, diff="(not text)")
    parts = Split(sides.old, sides.new, list(sides.compare()))
    diff = diff_head(path, is_new=old is None, is_gone=new is None) + hunk_text(parts)
    return ChangedFile(path=path, diff=noted_cut(diff, room) if room else "", added=parts.added, removed=parts.removed)


def _tried(facts: RunFacts) -> list[Tried]:
    """Return the stalls, the failed actions and, if a check still fails, the changes that did not help."""
    found = [(stall.signature, f"it stalled: {stall_kind_words(stall.kind)}") for stall in facts.stalls]
    found += [_named(action, first_line(action.result, _RESULT)) for action in facts.actions if action.ok is False]
    if _failing(facts) is not None:
        done = [action for action in facts.actions if action.ok and action.tool in _CHANGES]
        found += [_named(action, "done, but the check still fails") for action in done]
    return _distinct(found)


def _distinct(found: Iterable[tuple[str, str]]) -> list[Tried]:
    """Count equal attempts, and return the newest ones with their newest reason."""
    times: dict[str, tuple[int, str]] = {}
    for what, why in found:
        times[what] = (times.pop(what, (0, ""))[0] + 1, why)
    return [Tried(what=what, why=why, times=count) for what, (count, why) in [*times.items()][-MOST_TRIED:]]


def _named(action: Action, why: str) -> tuple[str, str]:
    arguments = arguments_of(action)
    about = next((str(arguments[name]) for name in ("path", "command", "pattern", "url") if name in arguments), "")
    return first_line(f"{action.tool} {about}", _RESULT), why
