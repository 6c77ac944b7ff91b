"""Complete the old and the new text to whole lines, whether or not they end with a line break. Does no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .indentation import Refused
from .lines import BLANK, Document, Line, line_of, lines_of

if TYPE_CHECKING:
    from .places import Match

_ADDED = "new_text lacked the line ending that old_text has at its end; it was added"
_REMOVED = "old_text was a whole line, and new_text is empty: the line was removed with its ending"
_UNCLEAR = (
    "new_text ends with a line break and old_text does not, so it is unclear whether a blank line is meant. "
    "End both texts the same way."
)
_FRAGMENT = (
    "new_text ends with white space that would begin the line after old_text. "
    "End new_text with the line break of its last line."
)


class CompleteLines(msgspec.Struct, frozen=True):
    """Both texts completed to whole lines."""

    sent: list[Line]
    fresh: list[Line]
    ends_file: bool = False
    """The last line of the file gets a line ending."""
    notes: list[str] = []


def complete_lines(document: Document, here: Match, old: str, new: str) -> CompleteLines | Refused:
    """Complete the first and last line of both texts. Refused if their ends can mean two things."""
    head = here.prefix if here.prefix.strip(BLANK) else ""
    tail = here.suffix if here.suffix.strip(BLANK) else ""
    sent = [*here.sent]
    sent[0] = head + sent[0]
    sent[-1] += tail
    if here.begins_with_newline:
        new = new.removeprefix("\n")
    if any(here.blank):
        old, new = old.rstrip("\n") + "\n" if here.blank[1] else old, _cut(new, *here.blank)
    if not new and not head + tail:
        whole = old.endswith("\n") or any(here.blank)
        return CompleteLines(list(map(line_of, sent)), [], notes=[] if whole else [_REMOVED])
    text = head + new + tail
    notes: list[str] = []
    ends_file = False
    if old.endswith("\n") and not text.endswith("\n"):
        if text.rpartition("\n")[1] and not text.rpartition("\n")[2].strip(BLANK):
            return Refused(_FRAGMENT)
        notes.append(_ADDED)
    elif text.endswith("\n") and not old.endswith("\n"):
        if not document.ends[here.row + len(sent) - 1]:
            ends_file = True
        elif new.rstrip("\n") == old.rstrip("\n"):
            text += "\n"
        else:
            return Refused(_UNCLEAR)
    return _with_suffix(here, CompleteLines(list(map(line_of, sent)), lines_of(text), ends_file, notes))


def _with_suffix(here: Match, found: CompleteLines) -> CompleteLines:
    """Keep the white space that follows the old text, unless the new text keeps the last line unchanged."""
    if not here.exact or not here.suffix or here.suffix.strip(BLANK):
        return found
    bodies = {line.body for line in found.sent}
    if found.fresh[-1].body in bodies or any(line.body == found.sent[-1].body for line in found.fresh):
        return found
    sent, fresh = [[*lines[:-1], line_of(lines[-1].content + here.suffix)] for lines in (found.sent, found.fresh)]
    return msgspec.structs.replace(found, sent=sent, fresh=fresh)


def _cut(new: str, head: int, tail: int) -> str:
    """Remove as many blank lines from both ends as were dropped from the old text."""
    end = "\n" if tail or new.endswith("\n") else ""
    lines = new.removesuffix("\n").split("\n")
    while head and lines and not lines[0].strip(BLANK):
        head -= 1
        lines.pop(0)
    while tail and lines and not lines[-1].strip(BLANK):
        tail -= 1
        lines.pop()
    return "\n".join(lines) + end if lines else ""
