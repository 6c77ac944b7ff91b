"""Find a block of text in a file and its replacement: exactly, or with tolerances that leave no doubt.

A text that occurs once in the file is replaced as it is. Otherwise whole lines are compared without indentation,
trailing white space and line endings, and there must be one match. The replacement must be certain too: lines that
the new text keeps stay byte for byte as in the file, and the others fit them. Each tolerance is reported
(docs/requirements.md 7.3). Does no I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator

import msgspec

from .block_lines import BLANK, BlockLine, Document, endings, lines_of, split_ending, unified
from .block_places import ManyMatches, Match, find_match, plain_characters
from .indentation import BlockContext, UncertainBlock, indent_like_file
from .indents import unit_of
from .line_numbers import without_numbers
from .splice import splice
from .wrong_match_reasons import duplicate_line, mixed_indentation, partial_line, tool_markup

_FENCED = re.compile(r"\s*(```|~~~)[^\n`]*\n(.*?\n|)[ \t]*\1\s*", re.DOTALL)
_FENCE_LINE = re.compile(r"\s*(```|~~~)")

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


def find_block(text: str, old: str, new: str) -> Replacement | Occurrences | UncertainBlock | None:
    """Find the place of `old` in the file, and its replacement, or None if the file does not contain it."""
    document = Document(text)
    found: list[Replacement | Occurrences | UncertainBlock] = []
    for reading in _readings(old, new):
        place = _find(document, reading, old)
        if place is not None and not reading.note:
            return place
        if place is not None and place not in found:
            found.append(place)
    if len(found) > 1:
        return UncertainBlock("old_text fits the file in more than one way. Send it exactly as it is in the file.")
    return found[0] if found else None


def _find(document: Document, reading: _Reading, raw: str) -> Replacement | Occurrences | UncertainBlock | None:
    if reading.note and not reading.old.strip():
        return None
    here = find_match(document, reading.old)
    if here is None or (isinstance(here, Match) and not _accepted(document, here, reading)):
        return None
    if isinstance(here, ManyMatches):
        return Occurrences([row + 1 for row in here.rows])
    if isinstance(reading.new, UncertainBlock):
        return reading.new
    if not reading.old.strip(BLANK + "\n"):
        return _blank(document, here, reading.old, reading.new)
    if here.exact:
        why = partial_line(here, reading.new)
        why = why or tool_markup(reading.old, reading.new, here.row + 1)
        if why:
            return UncertainBlock(why)
    return _placed(document, here, reading, reading.new, raw)


def _accepted(document: Document, here: Match, reading: _Reading) -> bool:
    """Return whether the place has the indentation and the line number that the reading requires."""
    if not reading.strict:
        return True
    real = document.lines(here.row, here.row + len(here.sent))
    same = all(
        line.indent == split_ending(sent).indent for line, sent in zip(real, here.sent, strict=True) if line.body
    )
    return same and not here.prefix and not here.suffix.strip(BLANK) and reading.row in (None, here.row)


class _Reading(msgspec.Struct, frozen=True):
    """One interpretation of an old and a new text; both have LF endings."""

    old: str
    new: str | UncertainBlock
    """Refused: the new text cannot be interpreted like the old one."""
    note: str | None = None
    """What the texts had that the file lacks."""
    strict: bool = False
    """The place must have exactly this indentation."""
    row: int | None = None
    """The only row where the text may begin, if its numbers are not certainly line numbers."""


def _readings(old: str, new: str) -> Generator[_Reading]:
    """Yield the texts as they are, then without line numbers, code fences and escapes."""
    old, new = unified(old), unified(new)
    yield _Reading(old, new)
    for bare, fresh, row in without_numbers(old, new):
        yield _Reading(bare, fresh, "line numbers that are not in the file", strict=True, row=row)
    if fenced := _FENCED.fullmatch(old):
        yield _Reading(fenced[2], _unfenced_like(fenced[2], new), "code fences that are not in the file")
    if "\\" in old and "\n" not in old and (bare := _unescaped(old)) is not None and "\n" in bare:
        yield _Reading(bare, _unescaped_like(bare, new), "escaped line breaks that are not in the file")


def _unfenced_like(old: str, new: str) -> str | UncertainBlock:
    """Return the new text without a code fence; `old` has lost its own."""
    inner = _FENCED.fullmatch(new)
    if _has_fence_at_an_end(old if inner else new):
        return UncertainBlock("old_text is in a code fence, and so may new_text be. Send both without the fence.")
    return inner[2] if inner else new


def _has_fence_at_an_end(text: str) -> bool:
    lines = text.strip("\n").split("\n")
    return any(_FENCE_LINE.match(line) for line in (lines[0], lines[-1]))


def _unescaped(text: str) -> str | None:
    """Return the text with its escapes resolved, or None if it is not an escaped text."""
    if "\n" in text:
        return None
    try:
        read: object = json.loads(f'"{text}"' if re.search(r'(?<!\\)"', text) is None else json.dumps(None))
    except ValueError:
        return None
    return read if isinstance(read, str) else None


def _unescaped_like(old: str, new: str) -> str | UncertainBlock:
    """Return the new text, unescaped if the lines that it shares with the old one show that it was escaped."""
    if "\\" not in new:
        return new
    bare = _unescaped(new)
    known = {line.strip() for line in old.split("\n")} - {""}
    if bare is not None and "\n" in bare and any(line.strip() in known for line in bare.split("\n")):
        return bare
    return UncertainBlock(
        "old_text has its line breaks escaped, and new_text may have. Send both with real line breaks."
    )


def _placed(document: Document, here: Match, reading: _Reading, new: str, raw: str) -> Replacement | UncertainBlock:
    """Return the place with its replacement lines."""
    whole = _complete_lines(document, here, reading.old, new)
    if isinstance(whole, UncertainBlock):
        return whole
    context = _context_of(document, here, whole.sent)
    moved = indent_like_file(context, whole.fresh)
    if isinstance(moved, UncertainBlock):
        return moved
    why = mixed_indentation(document, context.real, moved) or duplicate_line(document, here, context.real, moved)
    if why:
        return UncertainBlock(why)
    fold = plain_characters if here.is_plain else str
    shifted = any(line.indent != given.indent for line, given in zip(context.real, whole.sent, strict=True))
    text = splice(document, here.row, whole.sent, moved, fold, ends_file=whole.ends_file, shifted=shifted)
    if isinstance(text, UncertainBlock):
        return text
    labels = _differences(here, reading, context, raw)
    notes = [f"old_text did not match exactly: {', '.join(labels)} differed; the only match was used"] if labels else []
    if moved != whole.fresh:
        notes.append("new_text was indented like the file")
    stop = here.row + len(context.real)
    return Replacement(document.starts[here.row], document.starts[stop], text, [*notes, *whole.notes])


class _CompleteLines(msgspec.Struct, frozen=True):
    """Both texts completed to whole lines."""

    sent: list[BlockLine]
    fresh: list[BlockLine]
    ends_file: bool = False
    """The last line of the file gets a line ending."""
    notes: list[str] = []


def _complete_lines(document: Document, here: Match, old: str, new: str) -> _CompleteLines | UncertainBlock:
    """Complete the first and last line of both texts. Refused if their ends can mean two things."""
    head = here.prefix if here.prefix.strip(BLANK) else ""
    tail = here.suffix if here.suffix.strip(BLANK) else ""
    sent = [*here.sent]
    sent[0] = head + sent[0]
    sent[-1] += tail
    if here.begins_with_newline:
        new = new.removeprefix("\n")
    if any(here.blank):
        old, new = old.rstrip("\n") + "\n" if here.blank[1] else old, _without_blank_lines(new, *here.blank)
    if not new and not head + tail:
        whole = old.endswith("\n") or any(here.blank)
        return _CompleteLines(list(map(split_ending, sent)), [], notes=[] if whole else [_REMOVED])
    text = head + new + tail
    notes: list[str] = []
    ends_file = False
    if old.endswith("\n") and not text.endswith("\n"):
        if text.rpartition("\n")[1] and not text.rpartition("\n")[2].strip(BLANK):
            return UncertainBlock(_FRAGMENT)
        notes.append(_ADDED)
    elif text.endswith("\n") and not old.endswith("\n"):
        if not document.ends[here.row + len(sent) - 1]:
            ends_file = True
        elif new.rstrip("\n") == old.rstrip("\n"):
            text += "\n"
        else:
            return UncertainBlock(_UNCLEAR)
    return _with_suffix(here, _CompleteLines(list(map(split_ending, sent)), lines_of(text), ends_file, notes))


def _with_suffix(here: Match, found: _CompleteLines) -> _CompleteLines:
    """Keep the white space that follows the old text, unless the new text keeps the last line unchanged."""
    if not here.exact or not here.suffix or here.suffix.strip(BLANK):
        return found
    bodies = {line.body for line in found.sent}
    if found.fresh[-1].body in bodies or any(line.body == found.sent[-1].body for line in found.fresh):
        return found
    sent, fresh = [[*lines[:-1], split_ending(lines[-1].content + here.suffix)] for lines in (found.sent, found.fresh)]
    return msgspec.structs.replace(found, sent=sent, fresh=fresh)


def _without_blank_lines(new: str, head: int, tail: int) -> str:
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


def _context_of(document: Document, here: Match, sent: list[BlockLine]) -> BlockContext:
    stop = here.row + len(sent)
    above = next((row for row in reversed(document.rows[: here.row]) if row.strip(BLANK)), "")
    below = next((row for row in document.rows[stop:] if row.strip(BLANK)), "")
    return BlockContext(
        real=document.lines(here.row, stop),
        sent=sent,
        number=here.row + 1,
        unit=unit_of(document.rows),
        before=split_ending(above).indent,
        after=split_ending(below).indent,
    )


def _blank(document: Document, here: Match, old: str, new: str) -> Replacement | None:
    """Replace a text that is only white space, or None if the file's last line lacks its line break."""
    start = document.starts[here.row] + len(here.prefix)
    rows = old.count("\n")
    if rows and not document.ends[here.row + rows - 1]:
        return None
    end = start + len(old)
    if rows:
        end = document.starts[here.row + rows] + len(old) - old.rindex("\n") - 1
    return Replacement(start, end, new.replace("\n", document.ending_near(here.row)))


def _differences(here: Match, reading: _Reading, context: BlockContext, raw: str) -> list[str]:
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
