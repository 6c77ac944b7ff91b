"""Find a key that an object of a JSON text has twice. Parsers silently take the last value."""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_$][\w$]*|[\[\]{}:,]', re.DOTALL)


def double_key(text: str) -> str | None:
    """Return the first key that an object has twice, or None. Also reads the syntax of Python and JavaScript."""
    open_: list[set[str] | None] = []
    last = ""
    """The text before a colon: a key, if an object is open."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("{", "["):
            open_.append(set() if token == "{" else None)
        elif token in ("}", "]"):
            if open_:
                open_.pop()
        elif token == ":":
            keys = open_[-1] if open_ else None
            if keys is not None and last:
                if (key := _name(last)) in keys:
                    return key
                keys.add(key)
        last = "" if token in "{}[]:," else token
    return None


def _name(token: str) -> str:
    if token[0] == '"':
        try:
            return str(json.loads(token, strict=False))
        except ValueError:
            return token[1:-1]
    return token[1:-1] if token[0] == "'" else token
