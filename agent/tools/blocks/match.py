"""Find a block of text in a file and its replacement: exactly, or with tolerances that leave no doubt.

A text that occurs once in the file is replaced as it is. Otherwise whole lines are compared without indentation,
trailing white space and line endings, and there must be one match. The replacement must be certain too: lines that
the new text keeps stay byte for byte as in the file, and the others fit them. Each tolerance is reported
(docs/requirements.md 7.3). Does no I/O.
"""

from __future__ import annotations

import msgspec

from .complete_lines import complete_lines
from .doubts import duplicate_line, mixed_indentation, partial_line, tool_markup
from .indentation import BlockContext, Refused, indent_like_file
from .indents import unit_of
from .lines import BLANK, Document, Line, endings, line_of
from .places import ManyMatches, Match, find_match, plain_characters
from .readings import Reading, readings
from .splice import splice


class Replacement(msgspec.Struct, frozen=True):
    """The one place of the block in the file, and the text to write there."""

    start: int
    end: int
    """Offset in characters, exclusive."""
    new: str
    """The new text, adapted to the place."""
    notes: list[str] = []
    """Tolerances that were used, one sentence each."""


class Occurrences(msgspec.Struct, frozen=True):
    """The block occurs more than once."""

    lines: list[int]
    """First line of each occurrence, 1-based."""


def find(text: str, old: str, new: str) -> Replacement | Occurrences | Refused | None:
    """Find the place of `old` in the file, and its replacement; None: the file does not contain it."""
    document = Document(text)
    found: list[Replacement | Occurrences | Refused] = []
    for reading in readings(old, new):
        place = _find(document, reading, old)
        if place is not None and not reading.note:
            return place
        if place is not None and place not in found:
            found.append(place)
    if len(found) > 1:
        return Refused("old_text fits the file in more than one way. Send it exactly as it is in the file.")
    return found[0] if found else None


def _find(document: Document, reading: Reading, raw: str) -> Replacement | Occurrences | Refused | None:
    if reading.note and not reading.old.strip():
        return None
    here = find_match(document, reading.old)
    if here is None or (isinstance(here, Match) and not _accepted(document, here, reading)):
        return None
    if isinstance(here, ManyMatches):
        return Occurrences([row + 1 for row in here.rows])
    if isinstance(reading.new, Refused):
        return reading.new
    if not reading.old.strip(BLANK + "\n"):
        return _blank(document, here, reading.old, reading.new)
    if here.exact:
        why = partial_line(here, reading.new)
        why = why or tool_markup(reading.old, reading.new, here.row + 1)
        if why:
            return Refused(why)
    return _placed(document, here, reading, reading.new, raw)


def _accepted(document: Document, here: Match, reading: Reading) -> bool:
    """Return whether the place has the indentation and the line number that the reading requires."""
    if not reading.strict:
        return True
    real = document.lines(here.row, here.row + len(here.sent))
    same = all(line.indent == line_of(sent).indent for line, sent in zip(real, here.sent, strict=True) if line.body)
    return same and not here.prefix and not here.suffix.strip(BLANK) and reading.row in (None, here.row)


def _placed(document: Document, here: Match, reading: Reading, new: str, raw: str) -> Replacement | Refused:
    """Return the place with its replacement lines."""
    whole = complete_lines(document, here, reading.old, new)
    if isinstance(whole, Refused):
        return whole
    context = _context_of(document, here, whole.sent)
    moved = indent_like_file(context, whole.fresh)
    if isinstance(moved, Refused):
        return moved
    why = mixed_indentation(document, context.real, moved) or duplicate_line(document, here, context.real, moved)
    if why:
        return Refused(why)
    fold = plain_characters if here.is_plain else str
    shifted = any(line.indent != given.indent for line, given in zip(context.real, whole.sent, strict=True))
    text = splice(document, here.row, whole.sent, moved, fold, ends_file=whole.ends_file, shifted=shifted)
    if isinstance(text, Refused):
        return text
    labels = _differences(here, reading, context, raw)
    notes = [f"old_text did not match exactly: {', '.join(labels)} differed; the only match was used"] if labels else []
    if moved != whole.fresh:
        notes.append("new_text was indented like the file")
    stop = here.row + len(context.real)
    return Replacement(document.starts[here.row], document.starts[stop], text, [*notes, *whole.notes])


def _context_of(document: Document, here: Match, sent: list[Line]) -> BlockContext:
    stop = here.row + len(sent)
    above = next((row for row in reversed(document.rows[: here.row]) if row.strip(BLANK)), "")
    below = next((row for row in document.rows[stop:] if row.strip(BLANK)), "")
    return BlockContext(
        real=document.lines(here.row, stop),
        sent=sent,
        number=here.row + 1,
        unit=unit_of(document.rows),
        before=line_of(above).indent,
        after=line_of(below).indent,
    )


def _blank(document: Document, here: Match, old: str, new: str) -> Replacement | None:
    """Replace a text that is only white space; None: the file's last line lacks its line break."""
    start = document.starts[here.row] + len(here.prefix)
    rows = old.count("\n")
    if rows and not document.ends[here.row + rows - 1]:
        return None
    end = start + len(old)
    if rows:
        end = document.starts[here.row + rows] + len(old) - old.rindex("\n") - 1
    return Replacement(start, end, new.replace("\n", document.ending_near(here.row)))


def _differences(here: Match, reading: Reading, context: BlockContext, raw: str) -> list[str]:
    """List the tolerances that were used for the old text."""
    found = [reading.note] if reading.note else []
    pairs = list(zip(context.real, context.sent, strict=True))
    if here.begins_with_newline or any(here.blank):
        found.append("blank lines around the block")
    elif not reading.note and any(
        end and end != line.end for line, end in zip(context.real, endings(raw), strict=True)
    ):
        found.append("line endings")
    if any(line.trail != given.trail for line, given in pairs):
        found.append("white space at the ends of lines")
    if any(line.indent != given.indent for line, given in pairs):
        found.append("the indentation")
    if here.is_plain:
        found.append("quotes, dashes or spaces of another kind")
    return found
