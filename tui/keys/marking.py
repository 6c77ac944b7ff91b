"""How the actions of a list move its mark. Does not import textual."""

from __future__ import annotations

_PAGE = 10


def moves(name: str, count: int) -> int:
    """Return by how many rows an action moves the mark of a list with `count` rows, or 0 if it does not move it."""
    far = max(1, count)
    return {
        "mark_up": -1,
        "mark_down": 1,
        "mark_page_up": -_PAGE,
        "mark_page_down": _PAGE,
        "mark_first": -far,
        "mark_last": far,
    }.get(name, 0)
