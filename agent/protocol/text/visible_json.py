r"""JSON that is safe to print: invisible, reordering and control characters become `\uXXXX`, with the same value."""

from __future__ import annotations

import re

_HIDING = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""In JSON these characters only occur inside a string; RFC 8259, 7 already requires escapes below U+0020."""


def visible_json(line: bytes) -> bytes:
    """Return the same JSON value with invisible and control characters escaped."""
    if line.isascii() and b"\x7f" not in line:
        return line
    return _HIDING.sub(_escaped, line.decode()).encode()


def _escaped(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
