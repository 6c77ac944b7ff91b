"""Read a rule that denies, for `/deny` and for `rundry ctl RUN deny`. Does not import textual."""

from __future__ import annotations

import msgspec

from rundry.agent import Rule, UserError

_KINDS = ("path", "command", "host")


def parse_deny(text: str) -> Rule:
    """Read `path:GLOB`, `command:WORDS` or `host:HOST`. Raises UserError."""
    kind, colon, value = text.strip().partition(":")
    value = value.strip()
    if not colon or kind not in _KINDS or not value or not value.isprintable():
        raise UserError(
            f'deny {text.strip()[:60]!r}: write "path:GLOB", "command:WORDS" or "host:HOST", such as "path:secrets/**"'
        )
    return msgspec.convert({"verdict": "deny", kind: value}, Rule)
