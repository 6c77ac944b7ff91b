"""Read reflogs of a layer: their messages, names and addresses are text of a command."""

from __future__ import annotations

import re

from ...repo.refs import ID

_LINE = re.compile(
    rf"({ID.pattern}) ({ID.pattern}) ([^<>\t]*)<([^<>\t]*)> (\d{{1,12}} [+-]\d{{4}})(?:\t(.*))?", re.DOTALL
)
_LONGEST = 1_000


def new_lines(before: bytes, after: bytes) -> tuple[str, ...] | None:
    """Return the lines of a reflog that another version of it lacks, without control characters.

    Returns None if a line is not as git writes it.
    """
    was, now = _lines(before), _lines(after)
    known, found = set[bytes](), list[str]()
    if now[: len(was)] == was:
        now = now[len(was) :]
    else:  # `git gc` dropped old lines
        known = set(was)
    for line in now:
        if line in known:
            continue
        parts = _LINE.fullmatch(line.decode("utf-8", "replace"))
        if parts is None:
            return None
        old, new, name, mail, when, message = parts.groups("")
        text = f"\t{_plain(message)}" if message else ""
        found.append(f"{old} {new} {_plain(name)}<{_plain(mail)}> {when}{text}")
    return tuple(found)


def _lines(log: bytes) -> list[bytes]:
    """Return the lines; git sometimes ends one without a message with a tab."""
    return [line.rstrip(b"\t") for line in log.split(b"\n") if line]


def ids_of_line(line: str) -> tuple[str, ...]:
    """Return the two object ids of a line, without that of nothing."""
    return tuple(one for one in line.split(" ", 2)[:2] if one.strip("0"))


def _plain(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text[:_LONGEST])
