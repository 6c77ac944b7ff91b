"""Decide which command lines only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .flags import base, risk, unknown_word
from .program_names import GIT_READS, NEUTRAL, READERS

if TYPE_CHECKING:
    from .command_line import ParsedLine, PlainCommand


def only_reads(line: ParsedLine) -> bool:
    """Return whether each command of a line is known to read files and to write none."""
    if line.parse_error is not None or line.doubts or line.writes or not line.parts:
        return False
    return all(_reads(part) for part in line.parts)


def _reads(part: PlainCommand) -> bool:
    if unknown_word(part) is not None or risk(part) is not None or base(part.name) != part.name:
        return False
    if part.name == "git":
        return next((word for word in part.texts[1:] if not word.startswith("-")), "") in GIT_READS
    return part.name in READERS or part.name == "cd" or part.texts in ([name] for name in NEUTRAL)
