"""A unified diff's text as rows. What is no diff is shown as it stands, never dropped."""

from __future__ import annotations

import re
from functools import partial

from .model import Diff, Hunk, Row, name_of

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FILE = ("--- ", "+++ ", "diff --git ", "index ", "new file mode", "deleted file mode", "similarity index")


def diff_of_text(path: str, text: str) -> Diff:
    """The rows of a unified diff of one file."""
    return _Reader(path).read(text)


class _Reader:
    def __init__(self, path: str) -> None:
        self.diff = Diff(path)
        self.old = self.new = 0
        """Line numbers of the next row, from 1."""
        self.left = [0, 0]
        """Lines of the hunk that are still to come, old and new."""
        self.removed: list[int] = []
        self.added: list[int] = []

    def read(self, text: str) -> Diff:
        for line in text.removesuffix("\n").split("\n") if text else []:
            head = _HEAD.match(line) if self.left[0] <= 0 and self.left[1] <= 0 else None
            if head:
                self.open(head)
            elif self.left[0] > 0 or self.left[1] > 0:
                self.row(line)
            elif line.startswith("\\"):
                self.note(line[1:].strip())
            elif not line.startswith(_FILE) and line:
                self.note(line)
        self.settle()
        return self.diff

    def open(self, head: re.Match[str]) -> None:
        self.settle()
        old, new = int(head[1]), int(head[3])
        self.left = [int(head[2] or 1), int(head[4] or 1)]
        # a side without lines names the line before it
        hidden = old + (self.left[0] == 0) - max(1, self.old)
        if hidden > 0:
            self.diff.rows.append(Row("fold", max(1, self.old), max(1, self.new), str(hidden), -1))
        self.old, self.new = old + (self.left[0] == 0), new + (self.left[1] == 0)
        index = len(self.diff.hunks)
        self.diff.hunks.append(Hunk(index, len(self.diff.rows), partial(_named, self.diff, index, head[5].strip())))
        self.diff.rows.append(Row("head", 0, 0, "", index))

    def row(self, line: str) -> None:
        sign, text = line[:1] or " ", line[1:]
        hunk = self.diff.hunks[-1]
        at = len(self.diff.rows)
        match sign:
            case "-":
                if self.added:
                    self.settle()
                self.diff.rows.append(Row("-", self.old, 0, text, hunk.index))
                self.removed.append(at)
                self.old, self.left[0], hunk.removed = self.old + 1, self.left[0] - 1, hunk.removed + 1
            case "+":
                self.diff.rows.append(Row("+", 0, self.new, text, hunk.index))
                self.added.append(at)
                self.new, self.left[1], hunk.added = self.new + 1, self.left[1] - 1, hunk.added + 1
            case "\\":
                self.note(text.strip())
            case _:
                if self.removed or self.added:
                    self.settle()
                self.diff.rows.append(Row(" ", self.old, self.new, text if sign == " " else line, hunk.index))
                self.old, self.new = self.old + 1, self.new + 1
                self.left = [self.left[0] - 1, self.left[1] - 1]

    def note(self, text: str) -> None:
        self.diff.rows.append(Row("note", 0, 0, text, len(self.diff.hunks) - 1))

    def settle(self) -> None:
        self.diff.pair(self.removed, self.added)
        self.removed, self.added = [], []


def _named(diff: Diff, index: int, section: str) -> str:
    """By what the head of the hunk says, else by what stands in it."""
    if section:
        name = name_of([section], 0)
        return section if name == "line 1" else name
    end = diff.hunks[index + 1].row if index + 1 < len(diff.hunks) else len(diff.rows)
    rows = [row for row in diff.rows[diff.hunks[index].row + 1 : end] if row.kind in " +-"]
    first = next((at for at, row in enumerate(rows) if row.kind != " "), 0)
    name = name_of([row.text for row in rows], first)
    number = rows[first].new or rows[first].old if rows else 0
    return f"line {number}" if name == f"line {first + 1}" else name
