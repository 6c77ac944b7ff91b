"""Decide which findings are the same, which are known, and when one is confirmed; list them as a search's answer."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.plain_files import read_plain
from ...state.search.cited_place import short_digest
from ..items.item_keys import item_key

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Judgement, VoteCast
    from ...state.search.finder_facts import FinderFacts
    from ...state.search.finding_facts import Finding

_PLACE = re.compile(r"(.+?):(\d+)(?:[:-]\d+)*\Z", re.DOTALL)
_LONGEST_LINE = 20_000
_LARGEST_FILE = 16 << 20
_END = ""
"""Stands for the line before a file's first line and after its last one."""
_MOST_OPEN = 4_096
"""Findings remembered next to the facts before those that the facts already hold are dropped."""


class Identity(msgspec.Struct, frozen=True):
    """What identifies a finding (docs/requirements.md 2.4.6)."""

    key: str
    """The given key, else the place, else the normalized title."""
    place: str = ""
    """The cited line: its file, its text and the lines around it. Empty if the evidence cites no existing line."""
    old_place: str = ""
    """The place as earlier versions wrote it, without the lines around it. Older journals hold such keys."""


def identity(title: str, evidence: str, given: str | None, root: Path) -> Identity:
    """Return what identifies the finding. Reads the cited file.

    The place consists of the text of the lines, not of their numbers, so it stays the same when lines are added above
    it. If the same three lines occur several times in the file, the place also says which occurrence is cited.
    """
    place, old_place = _place(evidence, root)
    if given is not None and given.strip():
        return Identity(item_key("value", given, root), place, old_place)
    return Identity(place or _plain_title(title), place, old_place)


class KnownMatch(msgspec.Struct, frozen=True):
    """How a reported finding relates to the known ones."""

    key: str
    is_known: bool
    """Same key and same title: a repeated report adds nothing."""
    may_repeat: str | None = None
    """Key of the finding at the same place with another title. A verifier compares the two."""


class _KnownFinding(msgspec.Struct, frozen=True):
    key: str
    title: str
    place: str


class KnownFindings:
    """The findings of the facts, and those reported in the open transaction."""

    def __init__(self, facts: FinderFacts, journal: Journal) -> None:
        """`journal`: the findings of its transactions that were rolled back are forgotten."""
        self._facts, self._journal = facts, journal
        self._rolled_back = journal.rollbacks
        self._open: dict[str, _KnownFinding] = {}
        self._places: dict[str, str] = {}

    def match(self, title: str, found: Identity, *, by_model: bool) -> KnownMatch:
        """Return whether the finding is known, may repeat a known one, or is new.

        A key that a worker gives is used unchanged. A model may use one key, or cite one place, for several findings.
        """
        self._forget()
        same_key, same_place = self._by_key(found.key), self._by_place(found)
        if same_key is not None and not by_model and found.key != found.place:
            return KnownMatch(same_key.key, is_known=True)
        other = same_key or (same_place if by_model or found.key == found.place else None)
        if other is None:
            return KnownMatch(found.key, is_known=False)
        moved = bool(other.place and found.place) and other.place not in (found.place, found.old_place)
        if _plain_title(other.title) == _plain_title(title) and not moved:
            return KnownMatch(other.key, is_known=True)
        own = found.key if same_key is None and found.key != found.place else None
        key = own or _variant_key(found.key, title, found.place)
        return KnownMatch(key, is_known=self._by_key(key) is not None, may_repeat=other.key)

    def add(self, key: str, title: str, place: str) -> None:
        """Remember a finding that was just reported."""
        self._open[key] = _KnownFinding(key, title, place)
        if place:
            self._places.setdefault(place, key)

    def _by_key(self, key: str) -> _KnownFinding | None:
        known = self._facts.findings.get(key)
        return self._open.get(key) if known is None else _KnownFinding(key, known.title, known.place)

    def _by_place(self, found: Identity) -> _KnownFinding | None:
        if not found.place:
            return None
        key = self._facts.places.get(found.place) or self._places.get(found.place)
        return self._by_key(key or found.old_place)

    def _forget(self) -> None:
        if self._rolled_back != self._journal.rollbacks:
            self._rolled_back = self._journal.rollbacks
            self._open.clear()
            self._places.clear()
        elif len(self._open) > _MOST_OPEN:
            held = self._facts.findings
            self._open = {key: noted for key, noted in self._open.items() if key not in held}
            self._places = {place: key for place, key in self._places.items() if key in self._open}


