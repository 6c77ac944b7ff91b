"""Write Markdown tables, lists of fields, and pages that are not too long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import LINES


def cell(text: str) -> str:
    """Return the text as one cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def code(text: str) -> str:
    """Return the text as code, also if it holds a backtick."""
    return f"`` {text} ``" if "`" in text else f"`{text}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with a blank line after it."""
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    return [*lines, *(f"| {' | '.join(map(cell, row))} |" for row in rows), ""]


def packed(name: str, head: Sequence[str], sections: Sequence[list[str]]) -> dict[str, str]:
    """Spread sections over as few pages as possible: `name.md`, `name-2.md`, ...; each page begins with `head`."""
    room = LINES - len(head)
    total = sum(map(len, sections))
    aim = total / -(-total // room)
    pages: list[list[str]] = [[]]
    for section in sections:
        if pages[-1] and (len(pages[-1]) + len(section) > room or len(pages[-1]) + len(section) / 2 > aim):
            pages.append([])
        pages[-1] += section
    title, *rest = head
    found: dict[str, str] = {}
    for number, lines in enumerate(pages, 1):
        first = title if number == 1 else f"{title}, part {number}"
        found[f"{name}.md" if number == 1 else f"{name}-{number}.md"] = page([first, *rest, *lines])
    return found


def page(lines: Sequence[str]) -> str:
    """Return the text of a page."""
    return "\n".join(lines).rstrip() + "\n"
