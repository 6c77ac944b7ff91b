"""The findings of a review as the body with which GitHub creates a review of a pull request.

GitHub REST API, "Create a review for a pull request" (`POST /repos/OWNER/REPO/pulls/NUMBER/reviews`). It refuses the
whole review if one comment is not on a line of the diff, so findings elsewhere are in the text of the review.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rundry.agent import COMMENTS_BEGIN, ReviewedDiff, UserError, end_cut, end_word, plural

from ..markup import as_code, as_fence

if TYPE_CHECKING:
    from rundry.agent import Journal

    from ...start.confirmed_findings import Findings, FoundRow

MARK = "rundry"
"""Word in front of the fingerprint, in a comment of HTML that a reader does not see."""
_LONGEST, _LONGEST_TEXT = 50_000, 8_000
"""GitHub accepts 65,536 characters, with the marks."""
_NAMED = 20
"""Files that the text of the review names."""


def as_comments(journal: Journal, found: Findings) -> Iterator[str]:
    """Yield the JSON of the review. Raises UserError if the run is not a review."""
    search = journal.spec.finder
    if search is None or search.review is None:
        raise UserError(f"run {found.state.run_id} is not a review: it has no comments to export")
    diff = msgspec.json.decode(journal.blobs.load(search.review.diff), type=ReviewedDiff)
    rows = [row for row in found.rows if row.state in ("confirmed", "unverified")]
    on_lines: list[dict[str, Any]] = []
    others: list[FoundRow] = []
    for row in rows:
        place = _on_line(row, diff) if row.finding.relation != "outside" else None
        if place is None:
            others.append(row)
        else:
            on_lines.append(place | {"side": "RIGHT", "body": _comment(row)})
    review: dict[str, Any] = {"event": "COMMENT", "body": _body(found, diff, rows, others), "comments": on_lines}
    if diff.commit:
        review = {"commit_id": diff.commit} | review
    yield json.dumps(review, indent=2) + "\n"


def _on_line(row: FoundRow, diff: ReviewedDiff) -> dict[str, Any] | None:
    """Return path and lines of a comment, or None if the cited lines are not in one hunk of the diff."""
    if row.line is None:
        return None
    first, last = row.line, max(row.line, row.last_line or row.line)
    for file in diff.shown:
        if file.path != row.file:
            continue
        for hunk in file.hunks:
            has_lines = any(line[:1] in (" ", "+") for line in hunk.lines)
            if has_lines and hunk.new <= first <= hunk.last:
                end = min(last, hunk.last)
                start = {} if end == first else {"start_line": first, "start_side": "RIGHT"}
                return {"path": file.path, "line": end} | start
    return None


def _comment(row: FoundRow) -> str:
    finding = row.finding
    detail = finding.detail.strip()
    parts = [_code(finding.title), as_fence(_plain(detail), "text") if detail else "", _code(row.verdict)]
    return _marked("\n\n".join(part for part in parts if part), [row.fingerprint])


def _body(found: Findings, diff: ReviewedDiff, rows: Sequence[FoundRow], others: Sequence[FoundRow]) -> str:
    outcome = found.state.outcome
    ended = f"{end_word(outcome)}: {outcome.detail}" if outcome is not None else "the review has not ended"
    parts = [
        f"{COMMENTS_BEGIN}{_code(diff.what)}: {plural(len(rows), 'finding')}. {_code(ended)}",
        *(f"Not looked at: {_code(path)}" for path in _left_out(diff)),
    ]
    for head, is_outside in (
        ("Not on a line of the diff", False),
        ("Outside of what the diff changes or affects", True),
    ):
        chosen = [row for row in others if (row.finding.relation == "outside") is is_outside]
        if chosen:
            parts.append("\n".join([f"{head}:", *map(_listed, chosen)]))
    return _marked("\n\n".join(parts), [row.fingerprint for row in others])


def _left_out(diff: ReviewedDiff) -> list[str]:
    names = [f"{file.path} ({file.left_out})" for file in diff.left_out]
    return [*names[:_NAMED], *([f"{len(names) - _NAMED:,} more files"] if len(names) > _NAMED else [])]


def _listed(row: FoundRow) -> str:
    place = f" {_code(f'{row.file}:{row.line}')}" if row.line is not None else ""
    return f"- {_code(row.finding.title)}{place}"


def _marked(text: str, fingerprints: Sequence[str]) -> str:
    marks = "\n".join(f"<!-- {MARK}:{one} -->" for one in fingerprints)
    return "\n\n".join(part for part in (text[:_LONGEST], marks) if part)


def _code(text: str) -> str:
    return as_code(_plain(text))


def _plain(text: str) -> str:
    """Return text of a model without a mark of its own, and short enough for GitHub."""
    return end_cut(text.replace("<!--", "<! --"), _LONGEST_TEXT)
