"""Clean and shorten text on its way between a run and an MCP client."""

from __future__ import annotations

import re

from rundry.agent import CLIENT, noted_cut

from ..text.show_text import bare, show

_MOST_NAME = 40
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def cut(text: str, most: int) -> str:
    """Return a text of a run with marks for hidden characters, and at most about `most` characters of it."""
    return show(noted_cut(text, most))


def given(text: str) -> str:
    """Return a text of a client without control sequences, control characters and half characters."""
    return bare(text).strip()


def client_name(name: str | None) -> str:
    """Return how events name a client: `mcp:` and the name that it gave, with only letters, digits and `._-`.

    So a name cannot read like a sentence, and a client is never `person`.
    """
    cleaned = _NOT_IN_NAMES.sub("-", name or "").strip("-")[:_MOST_NAME]
    return f"{CLIENT}{cleaned or 'unnamed'}"
