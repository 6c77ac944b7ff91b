"""Read a rule that denies, for `/deny` and for `rundry ctl RUN deny`. Does not import textual."""

from __future__ import annotations

from rundry.agent import Rule, UserError

_KINDS = ("path", "command")


def parse_deny(text: str) -> Rule:
    """Read `path:GLOB` or `command:WORDS`. Raises UserError."""
    kind, colon, value = text.strip().partition(":")
    value = value.strip()
    if not colon or kind not in _KINDS or not value or not value.isprintable():
        raise UserError(f'deny {text.strip()[:60]!r}: write "path:GLOB" or "command:WORDS", such as "path:secrets/**"')
    return Rule(verdict="deny", path=value) if kind == "path" else Rule(verdict="deny", command=value)
