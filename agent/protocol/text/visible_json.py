r"""JSON that a terminal can show: what hides, reorders or steers is written as `\uXXXX`, which reads back as itself."""

from __future__ import annotations

import re

_HIDING = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""All of them can only stand within a string of JSON; below U+0020, JSON itself wants them escaped (RFC 8259, 7)."""


def visible_json(line: bytes) -> bytes:
    """The same JSON value."""
    if line.isascii() and b"\x7f" not in line:
        return line
    return _HIDING.sub(_escaped, line.decode()).encode()


def _escaped(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
