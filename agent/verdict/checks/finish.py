"""Accept `finish` only with citations that hold (docs/requirements.md 2.3.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...host.file_errors import PathRefused
from ...host.meant_paths import meant_path
from ...host.plain_files import read_plain
from ...host.real_paths import real_path
from ...protocol.text.shorten_text import end_cut

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace

_LARGEST = 20_000_000
"""Bytes of the largest cited file that is read."""


class _Citation(msgspec.Struct, frozen=True):
    path: str
    line: int | None = None
    last: int | None = None
    """The last line of `path:3-7`."""
    quote: str | None = None


def reject_finish(answer: str, citations: Sequence[Any], workspace: Workspace, touched: Iterable[str]) -> str | None:
    """Return why `finish` is not accepted, as text for the model, or None if every citation holds.

    `touched`: paths that this run read or wrote, as the model named them.
    """
    if not answer.strip():
        return "the answer is empty"
    if not citations:
        return 'there is no citation: name the files that show it, as "path", "path:line" or {path, line, quote}'
    known = {_real(path, workspace) for path in touched}
    for given in citations:
        citation = _parse(given, workspace)
        problem = citation if isinstance(citation, str) else _problem(citation, workspace, known)
        if problem is not None:
            return problem
    return None


def _parse(given: object, workspace: Workspace) -> _Citation | str:
    """Return the citation, or what is wrong with its form."""
    if isinstance(given, str):
        return _parse_text(given, workspace)
    if not isinstance(given, dict):
        return f'{given!r} is not a citation: write "path", "path:line" or {{path, line, quote}}'
    fields = cast("dict[str, object]", given)
    path, line, quote = fields.get("path"), fields.get("line"), fields.get("quote")
    if not isinstance(path, str) or not path:
        return f"the citation {fields!r} has no `path`"
    base = _parse_text(path, workspace) if line is None else _Citation(path)
    if isinstance(line, str) and line.strip().isdigit():
        line = int(line)
    if line is not None and (not isinstance(line, int) or isinstance(line, bool)):
        return f"{path}: `line` must be a whole number, not {line!r}"
    if quote is not None and not isinstance(quote, str):
        return f"{path}: `quote` must be a text, not {quote!r}"
    return _Citation(base.path, line if line is not None else base.line, base.last, quote or None)


def _parse_text(text: str, workspace: Workspace) -> _Citation:
    match = re.fullmatch(r"(.+?):(?:L)?(\d+)(?:-L?(\d+))?(?::\d+)?", text.strip())
    if match is None or workspace.at(text).exists():
        return _Citation(text.strip())
    return _Citation(match[1], int(match[2]), int(match[3]) if match[3] else None)


def _problem(citation: _Citation, workspace: Workspace, known: set[str]) -> str | None:
    try:
        path = workspace.resolve(meant_path(workspace, citation.path))
    except PathRefused as refused:
        return str(refused)
    if str(path) not in known:
        return f"{citation.path}: this run neither read nor wrote it; read it before you cite it"
    if not path.is_file():
        return f"{citation.path}: {'it is not a file' if path.exists() else 'it does not exist'}"
    try:
        lines = read_plain(path, _LARGEST).decode("utf-8", "replace").splitlines()
    except OSError as error:
        return f"{citation.path}: it cannot be read ({error.strerror}); cite another file"
    return _line_problem(citation, lines) or _quote_problem(citation, lines)


def _line_problem(citation: _Citation, lines: list[str]) -> str | None:
    for line in (citation.line, citation.last):
        if line is not None and not 1 <= line <= len(lines):
            return f"{citation.path} has {len(lines)} lines, there is no line {line}"
    return None


def _quote_problem(citation: _Citation, lines: list[str]) -> str | None:
    """Check that the quote is there, ignoring white space; with a line number it has to begin on that line."""
    wanted = _squeeze(citation.quote or "")
    if not wanted:
        return None
    where = _lines_with(wanted, lines)
    if not where:
        return f"{citation.path}: the quote is not there: {end_cut(wanted, 80)}"
    first, last = citation.line, citation.last or citation.line
    if first is None or last is None or any(first <= begin <= last for begin, _ in where):
        return None
    return f"{citation.path}: the quote is on line {where[0][0]}, not on line {first}"


def _lines_with(wanted: str, lines: list[str]) -> list[tuple[int, int]]:
    """Return the first and last line of each place with the text, ignoring white space."""
    starts: list[int] = []
    pieces: list[str] = []
    at = 0
    for line in lines:
        starts.append(at)
        piece = _squeeze(line)
        pieces.append(piece)
        at += len(piece) + (1 if piece else 0)
    whole = " ".join(piece for piece in pieces if piece)
    places: list[tuple[int, int]] = []
    found = whole.find(wanted)
    while found >= 0 and len(places) < 1_000:
        begin = max(i for i, start in enumerate(starts) if start <= found and pieces[i])
        end = max(i for i, start in enumerate(starts) if start < found + len(wanted) and pieces[i])
        places.append((begin + 1, end + 1))
        found = whole.find(wanted, found + 1)
    return places


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _real(path: str, workspace: Workspace) -> str:
    return str(real_path(workspace.at(path)))
