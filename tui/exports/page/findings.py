"""The findings of a search as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rundry.agent import FinderFacts, Finding

    from .text import Words

_ORDER = {"confirmed": 0, None: 1, "refuted": 2}


def findings_html(facts: FinderFacts, words: Words) -> Iterator[str]:
    """Yield a table with verdict, title and place of each finding; its text and the reasons are folded."""
    found = sorted(facts.findings.values(), key=lambda each: (_ORDER[each.verdict], each.seq))
    if not found:
        return
    counts = (
        f"{facts.confirmed - facts.unverified} confirmed, {facts.refuted} refuted, {facts.judging} without a verdict"
    )
    counts += f", {facts.unverified} unverified" if facts.unverified else ""
    yield f'<h2>Findings <span class="dim">{counts}</span></h2>'
    yield "<table><tr><th>verdict</th><th>finding</th><th>place</th><th>by</th></tr>"
    for finding in found:
        sign, colour = _verdict(finding)
        place = words.line(finding.place or finding.evidence)
        yield f'<tr><td class="{colour}">{sign}</td><td>{_finding(finding, facts, words)}</td>'
        yield f'<td class="mono">{place}</td><td class="dim">{words.line(finding.source)}</td></tr>'
    yield "</table>"


def _verdict(finding: Finding) -> tuple[str, str]:
    votes = f" {finding.stands}/{len(finding.votes)}" if finding.votes else ""
    if finding.verdict is None:
        return "… no verdict", "partly"
    if finding.by == "none" and finding.verdict == "confirmed":
        return "unverified", "partly"
    by = " by a person" if finding.by == "person" else votes
    return (f"✓ confirmed{by}", "good") if finding.verdict == "confirmed" else (f"✗ refuted{by}", "bad")


def _finding(finding: Finding, facts: FinderFacts, words: Words) -> str:
    title = words.line(finding.title)
    same = facts.findings.get(finding.duplicate_of or "")
    parts = [f'<p class="dim">the same as: {words.line(same.title)}</p>'] if same is not None else []
    if finding.detail:
        parts.append(words.markdown(finding.detail))
    if finding.place and finding.evidence:
        parts.append(f"<pre>{words.lines(finding.evidence)}</pre>")
    reasons = dict.fromkeys([*finding.reasons, *(vote.reason for vote in finding.votes)])
    parts += [f'<p class="dim">{words.lines(reason)}</p>' for reason in reasons if reason]
    return f"<details><summary>{title}</summary>{''.join(parts)}</details>" if parts else title
