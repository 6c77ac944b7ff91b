"""Compare two contents of a file and return the rows of the diff, hunk by hunk. The hunks are those of the gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from .diff_rows import Diff, DiffPart, Hunk, Row
from .pairs import change_rows

Cuts = Mapping[int, Sequence[int]]
"""Index of a hunk to the rows at which its parts begin, as in `Decide`."""
_MARK = "\ufeff"
_Hunk = tuple[int, Sequence[tuple[int, int, int, int]], tuple[int, int]]
"""Its index, its changes, and the old lines that are shown with it."""
_LEXED = 1_000_000
"""Size of both sides together, in bytes, up to which whole files are lexed."""


def diff_of(path: str, before: bytes | None, after: bytes | None) -> Diff:
    """Return the complete diff of two contents, or None if the file does not exist."""
    diff, stretches = begin(path, before, after)
    diff.add(stretches)
    diff.complete = True
    return diff


def begin(
    path: str, before: bytes | None, after: bytes | None, cuts: Cuts | None = None
) -> tuple[Diff, Iterator[DiffPart]]:
    """Return an empty diff and the pieces to add to it.

    The first hunks of a long file are available long before the last. `cuts`: where the person split hunks.
    """
    from rundry.agent import compare_contents, cut_hunks  # the gate costs ~15 ms to import

    sides = compare_contents(before, after)
    if sides is None:
        said = f"{_what(before, after)}: {_size(before)} before, {_size(after)} after"
        return Diff(path), iter([DiffPart([_note(said)], None, [])])
    texts = Texts(sides.old, sides.new, before, after)
    diff = Diff(
        path,
        source=texts,
        last_number=max(len(sides.old), len(sides.new)),
        is_one_sided=not sides.old or not sides.new,
    )
    notes = [_note(text) for text in texts.notes] or ([_note("no change")] if before == after else [])
    hunks = cut_hunks(sides, sides.compare(), cuts) if cuts else sides.compare()
    found = ((hunk.index, hunk.changes, hunk.around(len(sides.old))) for hunk in hunks)
    return diff, chain([DiffPart(notes, None, [])], _stretches(texts, found))


class Texts:
    """Both sides as lines, in the form in which they are shown."""

    def __init__(self, old: Sequence[str], new: Sequence[str], before: bytes | None, after: bytes | None) -> None:
        self.old, self.new = old, new
        self.is_long = len(before or b"") + len(after or b"") > _LEXED
        """Whether they are too long to be lexed as a whole."""
        ends = [_ending(side, data) for side, data in ((old, before), (new, after)) if side]
        self._keeps_cr = "mixed" in ends or len(set(ends)) > 1
        self._drops_mark = all(not side or side[0].startswith(_MARK) for side in (old, new))
        bare = [bool(side) and not side[-1].endswith("\n") for side in (old, new)]
        self.bare = (bare[0] and not bare[1], bare[1] and not bare[0])
        """Whether only the old text, or only the new text, lacks the last line feed."""
        self.notes = ["an empty file"] if before is None and not new else ["deleted"] if after is None else []
        if len(set(ends)) > 1:
            self.notes.append(f"line endings: {ends[0]} before, {ends[1]} after")
        if old and new and any(self.bare):
            self.notes.append("the last line feed was removed" if bare[1] else "a last line feed was added")

    def shown(self, side: Sequence[str], start: int, end: int) -> list[str]:
        r"""Return lines without their line ends; `\r` is part of the end if both files use no other line end."""
        ends = "\n" if self._keeps_cr else "\r\n"
        lines = [_without(line, ends) for line in side[start:end]]
        if start == 0 and lines and self._drops_mark:
            lines[0] = lines[0].removeprefix(_MARK)
        return lines

    def sides(self) -> tuple[list[str], list[str]]:
        """Return the lines of both sides as they are shown."""
        return self.shown(self.old, 0, len(self.old)), self.shown(self.new, 0, len(self.new))

    def unchanged(self, start: int, end: int) -> list[str]:
        """Return lines of the old text between two indexes."""
        return self.shown(self.old, start, end)


def _stretches(texts: Texts, hunks: Iterator[_Hunk]) -> Iterator[DiffPart]:
    old, new = texts.old, texts.new
    shown = shift = 0
    for index, changes, around in hunks:
        first = changes[0]
        start = max(shown, around[0])
        above = _fold(texts, shown, start, shift)
        side, at = (new, first[2]) if first[3] > first[2] else (old, first[0])
        hunk = Hunk(index, lines=side, at=at)
        rows = [Row("head", 0, 0, "", index)]
        for a1, a2, b1, b2 in changes:
            rows += _same(texts, start, a1, shift, index)
            ends = (texts.bare[0] and a2 == len(old) and a2 > a1, texts.bare[1] and b2 == len(new) and b2 > b1)
            removed, added = texts.shown(old, a1, a2), texts.shown(new, b1, b2)
            rows += change_rows(removed, added, a1 + 1, b1 + 1, index, ends)
            hunk.removed, hunk.added = hunk.removed + len(removed), hunk.added + len(added)
            start, shift = a2, b2 - a2
        shown = around[1]
        rows += _same(texts, start, shown, shift, index)
        yield DiffPart(above, hunk, rows)
    yield DiffPart(_fold(texts, shown, len(old), shift), None, [])


def _same(texts: Texts, start: int, end: int, shift: int, hunk: int) -> list[Row]:
    lines = texts.shown(texts.old, start, end)
    return [Row(" ", number, number + shift, text, hunk) for number, text in enumerate(lines, start + 1)]


def _fold(texts: Texts, start: int, end: int, shift: int) -> list[Row]:
    """Return the row for folded unchanged lines.

    A single line is shown instead, because its fold would need as much room.
    """
    if end - start == 1:
        return _same(texts, start, end, shift, -1)
    return [Row("fold", start + 1, start + shift + 1, str(end - start), -1)] if end > start else []


def _ending(lines: Sequence[str], data: bytes | None) -> str:
    if b"\r" not in (data or b""):
        return "LF"
    feeds = len(lines) - (not lines[-1].endswith("\n"))
    both = sum(line.endswith("\r\n") for line in lines)
    return "LF" if not both else "CRLF" if both == feeds else "mixed"


def _without(line: str, ends: str) -> str:
    line = line.removesuffix("\n")
    return line.removesuffix("\r") if "\r" in ends else line


def _note(text: str) -> Row:
    return Row("note", 0, 0, text, -1)


def _what(before: bytes | None, after: bytes | None) -> str:
    binary = any(side is not None and b"\0" in side for side in (before, after))
    return "binary" if binary else "not text in the encoding of the file"


def _size(data: bytes | None) -> str:
    return "nothing" if data is None else f"{len(data):,} bytes".replace(",", " ")
