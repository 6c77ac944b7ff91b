"""Everything about one finding, one lens or one item, in rows that are scrolled."""

from __future__ import annotations

from pathlib import Path

from rich.style import Style

from rundry.agent import Finding, LensFacts, VoteCast

from ...lines import fold
from ...text import one_line, show
from ..look import Look
from .cells import Row, blank, foreign, grouped, right
from .excerpt import excerpt
from .findings import fate, same_as


def finding_detail(look: Look, finding: Finding, width: int) -> list[Row]:
    """Title, what it says, the cited lines, the votes of verifiers with their reasons, what is the same."""
    palette = look.palette
    rows = _wrapped(look, finding.title, palette.bright, width)
    rows += [[*fate(look, finding), blank(2), *_verdict(look, finding)], []]
    if finding.detail:
        rows += [*_wrapped(look, finding.detail, palette.code, width), []]
    if finding.evidence:
        rows += [*_evidence(look, finding, width), []]
    rows += _votes(look, finding, width)
    if finding.duplicate_of is not None:
        other = look.facts.findings.get(finding.duplicate_of)
        rows += [*_named(look, "same as", other.title if other else finding.duplicate_of, width)]
    elif finding.may_repeat is not None:
        other = look.facts.findings.get(finding.may_repeat)
        rows += _named(
            look,
            "compared" if finding.is_distinct else "may repeat",
            other.title if other else finding.may_repeat,
            width,
        )
    for same in same_as(look.facts, finding.key):
        rows += _named(look, "merged", same.title, width)
    source = f"{finding.source}, pass {finding.pass_number}" if look.by_lenses else finding.source
    rows += _named(look, "found by", source, width)
    rows += _named(look, "key", finding.key, width)
    return rows


def lens_detail(look: Look, lens: LensFacts, width: int) -> list[Row]:
    """How it looks, who brought it, how its last pass went."""
    palette = look.palette
    rows = [*_wrapped(look, lens.name, palette.bright, width), []]
    rows += [*_wrapped(look, lens.prompt, palette.code, width), []]
    rows += _named(look, "model", lens.model or "the run's", width)
    rows += _named(look, "by", lens.by + (", runs once" if lens.once else ""), width)
    count = f"{lens.passes} passes, {lens.new} new, {lens.confirmed} confirmed, {lens.refuted} refuted"
    rows += _named(look, "so far", count, width)
    covered, scope = look.facts.read_by(lens.name), look.facts.scope
    of = (f" of {scope.files:,}", f" of {scope.lines:,}") if scope is not None else ("", "")
    rows += _named(look, "read", f"{covered.files:,}{of[0]} files, {covered.lines:,}{of[1]} lines", width)
    if lens.last:
        rows += _named(look, "last", lens.last, width)
    if lens.failed:
        rows += _named(look, "failed", lens.failed, width)
    found = [f for f in look.facts.findings.values() if f.source == lens.name]
    rows += [[], [(f"its findings {grouped(len(found))}", palette.dim)]] if found else []
    rows += [[*fate(look, each), blank(1), *foreign(each.title, palette.code, palette)] for each in found[-100:]]
    return rows


def item_detail(look: Look, pairs: list[tuple[str, str]], width: int) -> list[Row]:
    """Names and texts."""
    rows: list[Row] = []
    for name, text in pairs:
        if text:
            rows += _named(look, name, text, width)
    return rows


def _verdict(look: Look, finding: Finding) -> Row:
    palette = look.palette
    if finding.verdict is None:
        wanted = finding.wants_evidence
        said = f"needs evidence: {one_line(wanted)}" if wanted is not None else "no verdict yet"
        return [(said, palette.dim)]
    if finding.by == "none":
        return [("no verdict: no verifier was asked", palette.dim)]
    who = {"person": "by you", "sceptics": "by the verifiers"}
    return [(f"{finding.verdict}, {who.get(finding.by, finding.by)}", palette.dim)]


def _evidence(look: Look, finding: Finding, width: int) -> list[Row]:
    palette = look.palette
    rows = _wrapped(look, finding.evidence, palette.link, width)
    found = excerpt(finding.evidence, Path(look.state.workspace))
    if isinstance(found, str):
        return rows + ([[(found, palette.dim)]] if found else [])
    for number, text in found.lines:
        here = number == found.line
        sign = ("▸", palette.needs_you) if here else (" ", palette.faint)
        style = palette.bright if here else palette.dim
        rows.append(
            [sign, *right([(str(number), palette.faint)], 6), blank(2), *foreign(text[: width * 2], style, palette)]
        )
    return rows


def _votes(look: Look, finding: Finding, width: int) -> list[Row]:
    palette = look.palette
    if finding.by == "person" and finding.reasons:
        return [*_named(look, "you", "; ".join(finding.reasons), width), []]
    if not finding.votes:
        return []
    rows: list[Row] = [[("verifiers", palette.dim)]]
    for vote in finding.votes:
        sign, word, style = _vote(look, vote)
        reason = _wrapped(look, vote.reason or "no reason", palette.code, width - 14)
        head: Row = [(sign, style), (f" {word}".ljust(13), style)]
        rows += [[*head, *line] if at == 0 else [blank(14), *line] for at, line in enumerate(reason)]
    return [*rows, []]


def _vote(look: Look, vote: VoteCast) -> tuple[str, str, Style]:
    palette = look.palette
    match vote.verdict:
        case "stands":
            return "✓", "stands", palette.verdict_good
        case "refuted":
            return "✗", "refuted", palette.verdict_bad
        case _:
            return "~", one_line(vote.verdict)[:11], palette.verdict_partly


def _named(look: Look, name: str, text: str, width: int) -> list[Row]:
    palette = look.palette
    lines = _wrapped(look, text, palette.code, width - 11)
    return [[(name.ljust(11), palette.dim), *line] if at == 0 else [blank(11), *line] for at, line in enumerate(lines)]


def _wrapped(look: Look, text: str, style: Style, width: int) -> list[Row]:
    palette = look.palette
    rows: list[Row] = []
    for line in show(text).split("\n"):
        rows += [list(row) for row in fold(foreign(line, style, palette), max(10, width))]
    return rows
