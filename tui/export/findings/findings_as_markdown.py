"""The findings of a run as Markdown, for people."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rundry.agent import coverage_words, end_word, estimate_words, plural, relation_words, title_of

from ...start.confirmed_findings import ORDER
from ..markup import as_code, as_fence

if TYPE_CHECKING:
    from ...start.confirmed_findings import Findings, FindingState, FoundRow

_HEADINGS: dict[FindingState, str] = {
    "confirmed": "Confirmed",
    "unverified": "Reported without a verifier",
    "open": "Without a verdict",
    "refuted": "Refuted",
    "duplicate": "Duplicates",
}
_MOST_LINKS = 20
"""Number of pages that are listed for one dead link."""


def as_markdown(found: Findings) -> Iterator[str]:
    """Yield the page line by line: the result of the search, then each finding with its evidence and verdicts."""
    yield f"# Findings: {as_code(title_of(found.state.task) or found.state.run_id)}\n"
    yield from (f"- {line}\n" for line in _summary(found))
    if not found.rows:
        yield "\nThe search reported no findings.\n"
    number = 0
    for state in ORDER:
        rows = [row for row in found.rows if row.state == state]
        if rows:
            yield f"\n## {_HEADINGS[state]} ({len(rows)})\n"
        for number, row in enumerate(rows, number + 1):  # noqa: B020 - the numbers continue over the groups
            yield from _finding(row, number)


def _summary(found: Findings) -> Iterator[str]:
    state, facts, outcome = found.state, found.facts, found.state.outcome
    yield f"run: {as_code(state.run_id)}, began {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(found.began))}"
    yield f"model: {as_code(state.model)}"
    if outcome is None:
        yield "result: the search has not ended"
    else:
        whole = "complete" if outcome.complete else "not complete"
        yield f"result: {whole}, {as_code(end_word(outcome))}: {as_code(outcome.detail)}"
    yield "findings: " + ", ".join(
        f"{found.count(each)} {_WORDS[each]}" for each in ORDER if found.count(each) or each == "confirmed"
    )
    if facts.lenses:
        estimate = facts.estimate()
        how = (
            f", an estimate ({estimate.method}, 95 % interval, {plural(estimate.lenses, 'independent lens')})"
            if estimate
            else ""
        )
        yield f"estimate: {estimate_words(len(facts.found), estimate)}{how}"
        yield f"read: {coverage_words(facts.coverage())}"


_WORDS: dict[FindingState, str] = {
    "confirmed": "confirmed",
    "unverified": "unverified",
    "open": "without a verdict",
    "refuted": "refuted",
    "duplicate": "merged as duplicates",
}


def _finding(row: FoundRow, number: int) -> Iterator[str]:
    finding = row.finding
    yield f"\n### {number}. {as_code(finding.title)}\n\n"
    links = row.linked_from[:_MOST_LINKS]
    if finding.evidence and not links:
        yield f"- evidence: {as_code(finding.evidence)}\n"
    yield f"- verdict: {as_code(row.verdict)}\n"
    if finding.relation:
        yield f"- place: {relation_words(finding.relation)}\n"
    for reason in finding.reasons:
        if reason and finding.by != "none":
            yield f"  - {as_code(reason)}\n"
    if not finding.is_dead_link:
        passes = f", pass {finding.pass_number}" if finding.pass_number else ""
        yield f"- found by: {as_code(finding.source)}{passes}\n"
    if links:
        yield f"- linked from {plural(len(row.linked_from), 'page')}:\n"
        yield from (f"  - {as_code(page)}\n" for page in links)
        if len(links) < len(row.linked_from):
            yield f"  - and {len(row.linked_from) - len(links)} more\n"
    yield f"- fingerprint: `{row.fingerprint}`\n"
    if finding.detail.strip():
        yield f"\n{as_fence(finding.detail, 'text')}\n"
