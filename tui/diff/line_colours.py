"""The colours of the lines of a diff, as far as they have been computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ..text.show_text import show
from .code_runs import Piece, lex, lexer_for, packed, unpacked

if TYPE_CHECKING:
    from .diff_rows import Diff, DiffSource, Row

Found = dict[str, dict[int, bytes]]
"""Side (`-` old, `+` new) to line number to the packed colours of that line."""
_MOST_ROWS = 400
_PAUSE = 0.0002


class Colours:
    """Colours by line. Threads add them; a line without colours yet is shown plain."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: Found = {"-": {}, "+": {}}

    def pieces(self, row: Row) -> list[Piece]:
        """Return the line in coloured pieces."""
        shown = show(row.text)
        colours = self._of(row)
        return [(shown, "code")] if colours is None or len(colours) != len(shown) else unpacked(shown, colours)

    def lacking(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows whose colours are not known."""
        return [row for row in rows if row.kind in " +-" and self._of(row) is None]

    def of_rows(self, rows: Sequence[Row], wanted: Callable[[], bool]) -> Found:
        """Highlight only these rows, each hunk separately: fast, and nearly right."""
        found: Found = {"-": {}, "+": {}}
        for _, group in groupby(rows, lambda row: row.hunk):
            lines = list(group)
            found["-"].update(self._of_side([(row.old, row.text) for row in lines], wanted))
            found["+"].update(self._of_side([(row.new, row.text) for row in lines], wanted))
        return found

    def of_source(self, source: DiffSource, wanted: Callable[[], bool]) -> Found:
        """Highlight whole files, so that strings that begin above the visible rows are right.

        It takes a second for 5,000 lines.
        """
        old, new = source.sides()
        added = self._of_side(list(enumerate(new, 1)), wanted)
        return {"+": added, "-": self._of_side(list(enumerate(old, 1)), wanted)}

    def add(self, found: Found) -> None:
        """Add colours. Those that are known already are kept, because they came from the whole file."""
        for side, lines in found.items():
            self.found[side] = lines | self.found[side]

    def _of(self, row: Row) -> bytes | None:
        return self.found["-"].get(row.old) if row.kind == "-" else self.found["+"].get(row.new)

    def _of_side(self, lines: Sequence[tuple[int, str]], wanted: Callable[[], bool]) -> dict[int, bytes]:
        there = [(number, show(text)) for number, text in lines if number]
        lexed = lex([text for _, text in there], lexer_for(self.path), wanted)
        return {number: packed(pieces) for (number, _), pieces in zip(there, lexed, strict=True)}


class HunkColours(Colours):
    """Colours that are computed when a line is drawn, hunk by hunk. For short diffs."""

    def __init__(self, diff: Diff) -> None:
        super().__init__(diff.path)
        self._diff = diff
        self._lexed: set[int] = set()

    def pieces(self, row: Row) -> list[Piece]:
        """Return the line in coloured pieces; plain if its hunk is too long."""
        if row.hunk not in self._lexed:
            self._lexed.add(row.hunk)
            hunks, rows = self._diff.hunks, self._diff.rows
            start = hunks[row.hunk].row if row.hunk >= 0 else 0
            end = hunks[row.hunk + 1].row if row.hunk + 1 < len(hunks) else len(rows)
            if end - start <= _MOST_ROWS:
                self.found.update(self.of_rows([one for one in rows[start:end] if one.kind in " +-"], lambda: True))
        return super().pieces(row)


def considerate(is_wanted: Callable[[], bool]) -> Callable[[], bool]:
    """Return the same question with a short pause each time it is asked, so that a thread does not delay keys.

    Without the pause, a key waits up to 5 ms each time that it needs the interpreter's lock.
    """

    def asked() -> bool:
        time.sleep(_PAUSE)
        return is_wanted()

    return asked
