"""Find a block of text in a file and its replacement: exactly, or with tolerances that leave no doubt.

A text that occurs once in the file is replaced as it is. Otherwise whole lines are compared without indentation,
trailing white space and line endings, and there must be one match. The replacement must be certain too: lines that
the new text keeps stay byte for byte as in the file, and the others fit them. Each tolerance is reported
(docs/requirements.md 7.3). Pure.
"""

from __future__ import annotations

import msgspec

from .closing import closed
from .doubts import doubled, foreign, mixed_indentation, partial
from .indented import Refused, Scene, indented
from .indents import unit_of
from .lines import BLANK, Document, Line, endings, line_of
from .places import Spot, Various, plain, spot
from .readings import Reading, readings
from .splice import spliced


class Place(msgspec.Struct, frozen=True):
    """The one place of the block in the file."""

    start: int
    end: int
    """Offset in characters, exclusive."""
    new: str
    """The replacement: the new text, made to fit the place."""
    notes: list[str] = []
    """Tolerances that were used, one sentence each."""


class Several(msgspec.Struct, frozen=True):
    """The block occurs more than once."""

    lines: list[int]
    """First line of each occurrence, 1-based."""


def find(text: str, old: str, new: str) -> Place | Several | Refused | None:
    """Find the place of `old` and its replacement; None: the file does not have it."""
    document = Document(text)
    found: list[Place | Several | Refused] = []
    for reading in readings(old, new):
        place = _find(document, reading, old)
        if place is not None and not reading.note:
            return place
        if place is not None and place not in found:
            found.append(place)
    if len(found) > 1:
        return Refused("old_text fits the file in more than one way. Send it exactly as it is in the file.")
    return found[0] if found else None


def _find(document: Document, reading: Reading, raw: str) -> Place | Several | Refused | None:
    if reading.note and not reading.old.strip():
        return None
    here = spot(document, reading.old)
    if here is None or (isinstance(here, Spot) and not _accepted(document, here, reading)):
        return None
    if isinstance(here, Various):
        return Several([row + 1 for row in here.rows])
    if isinstance(reading.new, Refused):
        return reading.new
    if not reading.old.strip(BLANK + "\n"):
        return _blank(document, here, reading.old, reading.new)
    if here.exact:
        why = partial(here, reading.new)
        why = why or foreign(reading.old, reading.new, here.row + 1)
        if why:
            return Refused(why)
    return _placed(document, here, reading, reading.new, raw)


def _accepted(document: Document, here: Spot, reading: Reading) -> bool:
    """Return whether the place has the indentation and the line number that the reading requires."""
    if not reading.strict:
        return True
    real = document.lines(here.row, here.row + len(here.sent))
    same = all(line.indent == line_of(sent).indent for line, sent in zip(real, here.sent, strict=True) if line.body)
    return same and not here.prefix and not here.suffix.strip(BLANK) and reading.row in (None, here.row)


def _placed(document: Document, here: Spot, reading: Reading, new: str, raw: str) -> Place | Refused:
    """Return the place with its replacement lines."""
    whole = closed(document, here, reading.old, new)
    if isinstance(whole, Refused):
        return whole
    scene = _scene(document, here, whole.sent)
    moved = indented(scene, whole.fresh)
    if isinstance(moved, Refused):
        return moved
    why = mixed_indentation(document, scene.real, moved) or doubled(document, here, scene.real, moved)
    if why:
        return Refused(why)
    fold = plain if here.plain else str
    shifted = any(line.indent != given.indent for line, given in zip(scene.real, whole.sent, strict=True))
    text = spliced(document, here.row, whole.sent, moved, fold, ends_file=whole.ends_file, shifted=shifted)
    if isinstance(text, Refused):
        return text
    labels = _differences(here, reading, scene, raw)
    notes = [f"old_text did not match exactly: {', '.join(labels)} differed; the only match was used"] if labels else []
    if moved != whole.fresh:
        notes.append("new_text was indented like the file")
    stop = here.row + len(scene.real)
    return Place(document.starts[here.row], document.starts[stop], text, [*notes, *whole.notes])


def _scene(document: Document, here: Spot, sent: list[Line]) -> Scene:
    stop = here.row + len(sent)
    above = next((row for row in reversed(document.rows[: here.row]) if row.strip(BLANK)), "")
    below = next((row for row in document.rows[stop:] if row.strip(BLANK)), "")
    return Scene(
        real=document.lines(here.row, stop),
        sent=sent,
        number=here.row + 1,
        unit=unit_of(document.rows),
        before=line_of(above).indent,
        after=line_of(below).indent,
    )


def _blank(document: Document, here: Spot, old: str, new: str) -> Place | None:
    """Replace a text of white space where it is; None: the file's last line lacks its line break."""
    start = document.starts[here.row] + len(here.prefix)
    rows = old.count("\n")
    if rows and not document.ends[here.row + rows - 1]:
        return None
    end = start + len(old)
    if rows:
        end = document.starts[here.row + rows] + len(old) - old.rindex("\n") - 1
    return Place(start, end, new.replace("\n", document.ending_near(here.row)))


def _differences(here: Spot, reading: Reading, scene: Scene, raw: str) -> list[str]:
    """List the tolerances that were used for the old text."""
    found = [reading.note] if reading.note else []
    pairs = list(zip(scene.real, scene.sent, strict=True))
    if here.led or any(here.blank):
        found.append("blank lines around the block")
    elif not reading.note and any(end and end != line.end for line, end in zip(scene.real, endings(raw), strict=True)):
        found.append("line endings")
    if any(line.trail != given.trail for line, given in pairs):
        found.append("white space at the ends of lines")
    if any(line.indent != given.indent for line, given in pairs):
        found.append("the indentation")
    if here.plain:
        found.append("quotes, dashes or spaces of another kind")
    return found
