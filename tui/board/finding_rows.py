"""The table of findings: the verdict as three symbols and a word, the title, the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rundry.agent import plural

from ..lines.draw_runs import width_of
from .item_rows import without_host
from .row_cells import Row, blank, foreign, left, path, right

if TYPE_CHECKING:
    from rundry.agent import FinderFacts, Finding

    from .board_data import BoardData

MARK = 7
_WIDE = 104
"""Width from which the lens and the verdict have columns."""
_WIDEST = 150
"""Width above which the columns do not move further apart."""
_LENS = 12
_VERDICT = 19


def tally(data: BoardData, *, has_words: bool) -> Row:
    """Return `17 ✓  42 ✗  3 judging`, or with words. A finding that no verifier judged does not count as ✓."""
    palette, facts = data.palette, data.facts
    confirmed, refuted = facts.confirmed - facts.unverified, facts.refuted
    good, bad = ("✓ confirmed", "✗ refuted") if has_words else ("✓", "✗")
    row: Row = [
        (f"{confirmed} {good}", palette.verdict_good if confirmed else palette.faint),
        (f"  {refuted} {bad}", palette.verdict_bad if refuted else palette.faint),
    ]
    if facts.unverified:
        found = plural(facts.unverified, "dead link") if data.is_crawl else f"{facts.unverified} unverified"
        row.append((f"  {found}", palette.bright))
    if data.is_crawl:
        return row[2:] if facts.unverified else [("no dead links", palette.faint)]
    judging = len(facts.findings) - facts.confirmed - refuted
    if not data.is_over or judging:
        word = "no verdict" if data.is_over else "judging"
        row.append((f"  {judging} {word}", palette.bright if judging else palette.faint))
    return row


def finding_row(data: BoardData, finding: Finding, width: int) -> Row:
    """Return `✓ 3/3  raw string in orders.search      src/orders.py:88     taint    confirmed by 3 of 3`."""
    palette, width = data.palette, min(width, _WIDEST)
    is_past = finding.verdict == "refuted" or finding.relation == "outside"
    lens: Row = []
    if width >= _WIDE:
        source: Row = [] if finding.is_dead_link else foreign(finding.source, palette.dim, palette)
        lens = [
            blank(2),
            *left(source, _LENS),
            blank(2),
            *left([(verdict_words(data, finding), palette.dim)], _VERDICT),
        ]
    room = width - width_of(lens)
    beside = _beside(data, finding, max(10, room // 3), is_wide=bool(lens))
    tail = max(width_of(beside), room // 3 if lens else 0)
    title = foreign(finding.title, palette.dim if is_past else palette.code, palette)
    row = [*left(fate(data, finding), MARK), *left(title, room - MARK - tail - (2 if tail else 0))]
    return [*row, *([blank(2), *left(beside, tail)] if tail else []), *lens]


def verdict_words(data: BoardData, finding: Finding) -> str:
    """Return the verdict and its author in a few words."""
    if finding.verdict is None:
        if finding.wants_evidence is not None:
            return "sent back"
        asked = max(data.spec.sceptics, len(finding.votes))
        return "no verdict" if data.is_over or not asked else f"verifying {len(finding.votes)}/{asked}"
    if finding.duplicate_of is not None:
        return "merged"
    match finding.by:
        case "person":
            return f"{finding.verdict} by you"
        case "none":
            if finding.verdict == "refuted":
                return "the page answers now"
            return "seen by the crawl" if finding.is_dead_link else "not verified"
        case _:
            asked = len(finding.votes)
            count = finding.stands if finding.verdict == "confirmed" else asked - finding.stands
            return f"{finding.verdict} by {count} of {asked}"


def fate(data: BoardData, finding: Finding) -> Row:
    """Return the symbol and the word of the verdict."""
    palette = data.palette
    if data.marked == finding.key:
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
    if finding.by == "none" and is_good:
        return [("dead", palette.verdict_bad)] if finding.is_dead_link else [("as is", palette.dim)]
    return [(f"{sign} {finding.stands}/{len(finding.votes)}" if finding.votes else sign, style)]


def _beside(data: BoardData, finding: Finding, width: int, *, is_wide: bool) -> Row:
    palette = data.palette
    if finding.verdict is not None or is_wide:
        style = palette.faint if finding.verdict == "refuted" else palette.dim
        text = without_host(data, finding.evidence) if finding.is_dead_link else finding.evidence
        return path(text, style, palette, width)
    if finding.wants_evidence is not None:
        return [("finding evidence", palette.bright)]
    if data.is_over:
        return [("no verdict", palette.verdict_partly)]
    asked = max(data.spec.sceptics, len(finding.votes))
    at_work = any(f.about == finding.key and f.kind == "sceptic" for f in data.facts.flights.values())
    word = "judging" if at_work or finding.votes else "waits"
    return right([(f"{word} {len(finding.votes)}/{asked}", palette.bright if at_work else palette.dim)], 11)


def same_as(facts: FinderFacts, key: str) -> list[Finding]:
    """Return the findings that were merged into this one."""
    return [finding for finding in facts.findings.values() if finding.duplicate_of == key]
