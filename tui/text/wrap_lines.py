"""Break lines between words at the width of the terminal. Does not import textual."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TextIO

from rich.cells import cell_len

LEAST = 20
"""Columns below which lines are not broken: nearly every word would be too long."""


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Return the columns of the terminal, or None if the output is not a terminal, or its size is unknown.

    `stream`: the output, or None for standard output.
    """
    try:
        columns = os.get_terminal_size((stream or sys.stdout).fileno()).columns
    except (OSError, ValueError):
        return None
    return columns if columns >= LEAST else None


def wrapped(line: str, width: int | None, hang: int = 0) -> Iterator[str]:
    """Break a line between words. Blanks at its begin stay; a word that is longer than a row keeps its row.

    `hang`: blanks at the begin of each further row.
    """
    if width is None or cell_len(line) <= width:
        yield line
        return
    row = ""
    for word in _words(line):
        if row.strip() and cell_len(row) + cell_len(word.rstrip()) > width:
            yield row.rstrip()
            row = " " * hang
        row += word
    yield row.rstrip()


def _words(line: str) -> Iterator[str]:
    """Return the words of a line, each with the blanks after it; the first one also with those before it."""
    start, end = 0, len(line) - len(line.lstrip(" "))
    while end < len(line):
        gap = line.find(" ", end)
        if gap < 0:
            break
        end = gap
        while end < len(line) and line[end] == " ":
            end += 1
        yield line[start:end]
        start = end
    if start < len(line):
        yield line[start:]
