"""Texts of the lines that `--headless` writes, and the function that writes one. Does not import textual."""

from __future__ import annotations

import sys

from rundry.agent import (
    Block,
    RunEnded,
    coverage_words,
    estimate_words,
    plural,
)

from ...text.shorten_cells import cells_cut
from ...text.show_text import one_line

TEXT_WIDTH = 48
"""Characters of the model's own words in such a line."""
WIDTH = 160
"""Longest line on stderr; the journal has the complete text."""


def search_lines(ended: RunEnded, found: int) -> list[str]:
    """Return what the lenses of a search read and an estimate of what they missed; nothing for another run."""
    if ended.coverage is None:
        return []
    lenses = [
        f"{one_line(each.lens)} {plural(each.files, 'file')}, {plural(each.lines, 'line')}"
        for each in ended.coverage.lenses
    ]
    estimate = estimate_words(found, ended.estimate) + (" (an estimate)" if ended.estimate is not None else "")
    return [f"read  {coverage_words(ended.coverage)}", *(f"read  by {lens}" for lens in lenses), estimate]


def model_words(name: str) -> str:
    """Return the name of the model for a person."""
    return "no model" if name == "none" else name


def block_words(block: Block) -> str:
    """Return the words of one block of a step, or an empty string."""
    match block.kind:
        case "tool" | "edit" | "command" | "check":
            return " ".join(part for part in (one_line(block.title), one_line(block.right)) if part)
        case "text":
            return cells_cut(one_line(block.text.strip().split("\n", 1)[0]), TEXT_WIDTH)
        case "question":
            return f"asks: {one_line(block.text)}"
        case _:
            return ""


def say_line(text: str) -> None:
    """Write one line to stderr, shortened to `WIDTH` cells."""
    print(cells_cut(one_line(text), WIDTH), file=sys.stderr, flush=True)
