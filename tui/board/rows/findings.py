"""Findings in a table: their fate in three signs and a word, the title, where."""

from __future__ import annotations

from rundry.agent import FinderFacts, Finding

from ...lines.draw import width_of
from ..look import Look
from .cells import Row, blank, foreign, left, path, right

MARK = 7


def tally(look: Look) -> Row:
    """`17 ✓   42 ✗   3 judging`; what nobody was asked about is no ✓."""
    palette, facts = look.palette, look.facts
    confirmed, refuted = facts.confirmed - facts.taken, facts.refuted
    row: Row = [
        (f"{confirmed} ✓", palette.verdict_good if confirmed else palette.faint),
        (f"{refuted} ✗".rjust(len(f"{refuted} ✗") + 2), palette.verdict_bad if refuted else palette.faint),
    ]
    if facts.taken:
        row.append((f"  {facts.taken} unverified", palette.bright))
    judging = len(facts.findings) - facts.confirmed - refuted
    if not look.is_over or judging:
        word = "no verdict" if look.is_over else "judging"
        row.append((f"  {judging} {word}", palette.bright if judging else palette.faint))
    return row


def finding_row(look: Look, finding: Finding, width: int) -> Row:
    """`✓ 3/3  raw string in orders.search        src/orders.py:88`."""
    palette = look.palette
    is_past = finding.verdict == "refuted"
    beside = _beside(look, finding, max(10, width // 3))
    tail = width_of(beside)
    title = foreign(finding.title, palette.dim if is_past else palette.code, palette)
    row = [*left(fate(look, finding), MARK), *left(title, width - MARK - tail - (2 if tail else 0))]
    return [*row, blank(2), *beside] if tail else row


def fate(look: Look, finding: Finding) -> Row:
    """The sign and the word of its verdict."""
    palette = look.palette
    if look.marked == finding.key:
        return [("merge?", palette.needs_you)]
    if finding.verdict is None:
        return [("…", palette.bright)]
    is_good = finding.verdict == "confirmed"
    style = palette.verdict_good if is_good else palette.verdict_bad
    sign = "✓" if is_good else "✗"
    if finding.duplicate_of is not None:
        return [(f"{sign} same", style)]
    if finding.by == "person":
        return [(f"{sign} you", style)]
    if finding.by == "none":
        return [("as is", palette.dim)]
    return [(f"{sign} {finding.stands}/{len(finding.votes)}", style)]


def _beside(look: Look, finding: Finding, width: int) -> Row:
    palette = look.palette
    if finding.verdict is not None:
        return path(finding.evidence, palette.dim if finding.verdict == "confirmed" else palette.faint, palette, width)
    if finding.wants_evidence is not None:
        return [("finding evidence", palette.bright)]
    if look.is_over:
        return [("no verdict", palette.verdict_partly)]
    asked = max(look.spec.sceptics, len(finding.votes))
    at_work = any(f.about == finding.key and f.kind == "sceptic" for f in look.facts.flights.values())
    word = "judging" if at_work or finding.votes else "waits"
    return right([(f"{word} {len(finding.votes)}/{asked}", palette.bright if at_work else palette.dim)], 11)


def same_as(facts: FinderFacts, key: str) -> list[Finding]:
    """Findings that were merged into this one."""
    return [finding for finding in facts.findings.values() if finding.duplicate_of == key]
