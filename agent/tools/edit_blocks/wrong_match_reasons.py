"""Find reasons why a replacement could be wrong although the old text was found. Does no I/O.

Each function returns the reason for the model, or None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from .block_lines import BLANK, BlockLine, Document, indent_text
from .line_numbers import has_numbers

if TYPE_CHECKING:
    from .block_places import Match

_WORD = re.compile(r"[A-Za-z0-9_]")
_FENCE = re.compile(r"\s*(```|~~~)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_LETTERS = re.compile(r"[^\W\d]{3}")
_CUT, _SHORT = 6, 3
"""Minimum number of equal characters where two texts are cut at the same place, inside and outside of the cut."""
_ENOUGH = 3
"""Number of indented lines that show whether a file uses tabs or spaces."""


def partial_line(here: Match, new: str) -> str | None:
    """Check an old text that begins or ends within a line."""
    prefix, suffix, number = here.prefix, here.suffix, here.row + 1
    old, new = "\n".join(here.sent), new.strip("\n")
    if not (prefix + suffix).strip(BLANK):
        return None
    for split, side in ((_joins(prefix, old), "begins"), (_joins(old, suffix), "ends")):
        if split:
            return f"old_text {side} inside of a word in or after line {number} ({split}). Send whole lines."
    head, tail = prefix.strip(BLANK), suffix.strip(BLANK)
    if head and _twice(prefix, here.sent[0], new.split("\n"), first=True):
        return _repeated(head, "before", number)
    if tail and _twice(suffix, here.sent[-1], new.split("\n"), first=False, nested=_nested(tail, old, new)):
        return _repeated(tail, "after", number)
    if "\n" in old and not _same_cut(head, tail, old, new):
        return (
            f"old_text has several lines and begins or ends within a line (`{head[-40:] or tail[:40]}` is left out). "
            "Send whole lines in both texts."
        )
    indent = prefix[: len(prefix) - len(prefix.lstrip(BLANK))]
    further = [line for line in new.split("\n")[1:] if line.strip()]
    if head and indent and "\n" not in old and any(not line.startswith(indent) for line in further):
        return (
            f"old_text is within line {number}, which has {indent_text(indent)}, "
            "and other lines of new_text have less. Send whole lines with the file's indentation."
        )
    return None


def _twice(rest: str, sent: str, new: Sequence[str], *, first: bool, nested: bool = False) -> bool:
    """Return whether the new text repeats the part of the first or last line that is outside of the old text."""
    whole, rest = (rest + sent if first else sent + rest).strip(BLANK), rest.strip(BLANK)
    if any(line.strip(BLANK) == whole for line in new):
        return True
    line, cut = (new[0], sent) if first else (new[-1][::-1], sent[::-1])
    left_out = rest if first else rest[::-1]
    shared, alone = _shared(line, left_out + cut.lstrip(BLANK)), _shared(line, cut)
    return not nested and shared >= len(left_out) and shared > alone


def _shared(one: str, other: str) -> int:
    """Return the length of the common prefix, without leading white space."""
    pairs = zip(one.lstrip(BLANK), other.lstrip(BLANK), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _same_cut(head: str, tail: str, old: str, new: str) -> bool:
    """Return whether both texts begin, or end, with the same few characters, as when both are cut at the same place."""
    begins = not head or (old[:_CUT] == new[:_CUT] and head[:_SHORT] != new[:_SHORT])
    return begins and (not tail or (old[-_CUT:] == new[-_CUT:] and tail[-_SHORT:] != new[-_SHORT:]))


def _repeated(text: str, side: str, number: int) -> str:
    return (
        f"`{text[:60]}` is {side} old_text in or after line {number}, and new_text has it too, so it would be "
        "there twice. Send whole lines."
    )


def _joins(left: str, right: str) -> str | None:
    """Return the word that both sides share, if the border is within one."""
    if not left or not right or not _WORD.match(left[-1]) or not _WORD.match(right[0]):
        return None
    head = re.search(r"[A-Za-z0-9_]*\Z", left)
    tail = re.match(r"[A-Za-z0-9_]*", right)
    return f"`{(head[0] if head else '')[-40:]}{(tail[0] if tail else '')[:40]}`"


def _nested(tail: str, old: str, new: str) -> bool:
    """Return whether the closing brackets after the text match brackets before it."""
    return bool(re.search(r"[)\]}]", tail)) and not _WORD.search(tail) and _open(old) == _open(new)


def _open(text: str) -> list[int]:
    return [text.count(a) - text.count(b) for a, b in ("()", "[]", "{}")]


def tool_markup(old: str, new: str, number: int) -> str | None:
    """Check for line numbers, a code fence or escapes, which tools and models add to text."""
    first = has_numbers(new)
    if first is not None and has_numbers(old) is None:
        known = {line.strip() for line in old.split("\n")} - {""}
        shown = [re.sub(r"^[ \t]*L?\d+( ?[|│→┃]|\t)", "", line).strip() for line in new.split("\n")]
        if first == number or any(line in known for line in shown):
            return f"each line of new_text begins with a line number ({first}). Send it without line numbers."
    lines = new.strip().split("\n")
    if _fenced(lines) and not _fenced(old.strip().split("\n")):
        return (
            "new_text is in a code fence and old_text is not. Send it without the fence; if a fence is meant, put an "
            "unchanged line before or after it in both texts."
        )
    quotes = new.count('"')
    if quotes > 1 and new.count('\\"') == quotes and '\\"' not in old:
        return 'all quotes in new_text are escaped (\\"). Send them without the backslash.'
    return _escaped(old, new)


def _fenced(lines: Sequence[str]) -> bool:
    return len(lines) > 1 and bool(_FENCE.match(lines[0])) and bool(_FENCE.match(lines[-1]))


def _escaped(old: str, new: str) -> str | None:
    """Check for escaped line breaks outside of quotes, at the end, or between known lines."""
    if "\n" in new.strip("\n") or "\\n" not in new:
        return None
    known = {line.strip() for line in old.split("\n")} - {""}
    pieces = new.split("\\n")
    bare = [_QUOTED.sub("", text).count("\\n") for text in (old, new)]
    shown = not pieces[-1] or any(line.strip() in known for line in pieces)
    if bare[1] > bare[0] or (shown and new.count("\\n") > old.count("\\n")):
        return "the line breaks in new_text are escaped (\\n). Send real line breaks."
    return None


def mixed_indentation(document: Document, real: Sequence[BlockLine], fresh: Sequence[BlockLine]) -> str | None:
    """Check for new lines indented with spaces in a file that uses tabs, or the reverse."""
    given = {line.indent for line in fresh if line.indent} - {line.indent for line in real}
    tabs = sum(row.startswith("\t") for row in document.rows)
    spaces = sum(row.startswith("  ") for row in document.rows)
    if tabs >= _ENOUGH and not spaces and any(indent.startswith("  ") for indent in given):
        return "new_text is indented with spaces and the file with tabs. Indent new_text with tabs."
    if spaces >= _ENOUGH and not tabs and any(indent.startswith("\t") for indent in given):
        return "new_text is indented with tabs and the file with spaces. Indent new_text with spaces."
    return None


def duplicate_line(
    document: Document, match: Match, real: Sequence[BlockLine], fresh: Sequence[BlockLine]
) -> str | None:
    """Check for new lines that the file already has next to the old text."""
    first = match.row
    rows = [line.content for line in fresh]
    here = [line.content for line in real]
    stop = first + len(here)
    for at in range(len(rows) - len(here) + 1 if len(here) < len(rows) else 0):
        start = first - at
        if rows[at : at + len(here)] != here or start < 0 or document.rows[start : start + len(rows)] != rows:
            continue
        if any(_LETTERS.search(row) for row in rows[:at] + rows[at + len(here) :]):
            return f"new_text is already in the file at line {start + 1}. The edit may have been made before."
    for row, known, number in ((rows[0], here[0], first - 1), (rows[-1], here[-1], stop)) if rows else ():
        near = document.rows[number] if 0 <= number < len(document.rows) else ""
        if row == near != known and (_LETTERS.search(row) or (match.begins_with_newline and number < first)):
            return (
                f"new_text has `{row.strip()[:60]}`, which is line {number + 1} of the file and not in old_text, so it "
                "would be there twice. Put that line into both texts, or into none."
            )
    return None
