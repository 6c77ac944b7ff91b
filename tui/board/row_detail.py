"""All facts about one finding, one lens or one item, in rows that can be scrolled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.style import Style

from rundry.agent import plural, relation_words

from ..lines.draw_runs import fold
from ..text.show_text import one_line, show
from .cited_lines import excerpt
from .finding_rows import fate, same_as
from .row_cells import Row, blank, foreign, grouped
from .selected_finding import excerpt_rows

if TYPE_CHECKING:
    from rundry.agent import Finding, LensFacts, VoteCast

    from .board_data import BoardData

_AROUND = 21
"""Number of lines around the cited one."""


def finding_detail(data: BoardData, finding: Finding, width: int) -> list[Row]:
    """Return the title, the text, the cited lines, the votes of verifiers with their reasons, and duplicates."""
    palette = data.palette
    rows = _wrapped(data, finding.title, palette.bright, width)
    rows += [[*fate(data, finding), blank(2), *_verdict(data, finding)], []]
    if finding.detail:
        rows += [*_wrapped(data, finding.detail, palette.code, width), []]
    if finding.evidence:
        rows += [*_evidence(data, finding, width), []]
    rows += _votes(data, finding, width)
    if finding.duplicate_of is not None:
        other = data.facts.findings.get(finding.duplicate_of)
        rows += [*_named(data, "same as", other.title if other else finding.duplicate_of, width)]
    elif finding.may_repeat is not None:
        other = data.facts.findings.get(finding.may_repeat)
        rows += _named(
            data,
            "compared" if finding.is_distinct else "may repeat",
            other.title if other else finding.may_repeat,
            width,
        )
    if finding.relation:
        rows += _named(data, "place", relation_words(finding.relation), width)
    for same in same_as(data.facts, finding.key):
        rows += _named(data, "merged", same.title, width)
    source = f"{finding.source}, pass {finding.pass_number}" if data.by_lenses else finding.source
    rows += _named(data, "found by", source, width)
    rows += _named(data, "key", finding.key, width)
    return rows


def lens_detail(data: BoardData, lens: LensFacts, width: int) -> list[Row]:
    """Return the prompt of the lens, its origin, and the result of its last pass."""
    palette = data.palette
    rows = [*_wrapped(data, lens.name, palette.bright, width), []]
    rows += [*_wrapped(data, lens.prompt, palette.code, width), []]
    rows += _named(data, "model", lens.model or "the run's", width)
    rows += _named(data, "by", lens.by + (", runs once" if lens.once else ""), width)
    count = f"{plural(lens.passes, 'pass')}, {lens.new} new, {lens.confirmed} confirmed, {lens.refuted} refuted"
    rows += _named(data, "so far", count, width)
    covered, scope = data.facts.read_by(lens.name), data.facts.scope
    of = (f" of {scope.files:,}", f" of {scope.lines:,}") if scope is not None else ("", "")
    rows += _named(data, "read", f"{covered.files:,}{of[0]} files, {covered.lines:,}{of[1]} lines", width)
    if lens.last:
        rows += _named(data, "last", lens.last, width)
    if lens.failed:
        rows += _named(data, "failed", lens.failed, width)
    found = [f for f in data.facts.findings.values() if f.source == lens.name]
    rows += [[], [(f"its findings {grouped(len(found))}", palette.dim)]] if found else []
    rows += [[*fate(data, each), blank(1), *foreign(each.title, palette.code, palette)] for each in found[-100:]]
    return rows


def item_detail(data: BoardData, pairs: list[tuple[str, str]], width: int) -> list[Row]:
    """Return what is known of an item as pairs of name and text."""
    rows: list[Row] = []
    for name, text in pairs:
        if text:
            rows += _named(data, name, text, width)
    return rows


def _verdict(data: BoardData, finding: Finding) -> Row:
    palette = data.palette
    if finding.verdict is None:
        wanted = finding.wants_evidence
        said = f"needs evidence: {one_line(wanted)}" if wanted is not None else "no verdict yet"
        return [(said, palette.dim)]
    if finding.by == "none":
        return [("no verdict: no verifier was asked", palette.dim)]
    who = {"person": "by you", "sceptics": "by the verifiers"}
    return [(f"{finding.verdict}, {who.get(finding.by, finding.by)}", palette.dim)]


def _evidence(data: BoardData, finding: Finding, width: int) -> list[Row]:
    palette = data.palette
    rows = _wrapped(data, finding.evidence, palette.link, width)
    found = excerpt(finding.evidence, Path(data.state.workspace), finding.place)
    if isinstance(found, str):
        return rows + ([[(found, palette.dim)]] if found else [])
    if found.note:
        rows.append([(found.note, palette.verdict_partly)])
    return rows + excerpt_rows(data, found, width, _AROUND)


def _votes(data: BoardData, finding: Finding, width: int) -> list[Row]:
    palette = data.palette
    if finding.by == "person" and finding.reasons:
        return [*_named(data, "you", "; ".join(finding.reasons), width), []]
    if not finding.votes:
        return []
    rows: list[Row] = [[("verifiers", palette.dim)]]
    for vote in finding.votes:
        sign, word, style = _vote(data, vote)
        reason = _wrapped(data, vote.reason or "no reason", palette.code, width - 14)
        head: Row = [(sign, style), (f" {word}".ljust(13), style)]
        rows += [[*head, *line] if at == 0 else [blank(14), *line] for at, line in enumerate(reason)]
    return [*rows, []]


def _vote(data: BoardData, vote: VoteCast) -> tuple[str, str, Style]:
    palette = data.palette
    match vote.verdict:
        case "stands":
            return "✓", "stands", palette.verdict_good
        case "refuted":
            return "✗", "refuted", palette.verdict_bad
        case _:
            return "~", one_line(vote.verdict)[:11], palette.verdict_partly


def _named(data: BoardData, name: str, text: str, width: int) -> list[Row]:
    palette = data.palette
    lines = _wrapped(data, text, palette.code, width - 11)
    return [[(name.ljust(11), palette.dim), *line] if at == 0 else [blank(11), *line] for at, line in enumerate(lines)]


def _wrapped(data: BoardData, text: str, style: Style, width: int) -> list[Row]:
    palette = data.palette
    rows: list[Row] = []
    for line in show(text).split("\n"):
        rows += [list(row) for row in fold(foreign(line, style, palette), max(10, width))]
    return rows
