"""Parse `[model] headers`: additional headers of each request to the model's server."""

from __future__ import annotations

import re
from typing import cast

from ..protocol import UserError

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""RFC 9110, section 5.1: a token."""
_OWN = frozenset({
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie",
    "expect", "host", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
"""Headers that the HTTP client sets, or that would change what a request is or where it goes."""


def read_headers(value: object, now: float) -> dict[str, str]:
    """Parse a table of texts. `${NAME}` stands for an environment variable. Raises UserError."""
    del now
    if not isinstance(value, dict):
        raise UserError(f'{value!r} is not a table: write headers = {{ X-Team = "search" }}')
    headers = cast("dict[str, object]", value)
    for name, text in headers.items():
        if not _NAME.fullmatch(name):
            raise UserError(f"{name!r} is not the name of a header: use letters, digits and -")
        if name.lower() in _OWN:
            raise UserError(f"{name} cannot be set here, because rundry sets it: remove it")
        if not isinstance(text, str) or not text.strip() or not (text.isascii() and text.isprintable()):
            raise UserError(f"{name}: {text!r} is not a text of ASCII characters in one line: write it in quotes")
    if len({name.lower() for name in headers}) < len(headers):
        raise UserError("a header is given twice in different spellings: keep one")
    return {name: str(text).strip() for name, text in headers.items()}