def _variant_key(key: str, title: str, place: str) -> str:
    """Return the key of a finding whose own key or place belongs to a finding with another title."""
    return f"{key}~{short_digest(_plain_title(title), place)}"


def verdict_of(votes: Sequence[VoteCast], asked: int) -> Judgement | None:
    """Return `confirmed` if a majority of those asked did not refute it, and `refuted` if a majority is not possible
    any more.

    Returns None if too few answered to decide.
    """
    stands = sum(vote.verdict == "stands" for vote in votes)
    if stands * 2 > asked:
        return "confirmed"
    return "refuted" if (len(votes) - stands) * 2 >= asked else None


def duplicate_in(votes: Sequence[VoteCast]) -> str | None:
    """Return the finding that this one repeats, if more verifiers said so than refuted it otherwise."""
    named = [vote.duplicate_of for vote in votes if vote.verdict == "duplicate" and vote.duplicate_of]
    against = sum(vote.verdict == "refuted" for vote in votes)
    return max(set(named), key=named.count) if named and len(named) >= against else None


def _plain_title(title: str) -> str:
    """Return the title without case, punctuation and spacing, as the key of a finding without a place."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", title).casefold())
    return "title:" + (" ".join(words) or title.strip())


def _place(evidence: str, root: Path) -> tuple[str, str]:
    """Return the place that the evidence cites and its older form; both empty if it cites no existing line."""
    cited = _PLACE.match(evidence.strip())
    if cited is None:
        return "", ""
    path = item_key("file", cited[1], root)
    found = _cited(path, int(cited[2]))
    if found is None:
        return "", ""
    lines, earlier = found
    nth = f".{earlier + 1}" if earlier else ""
    old = hashlib.blake2b(lines[1].encode(errors="replace"), digest_size=6).hexdigest()
    return f"{path}#{short_digest(*lines)}{nth}", f"{path}#{old}"


def _cited(path: str, number: int) -> tuple[tuple[str, str, str], int] | None:
    """Return the line with the lines around it, and how often the same three occur before it.

    Returns None if it cannot be read.
    """
    try:
        file = Path(path)
        if number < 1:
            return None
        text = io.StringIO(read_plain(file, _LARGEST_FILE).decode("utf-8", "replace"), newline=None)
        windows = [window for window, _ in zip(_windows(text), range(number), strict=False)]
    except (OSError, ValueError):
        return None
    if len(windows) < number:
        return None
    return windows[-1], windows.count(windows[-1]) - 1


def _windows(lines: Iterator[str]) -> Iterator[tuple[str, str, str]]:
    """Return each line with the line before and the line after it, without surrounding white space."""
    before, here = _END, None
    for line in lines:
        after = line[:_LONGEST_LINE].strip()
        if here is not None:
            yield before, here, after
            before = here
        here = after
    if here is not None:
        yield before, here, _END


def answer_of(found: Collection[Finding]) -> str | None:
    """Return the confirmed findings and those without a verdict as a text, or None if there are none."""
    outside = [f for f in found if f.relation == "outside" and f.verdict != "refuted"]
    found = [f for f in found if f.relation != "outside"]
    confirmed = [f for f in found if f.verdict == "confirmed" and (f.by != "none" or f.is_dead_link)]
    open_ = [f for f in found if f.verdict is None or (f.by == "none" and not f.is_dead_link)]
    lines = [_listed(f) for f in confirmed]
    if open_:
        lines += ["", "Not judged:", *map(_listed, open_)]
    if outside:
        lines += ["", "Outside of the diff:", *map(_listed, outside)]
    return "\n".join(lines).strip() or None


def _listed(finding: Finding) -> str:
    return f"- {finding.title}" + (f" ({finding.evidence})" if finding.evidence else "")
