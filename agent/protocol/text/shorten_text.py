"""Shorten a text, the same everywhere. `tui/text/shorten_cells.py` shortens to the cells of a screen."""

from __future__ import annotations


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
