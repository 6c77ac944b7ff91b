"""Markdown that still grows, cut into pieces that never change again and a last one that does.

A piece ends where drawing it apart from the next changes nothing: at an empty line, at an item of a long list, every
few lines within a fence. So drawing an answer of 20,000 tokens never costs more than drawing its last few lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)]) ")
_ENOUGH = 600
"""Characters from which a piece ends at the next empty line."""
_LONG = 2_000
"""Characters from which a piece ends at the next item of a list."""
_TOO_LONG = 6_000
"""Characters from which a piece ends anywhere, between two lines or within one."""
_CODE_LINES = 40


@dataclass(slots=True)
class Piece:
    """Some lines of a text."""

    source: str
    language: str | None = None
    """The language of a fenced block, which may be empty, or None for Markdown."""
    joined: bool = False
    """It continues the piece before, without an empty line between them."""


class Pieces:
    """Receives the text so far, and processes only what is new."""

    def __init__(self) -> None:
        self.done: list[Piece] = []
        self._at = 0
        """Number of characters in `done`."""
        self._read = 0
        """Number of characters of whole lines that were processed."""
        self._lines: list[str] = []
        self._size = 0
        self._fence: str | None = None
        self._language = ""
        self._blank = False
        self._joined = False

    def feed(self, text: str, *, whole: bool = False) -> Piece | None:
        """Take in the text so far; `whole`: no more will come. Return the piece that still changes, if there is one."""
        while (end := text.find("\n", self._read)) >= 0:
            self._line(text[self._read : end])
            self._read = end + 1
        rest = text[self._read :]
        while len(rest) > _TOO_LONG:
            self._line(rest[:_TOO_LONG])
            self._read += _TOO_LONG
            self._end()
            rest = text[self._read :]
        lines = [*self._lines, rest] if rest and not self._closes(rest, grows=not whole) else self._lines
        if whole:
            self._lines = lines
            self._end()
            self._read = len(text)
            return None
        if rest and self._fence is None and (opening := _FENCE.match(rest)) and not self._closes(rest):
            return Piece("\n".join(self._lines), None, self._joined) if self._lines else Piece("", opening[2])
        return self._piece(lines) if any(lines) else None

    def _line(self, line: str) -> None:
        if self._fence is not None:
            self._code_line(line)
            return
        opening = _FENCE.match(line)
        if opening:
            self._end()
            self._fence, self._language, self._joined = opening[1], opening[2], False
            return
        if not line.strip():
            self._blank = True
        elif self._may_end(line):
            self._end()
        if line.strip():
            if self._blank and self._lines:
                self._lines.append("")
            self._blank = False
            self._lines.append(line)
            self._size += len(line) + 1

    def _code_line(self, line: str) -> None:
        if self._closes(line):
            self._end()
            self._fence, self._joined = None, False
            return
        self._lines.append(line)
        self._size += len(line) + 1
        if len(self._lines) >= _CODE_LINES or self._size > _TOO_LONG:
            self._end()
            self._joined = True

    def _closes(self, line: str, *, grows: bool = False) -> bool:
        """Whether a line closes the fence; if it `grows`: whether it may do so when it is complete."""
        bare = line.strip()
        if self._fence is None or set(bare) != {self._fence[0]}:
            return False
        return grows or len(bare) >= len(self._fence)

    def _may_end(self, line: str) -> bool:
        """Whether a piece may end before this line."""
        if line[0] in " \t":
            return False
        if self._blank:
            return self._size >= _ENOUGH
        if line[0] == "|":
            return self._size >= 4 * _TOO_LONG
        return self._size >= (_LONG if _ITEM.match(line) else _TOO_LONG)

    def _end(self) -> None:
        if any(self._lines) or (self._lines and self._fence is not None):
            self.done.append(self._piece(self._lines))
            self._joined = self._fence is None and not self._blank
        self._lines, self._size, self._blank = [], 0, False

    def _piece(self, lines: list[str]) -> Piece:
        return Piece("\n".join(lines), self._language if self._fence is not None else None, self._joined)
