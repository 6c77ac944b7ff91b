"""What makes two findings one, and when one of them is confirmed."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ...protocol import VoteCast
from ...system import read_plain
from ..items.keys import item_key

_PLACE = re.compile(r"(.+?):(\d+)(?:[:-]\d+)*\Z", re.DOTALL)
_LONGEST_LINE = 20_000
_LARGEST_FILE = 16 << 20
_END = ""
"""The neighbour of a file's first and last line."""


class Identity(msgspec.Struct, frozen=True):
    """What a finding is known by (docs/requirements.md 2.4.6)."""

    key: str
    """The given key, else the place, else the title without its small differences."""
    place: str = ""
    """The cited line: its file, its text and that of its neighbours. Empty: the evidence cites no line that exists."""
    old_place: str = ""
    """The same place as earlier versions wrote it, without the neighbours: older journals hold such keys."""


def identity(title: str, evidence: str, given: str | None, root: Path) -> Identity:
    """Return what the finding is known by. Reads the cited file.

    The place is made of the lines' text, not of their numbers: it stays the same when lines are added above it. Where
    the same three lines come several times in the file, the place also says which of them is cited.
    """
    place, old_place = _place(evidence, root)
    if given is not None and given.strip():
        return Identity(item_key("value", given, root), place, old_place)
    return Identity(place or plain_title(title), place, old_place)


def variant_key(key: str, title: str, place: str) -> str:
    """Return the key of a finding whose own key or place is taken by a finding with another title."""
    return f"{key}~{_digest(plain_title(title), place)}"


def verdict_of(votes: Sequence[VoteCast], asked: int) -> str | None:
    """`confirmed` where a majority of those asked failed to refute it, `refuted` where that cannot be any more.

    None: too many did not answer to say either.
    """
    stands = sum(vote.verdict == "stands" for vote in votes)
    if stands * 2 > asked:
        return "confirmed"
    return "refuted" if (len(votes) - stands) * 2 >= asked else None


def duplicate_in(votes: Sequence[VoteCast]) -> str | None:
    """The finding that it repeats, where more sceptics said so than refuted it otherwise."""
    named = [vote.duplicate_of for vote in votes if vote.verdict == "duplicate" and vote.duplicate_of]
    against = sum(vote.verdict == "refuted" for vote in votes)
    return max(set(named), key=named.count) if named and len(named) >= against else None


def plain_title(title: str) -> str:
    """Return the title without case, punctuation and spacing, as the key of a finding without a place."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", title).casefold())
    return "title:" + (" ".join(words) or title.strip())


def _place(evidence: str, root: Path) -> tuple[str, str]:
    """The place that the evidence cites, and its older form; both are empty where it cites no existing line."""
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
    return f"{path}#{_digest(*lines)}{nth}", f"{path}#{old}"


def _digest(*texts: str) -> str:
    whole = "\0".join(texts).encode(errors="replace")
    return hashlib.blake2b(whole, digest_size=8).hexdigest()


def _cited(path: str, number: int) -> tuple[tuple[str, str, str], int] | None:
    """The line with its neighbours, and how often the same three come before it. None: it cannot be read."""
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
    """Each line with the one before and the one after it, without white space around them."""
    before, here = _END, None
    for line in lines:
        after = line[:_LONGEST_LINE].strip()
        if here is not None:
            yield before, here, after
            before = here
        here = after
    if here is not None:
        yield before, here, _END
