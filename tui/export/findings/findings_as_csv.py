"""The findings of a run as CSV (RFC 4180), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...start.confirmed_findings import below_workspace
from ...text.show_text import one_line, show

if TYPE_CHECKING:
    from ...start.confirmed_findings import Findings, FoundRow

COLUMNS = (
    "state", "title", "file", "line", "evidence", "lens", "pass", "judged_by", "stands", "votes", "reasons", "detail",
    "duplicate_of", "linked_from", "key", "fingerprint", "relation",
)  # fmt: skip
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
"""First characters of a cell that a spreadsheet may calculate (OWASP, CSV Injection)."""


def as_csv(found: Findings) -> Iterator[str]:
    """Yield the table line by line, with a heading."""
    yield _line(COLUMNS)
    for row in found.rows:
        yield _line(_cells(row, found.state.workspace))


def safe_cell(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet could calculate it."""
    return f"'{text}" if text.lstrip(" '\"").startswith(_FORMULA) else text


def _cells(row: FoundRow, workspace: str) -> list[str]:
    finding = row.finding
    return [
        row.state,
        one_line(finding.title),
        one_line(row.file),
        str(row.line or ""),
        one_line(finding.evidence),
        one_line(finding.source),
        str(finding.pass_number or ""),
        {"sceptics": "verifiers", "none": ""}.get(finding.by, finding.by),
        str(finding.stands) if finding.votes else "",
        str(len(finding.votes) or ""),
        show("\n".join(finding.reasons)),
        show(finding.detail),
        one_line(below_workspace(finding.duplicate_of or "", workspace)),
        "\n".join(map(one_line, row.linked_from)),
        one_line(below_workspace(finding.key, workspace)),
        row.fingerprint,
        finding.relation,
    ]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow([safe_cell(cell) for cell in cells])
    return file.getvalue()
