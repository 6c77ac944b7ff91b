"""Shorten a text, the same everywhere. `tui/text/shorten_cells.py` shortens to the cells of a screen."""

from __future__ import annotations

import re

_PASTED = 5
"""Lines above which part of a message was probably pasted."""
_SENTENCE = 3
"""Words from which a line can be a sentence."""
_SENTENCE_END = re.compile(r"[.!?](?=\s+[^\sa-z]|$)")
_CODE = re.compile(r"[{}();=<>|\\]|::|->|\", line \d")
"""What lines of code and of logs have."""


def end_cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` characters, with `…` in place of its end."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rstrip()}…" if limit > 0 else ""


def line_cut(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` characters."""
    return end_cut(" ".join(text.split()), limit)


def first_line(text: str, limit: int) -> str:
    """Return the first line of the text that is not blank, in at most `limit` characters."""
    return end_cut(text.strip().partition("\n")[0].rstrip(), limit)


def last_line(text: str, limit: int) -> str:
    """Return the last line of the text that is not blank, in at most `limit` characters."""
    return end_cut(text.strip().rpartition("\n")[2].strip(), limit)


def noted_cut(text: str, limit: int) -> str:
    """Return about `limit` characters of the text, and how many follow. Cuts between lines if it can."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", limit // 2, limit) + 1
    kept = text[:end] if end else f"{text[:limit].rstrip()} "
    return f"{kept}[... {len(text) - (end or limit):,} more characters]"


def middle_cut(text: str, limit: int) -> str:
    """Return both ends of the text in about `limit` characters, with a note on what is missing between them."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit:,} characters are left out ...]\n"
    if len(note) > limit // 2:
        note = "[...]"
    keep = max(limit - len(note), 40)
    return text[: keep * 2 // 3] + note + text[len(text) - keep // 3 :]


def title_of(text: str) -> str:
    """Return the first sentence of a message in one line. What was pasted around it is not its title."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    ends = (lines[0], lines[-1]) if len(lines) > _PASTED else lines[:1]
    line = " ".join(next((end for end in ends if _is_prose(end)), lines[0]).split())
    end = _SENTENCE_END.search(line)
    return line if end is None else line[: end.start() + 1]


def _is_prose(line: str) -> bool:
    return len(line.split()) >= _SENTENCE and line[0].isalpha() and not _CODE.search(line)
