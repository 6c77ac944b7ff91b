"""The head and the end of every page."""

from __future__ import annotations

from collections.abc import Iterator

from .style import policy, style_sheet


def page_start(title: str) -> Iterator[str]:
    """Yield everything before the content. `title` is escaped already."""
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
    yield '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title><style>{style_sheet()}</style></head><body>"
    yield '<div class="brand">rundry</div>'


def page_end() -> str:
    """Return everything after the content."""
    return "</body></html>"
