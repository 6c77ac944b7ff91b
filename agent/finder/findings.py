"""What makes two findings one, and when one of them stands."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from ..protocol import VoteCast
from .keys import item_key

_PLACE = re.compile(r"(.+?):(\d+)(?:[:-]\d+)*\Z", re.DOTALL)
_LONGEST_LINE = 20_000
_LARGEST_FILE = 16 << 20


def finding_key(title: str, evidence: str, given: str | None, root: Path) -> str:
    """The key given, else the place and the text of the cited line, else the title without its small differences.

    The line's text, not its number: a finding stays one when lines are added above it (REQUIREMENTS 2.4.6).
    """
    if given is not None and given.strip():
        return item_key("value", given, root)
    place = _PLACE.match(evidence.strip())
    if place is not None:
        path = item_key("file", place[1], root)
        line = _line(path, int(place[2]))
        if line is not None:
            return f"{path}#{hashlib.blake2b(line.strip().encode(errors='replace'), digest_size=6).hexdigest()}"
    return _plain(title)


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


def _plain(title: str) -> str:
    words = re.findall(r"\w+", unicodedata.normalize("NFC", title).casefold())
    return "title:" + (" ".join(words) or title.strip())


def _line(path: str, number: int) -> str | None:
    """That line of the file, or None where it cannot be read."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST_FILE:
            return None
        with file.open(encoding="utf-8", errors="replace") as lines:
            for count, line in enumerate(lines, 1):
                if count == number:
                    return line[:_LONGEST_LINE]
    except (OSError, ValueError):
        return None
    return None
