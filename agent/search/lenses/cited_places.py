"""Check the place that a reported finding cites, before a verifier sees it (docs/requirements.md 2.4.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import PathRefused
from ...host.meant_paths import meant_path
from ...host.plain_files import read_plain
from ...protocol.text.shorten_text import end_cut

if TYPE_CHECKING:
    from ...host.workspace_paths import Workspace

_PLACE = re.compile(
    r"(?P<path>[^\s:,;()`'\"<>|]+):L?(?P<line>\d+)(?:[-\u2013]L?(?P<last>\d+))?(?::\d+)?(?![\w/])(?=(?P<rest>[^,;]*))"
)
_ALONE = re.compile(r"(?P<path>.+?):L?(?P<line>\d+)(?:[-\u2013]L?(?P<last>\d+))?(?::\d+)?", re.DOTALL)
_QUOTE = re.compile(r"[\s:,;\-\u2013\u2014(]*(?:`([^`]+)`|\"([^\"]+)\"|'([^']+)')[\s).]*")
_WHOLE_QUOTE = re.compile(r"\s*(?:`([^`]+)`|\"([^\"]+)\"|'([^']+)')\s*", re.DOTALL)
_LARGEST = 20_000_000
"""Bytes of the largest cited file that is read."""
_NEAR = 3
"""Lines around the cited ones in which the quoted text may be."""
_SHORT = 80
_HOW = "write the evidence as `path:line`"


class CitedPlace(msgspec.Struct, frozen=True):
    """What the evidence of a finding cites."""

    path: str
    """Path as it was written, or a URL."""
    line: int | None = None
    last: int | None = None
    quote: str = ""

    @property
    def is_url(self) -> bool:
        """Whether a page is cited."""
        return self.path.startswith(("http://", "https://"))


def why_no_place(evidence: str, workspace: Workspace, served: Iterable[str]) -> str | None:
    """Return why the evidence cites no place that can be looked at, as text for the model, or None if it does.

    `served`: files and pages that the reporter was shown.
    """
    text = evidence.strip()
    if not text:
        return f"it has no evidence: {_HOW}"
    places = places_in(text, workspace)
    if not places:
        return _why_no_quote(text, workspace, served)
    return next((why for place in places if (why := _problem(place, workspace, served)) is not None), None)


def places_in(evidence: str, workspace: Workspace) -> list[CitedPlace]:
    """Return the places that the evidence cites; empty if it has none in a known form."""
    text = evidence.strip()
    bare = text.strip("`'\"")
    if bare.startswith(("http://", "https://")):
        return [CitedPlace(bare.split()[0])]
    if bare and _is_there(bare, workspace):
        return [CitedPlace(bare)]
    if (alone := _ALONE.fullmatch(bare)) is not None and _is_there(alone["path"], workspace):
        return [CitedPlace(alone["path"], int(alone["line"]), int(alone["last"]) if alone["last"] else None)]
    return list(_cited(text))


def cited_files(evidence: str, workspace: Workspace) -> set[Path]:
    """Return the real paths of the files that the evidence cites."""
    found = (_real(place.path, workspace) for place in places_in(evidence, workspace) if not place.is_url)
    return {path for path in found if path is not None}


def served_files(served: Iterable[str], workspace: Workspace) -> set[Path]:
    """Return the real paths of the files that a work was shown."""
    found = (_real(name, workspace) for name in served if not name.startswith(("http://", "https://")))
    return {path for path in found if path is not None}


def _cited(text: str) -> Iterator[CitedPlace]:
    for match in _PLACE.finditer(text):
        quote = _QUOTE.fullmatch(match["rest"])
        words = next((one for one in quote.groups() if one), "") if quote is not None else ""
        yield CitedPlace(match["path"], int(match["line"]), int(match["last"]) if match["last"] else None, words)


def _problem(place: CitedPlace, workspace: Workspace, served: Iterable[str]) -> str | None:
    if place.is_url:
        is_read = any(one.partition("#")[0] == place.path.partition("#")[0] for one in served)
        return None if is_read else f"{place.path} was not read: fetch a page before you cite it"
    real = _real(place.path, workspace)
    if real is None or not real.exists():
        return f"{place.path} does not exist in this workspace: cite a file that you read"
    if place.line is None:
        return None
    if not real.is_file():
        return f"{place.path} is not a file: {_HOW}"
    try:
        lines = read_plain(real, _LARGEST).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError) as error:
        return f"{place.path} cannot be read ({error}): cite another file"
    last = place.last or place.line
    if not 1 <= place.line <= last <= len(lines):
        return f"{place.path} has {len(lines):,} lines: there is no line {last if last > len(lines) else place.line}"
    near = lines[max(0, place.line - 1 - _NEAR) : last + _NEAR]
    if place.quote and _squeezed(place.quote) not in _squeezed("\n".join(near)):
        return f"{place.path}:{place.line} does not have the text `{end_cut(place.quote, _SHORT)}`"
    return None


def _why_no_quote(text: str, workspace: Workspace, served: Iterable[str]) -> str | None:
    """Return why a text that names no place is not accepted; a quote from a file that was read is."""
    match = _WHOLE_QUOTE.fullmatch(text)
    quote = _squeezed(next((one for one in match.groups() if one), "")) if match is not None else ""
    for path in served_files(served, workspace) if quote else ():
        try:
            if quote in _squeezed(read_plain(path, _LARGEST).decode("utf-8", "replace")):
                return None
        except (OSError, ValueError):
            continue
    return f"`{end_cut(text, _SHORT)}` does not name a file of this workspace: {_HOW}"


def _is_there(path: str, workspace: Workspace) -> bool:
    real = _real(path, workspace)
    return real is not None and real.exists()


def _real(path: str, workspace: Workspace) -> Path | None:
    try:
        return workspace.resolve(meant_path(workspace, path))
    except (PathRefused, OSError, ValueError):
        return None


def _squeezed(text: str) -> str:
    return " ".join(text.split())
