"""A person's verdict on a finding, during the search or after its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ...protocol import FindingJudged, FindingReopened, Judge, Merge

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ...state.search.finder_facts import FinderFacts

_NEAR = 2
"""Keys that are suggested for an unknown one."""


def judge_finding(facts: FinderFacts, command: Judge | Merge, events: Events, *, has_model: bool) -> str | None:
    """Record the verdict and return None, or return why it is refused."""
    if isinstance(command, Merge):
        return _merge(facts, command, events)
    return _judge(facts, command, events, has_model=has_model)


def _judge(facts: FinderFacts, command: Judge, events: Events, *, has_model: bool) -> str | None:
    if command.key not in facts.findings:
        return _no_finding(facts, command.key)
    reasons = [command.reason] if command.reason else []
    match command.verdict:
        case "confirmed" | "refuted":
            judged = FindingJudged(key=command.key, verdict=command.verdict, by="person", reasons=reasons)
            events.record(judged)
        case "evidence":
            if not has_model:
                return "this run has no model that can look for evidence"
            events.record(FindingReopened(key=command.key, reason=command.reason))
        case _:
            assert_never(command.verdict)
    return None


def _no_finding(facts: FinderFacts, key: str) -> str:
    near = [known for known in facts.findings if key and key in known][:_NEAR]
    return f"there is no finding {key}" + (f": did you mean {' or '.join(near)}?" if near else "")


def _merge(facts: FinderFacts, command: Merge, events: Events) -> str | None:
    findings = facts.findings
    for key in (command.key, command.into):
        if key not in findings:
            return _no_finding(facts, key)
    if command.key == command.into:
        return "a finding cannot be merged into itself"
    last: str | None = command.into
    while last is not None:
        last = findings[last].duplicate_of
        if last == command.key:
            return f"{command.into} is itself merged into {command.key}"
    events.record(
        FindingJudged(
            key=command.key,
            verdict="refuted",
            by="person",
            reasons=[f"the same as: {findings[command.into].title}"],
            duplicate_of=command.into,
        )
    )
    return None
