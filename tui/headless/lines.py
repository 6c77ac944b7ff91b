"""Texts of the lines that `--headless` writes, and the function that writes one. Does not import textual."""

from __future__ import annotations

import re
import sys

from rich.cells import cell_len

from rundry.agent import (
    Block,
    Outcome,
    Reason,
    RunEnded,
    coverage_words,
    estimate_words,
    evidence_words,
    held_words,
    plural,
    void_words,
)

from ..ended.words import changed_words, cost_words
from ..text import one_line
from ..wrapping import terminal_width, wrapped

TEXT_WIDTH = 48
"""Characters of the model's own words in such a line."""
WIDTH = 160
"""Longest line on stderr; the journal has the complete text."""
END_WIDTH = 80
"""Columns at which the end of a run is wrapped on a terminal, if that is not narrower."""
_LABEL = re.compile(r"-> |(?:resume|decide|continue) with: |[a-z]+: |read  | +")
_COMMAND = "rundry "


def outcome_line(ended: RunEnded | Outcome) -> str:
    """Return the last line of a run, for example `-> done after 3 steps: check passed`."""
    gap = "" if ended.complete else " (not complete)"
    after = plural(ended.passes, "pass") if ended.reason is Reason.DRY else plural(ended.steps, "step")
    if void := void_words(ended):
        return f"-> void: {void}; it was {ended.reason.words} after {after}: {one_line(ended.detail)}{gap}"
    return f"-> {ended.reason.words} after {after}: {one_line(ended.detail)}{gap}"


def end_line(ended: RunEnded | Outcome) -> str:
    """Return evidence, cost and changes of an ended run: `212 tests as at the start; 61k tokens, $0.04, 2:41; ...`."""
    cost = ", ".join(cost_words(ended))
    evidence = one_line(evidence_words(ended.evidence, ended.approved_by))
    parts = (evidence, cost, held_words(ended.held), changed_words(None, ended))
    return f"   {'; '.join(part for part in parts if part)}"


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
            text = one_line(block.text.strip().split("\n", 1)[0])
            return text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"
        case "question":
            return f"asks: {one_line(block.text)}"
        case _:
            return ""


def say_end(text: str) -> None:
    """Write a text of the end of a run to stderr: wrapped on a terminal, else as one line, which programs read."""
    width = terminal_width(sys.stderr)
    rows = [one_line(text)] if width is None else end_rows(one_line(text), min(width, END_WIDTH))
    print("\n".join(rows), file=sys.stderr, flush=True)


def end_rows(line: str, width: int) -> list[str]:
    """Break a line between words. Further rows are indented under the text that follows the label.

    A command is never broken, because it is copied: if it does not fit after its label, it gets a row of its own.
    """
    found = _LABEL.match(line)
    label = found[0] if found is not None else ""
    if cell_len(line) > width and line[len(label) :].startswith(_COMMAND):
        return [label.rstrip(), f"   {line[len(label) :]}"]
    return list(wrapped(line, width, len(label)))


def say_line(text: str) -> None:
    """Write one line to stderr, shortened to `WIDTH` characters."""
    line = one_line(text)
    print(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…", file=sys.stderr, flush=True)
