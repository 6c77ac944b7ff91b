"""The screen that a program draws: pyte, spared the sequences that it mistakes for text."""

from __future__ import annotations

import re
from typing import Any

import pyte
from pyte.screens import Char

_FOREIGN = re.compile(
    rb"\x1b\[[<>=][0-9;:]*[A-Za-z]"  # kitty keyboard, XTVERSION, modifyOtherKeys
    rb"|\x1b\[\?[0-9;]*(?:\$p|u|m)|\x1b\[\?(?:2026|2031|2048)[hl]"
    rb"|\x1b\[[0-9;]*(?:t|\$p| q)"
    rb"|\x1b\[[0-9;]*:[0-9:;]*m"
    rb"|\x1b[P_^X].*?\x1b\\"
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)",
    re.S,
)
_UNFINISHED = re.compile(rb"\x1b(?:[P_^X\]][^\x07\x1b]*\x1b?|\[[0-9;:<>=?$ ]*)?$", re.S)

_FRAME, _WHOLE = b"\x1b[?2026h", b"\x1b[?2026l"
"""CommandChecks what belongs together (synchronized output)."""


class _Screen(pyte.Screen):
    def report_device_attributes(self, *args: Any, **more: Any) -> None:
        """The terminal answers such questions itself."""

    def report_device_status(self, *args: Any, **more: Any) -> None: ...


class Emulator:
    def __init__(self, rows: int, columns: int) -> None:
        self.screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._tail = b""
        self._lines: dict[int, str] = {}

    def feed(self, data: bytes) -> None:
        """What is written between the marks of a frame is seen once the frame is whole, as on a real terminal."""
        data = self._tail + data
        unfinished = _UNFINISHED.search(data)
        at = unfinished.start() if unfinished else len(data)
        frame = data.rfind(_FRAME, 0, at)
        if frame > data.rfind(_WHOLE, 0, at):
            at = frame
        self._tail = data[at:]
        self._stream.feed(_FOREIGN.sub(b"", data[:at]))

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        self._lines.clear()

    def lines(self) -> list[str]:
        """What stands on the screen, each line without the blanks at its end."""
        for y in self.screen.dirty:
            self._lines.pop(y, None)
        self.screen.dirty.clear()
        columns = range(self.screen.columns)
        for y in range(self.screen.lines):
            if y not in self._lines:
                row = self.screen.buffer[y]
                self._lines[y] = "".join(row[x].data for x in columns).rstrip()
        return [self._lines[y] for y in range(self.screen.lines)]

    def cell(self, row: int, column: int) -> Char:
        """Its sign, `fg`, `bg` (a name or six hex digits), `bold`, `reverse`, ..."""
        return self.screen.buffer[row][column]
