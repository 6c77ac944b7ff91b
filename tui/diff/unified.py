"""Read the text of a unified diff as rows. Lines that are not part of a diff are shown as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .diff_rows import Diff, DiffPart, Hunk, Row, name_of
from .pairs import change_rows

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FILE = ("--- ", "+++ ", "diff --git ", "index ", "new file mode", "deleted file mode", "similarity index")


def diff_of_text(path: str, text: str) -> Diff:
    """Return the rows of a unified diff of one file."""
    diff, stretches = begin_text(path, text)
    diff.add(stretches)
    diff.complete = True
    return diff


def begin_text(path: str, text: str) -> tuple[Diff, Iterator[DiffPart]]:
    """Return an empty diff, and the pieces to add to it as the text is read."""
    last = _HEAD.match(text, max(0, text.rfind("\n@@ -") + 1))
    numbers = [int(last[n] or 1) for n in (1, 2, 3, 4)] if last else [0, 0, 0, 0]
    is_one_sided = "\n-" not in text.replace("\n--- ", "\n") or "\n+" not in text.replace("\n+++ ", "\n")
    largest = max(numbers[0] + numbers[1], numbers[2] + numbers[3])
    return Diff(path, last_number=largest, is_one_sided=is_one_sided), _Reader().read(text)


class _Reader:
    def __init__(self) -> None:
        self.above: list[Row] = []
        self.hunk: Hunk | None = None
        self.rows: list[Row] = []
        self.section = ""
        """The text after the line numbers in the head of the hunk."""
        self.count = 0
        self.old = self.new = 0
        """Line numbers of the next row, from 1."""
        self.remaining = [0, 0]
        """Number of old and new lines of the hunk that are still to come."""
        self.removed: list[str] = []
        self.added: list[str] = []
        self.bare = [False, False]
        """Whether the last removed line, and the last added line, have no line feed."""

    def read(self, text: str) -> Iterator[DiffPart]:
        for line in text.removesuffix("\n").split("\n") if text else []:
            head = _HEAD.match(line) if self.remaining[0] <= 0 and self.remaining[1] <= 0 else None
            if head:
                yield self.finished_piece()
                self.open(head)
            elif self.remaining[0] > 0 or self.remaining[1] > 0:
                self.row(line)
            elif line.startswith("\\"):
                self.end(line[1:].strip())
            elif not line.startswith(_FILE) and line:
                self.note(line)
        if not self.count and not self.above:
            self.above.append(Row("note", 0, 0, "no change", -1))
        yield self.finished_piece()

    def finished_piece(self) -> DiffPart:
        """Return what was read of the hunk so far, and the rows above it."""
        self.settle()
        if self.hunk is not None:
            self.hunk.known_name = _named(self.rows, self.section)
        found = DiffPart(self.above, self.hunk, self.rows)
        self.above, self.hunk, self.rows = [], None, []
        return found

    def open(self, head: re.Match[str]) -> None:
        old, new = int(head[1]), int(head[3])
        self.remaining = [int(head[2] or 1), int(head[4] or 1)]
        # a side without lines gives the number of the line before it
        hidden = old + (self.remaining[0] == 0) - max(1, self.old)
        if hidden > 0:
            self.above.append(Row("fold", max(1, self.old), max(1, self.new), str(hidden), -1))
        self.old, self.new = old + (self.remaining[0] == 0), new + (self.remaining[1] == 0)
        self.rows = [Row("head", 0, 0, "", self.count)]
        self.hunk, self.section = Hunk(self.count), head[5].strip()
        self.count += 1

    def row(self, line: str) -> None:
        assert self.hunk is not None
        sign, text = line[:1] or " ", line[1:]
        match sign:
            case "-":
                if self.added:
                    self.settle()
                self.removed.append(text)
                self.remaining[0], self.hunk.removed = self.remaining[0] - 1, self.hunk.removed + 1
            case "+":
                self.added.append(text)
                self.remaining[1], self.hunk.added = self.remaining[1] - 1, self.hunk.added + 1
            case "\\":
                self.end(text.strip())
            case _:
                self.settle()
                whole = text if sign == " " else line
                self.rows.append(Row(" ", self.old, self.new, whole, self.hunk.index))
                self.old, self.new = self.old + 1, self.new + 1
                self.remaining = [self.remaining[0] - 1, self.remaining[1] - 1]

    def end(self, text: str) -> None:
        """Mark the previous line as one without a line feed."""
        if self.removed or self.added:
            self.bare[bool(self.added)] = True
        else:
            self.note(text)

    def note(self, text: str) -> None:
        if self.hunk is None:
            self.above.append(Row("note", 0, 0, text, -1))
        else:
            self.settle()
            self.rows.append(Row("note", 0, 0, text, self.hunk.index))

    def settle(self) -> None:
        if self.removed or self.added:
            assert self.hunk is not None
            bare = (self.bare[0], self.bare[1])
            self.rows += change_rows(self.removed, self.added, self.old, self.new, self.hunk.index, bare)
            self.old, self.new = self.old + len(self.removed), self.new + len(self.added)
            self.removed, self.added, self.bare = [], [], [False, False]


def _named(rows: list[Row], section: str) -> str:
    """Return the name of a hunk: the text in its head, or else what its rows contain."""
    if section:
        name = name_of([section], 0)
        return section if name == "line 1" else name
    found = [row for row in rows if row.kind in " +-"]
    first = next((at for at, row in enumerate(found) if row.kind != " "), 0)
    name = name_of([row.text for row in found], first)
    number = found[first].new or found[first].old if found else 0
    return f"line {number}" if name == f"line {first + 1}" else name
