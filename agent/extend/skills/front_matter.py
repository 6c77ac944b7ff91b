"""Read the front matter of a Markdown file: plain `key: value` pairs between two lines of `---`.

The format is YAML, but only texts are read. Anchors, aliases, tags and nested tables are never expanded, so a front
matter cannot grow while it is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST = 20_000
"""Characters of a front matter."""
_KEY = re.compile(r"([A-Za-z][\w-]{0,63}):(?:[ \t]+(.*))?")
_BLOCK = re.compile(r"[|>][+-]?")
_JOINERS = "\u200d\ufe0f"
"""Characters inside of emoji, which are removed."""


class BadFrontMatter(ValueError):
    """The front matter cannot be read. The message says why."""


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the pairs of the front matter, and the text after it. Raises BadFrontMatter.

    Values of other types than text are returned as they are written, in one line. Without a front matter, there are no
    pairs.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}, text
    end = re.compile(r"^---[ \t]*$", re.MULTILINE).search(text, 4, 4 + _LONGEST)
    if end is None:
        raise BadFrontMatter(f"its front matter does not end within {_LONGEST:,} characters: close it with a line ---")
    return _pairs(text[4 : end.start()].split("\n")), text[end.end() :].lstrip("\n")


def one_line_value(what: str, value: str, limit: int) -> str:
    """Return the value in one line. Raises BadFrontMatter if it is empty, too long, or has control characters."""
    clean = " ".join(value.split()).translate({ord(joiner): None for joiner in _JOINERS})
    if not clean:
        raise BadFrontMatter(f"its {what} is empty")
    if len(clean) > limit:
        raise BadFrontMatter(f"its {what} has {len(clean):,} characters: at most {limit:,} are allowed")
    if not clean.isprintable():
        raise BadFrontMatter(f"its {what} contains control characters or hidden characters: remove them")
    return clean


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        matched = _KEY.fullmatch(line.rstrip())
        if matched is None:
            raise BadFrontMatter(f"line {at + 1} of its front matter is not `key: value`")
        key, first = matched[1], (matched[2] or "").strip()
        if key in found:
            raise BadFrontMatter(f"its front matter has {key} twice: keep one")
        more: list[str] = []
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t" or _is_item(lines[at], first)):
            more.append(lines[at].strip())
            at += 1
        found[key] = _value(key, first, more)
    return found


def _is_item(line: str, first: str) -> bool:
    """Return whether this is an item of a list below a key without a value. YAML does not indent it."""
    return not first and line.startswith("- ")


def _value(key: str, first: str, more: Sequence[str]) -> str:
    if _BLOCK.fullmatch(first):
        return "\n".join(more).strip() if first.startswith("|") else " ".join(filter(None, more))
    if first[:1] in ("&", "*", "!"):
        raise BadFrontMatter(f"the value of {key} is a YAML {_NAMES[first[0]]}: write a plain text")
    whole = " ".join(filter(None, [first, *more]))
    if first[:1] in ("'", '"'):
        return _unquoted(key, whole)
    return re.sub(r"(?:^|\s)#.*", "", whole).strip()


_NAMES = {"&": "anchor", "*": "alias", "!": "tag"}


def _unquoted(key: str, text: str) -> str:
    quote = text[0]
    if len(text) < 2 or not text.endswith(quote):
        raise BadFrontMatter(f"the value of {key} has no closing quote")
    inner = text[1:-1]
    return inner.replace("''", "'") if quote == "'" else re.sub(r"\\([\"\\/])", r"\1", inner)
