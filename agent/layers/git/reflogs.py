"""Read reflogs of a layer: their messages, names and addresses are text of a command."""

from __future__ import annotations

import re

from ...workspace.sandbox.private_git.refs import ID

_LINE = re.compile(
    rf"({ID.pattern}) ({ID.pattern}) ([^<>\t]*)<([^<>\t]*)> (\d{{1,12}} [+-]\d{{4}})(?:\t(.*))?", re.DOTALL
)
_LONGEST = 1_000


def new_lines(before: bytes, after: bytes) -> tuple[str, ...] | None:
    """Return the lines of a reflog that another version of it lacks, without control characters.

    None: a line is not as git writes it.
    """
    is_longer = after.startswith(before)
    known, found = set[bytes]() if is_longer else set(before.split(b"\n")), list[str]()
    for line in (after[len(before) :] if is_longer else after).split(b"\n"):
        if not line or line in known:
            continue
        parts = _LINE.fullmatch(line.decode("utf-8", "replace"))
        if parts is None:
            return None
        old, new, name, mail, when, message = parts.groups("")
        found.append(f"{old} {new} {_plain(name)}<{_plain(mail)}> {when}\t{_plain(message)}")
    return tuple(found)


def words_of(line: str) -> tuple[str, ...]:
    """Return the two object ids of a line, without that of nothing."""
    return tuple(one for one in line.split(" ", 2)[:2] if one.strip("0"))


def _plain(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text[:_LONGEST])
