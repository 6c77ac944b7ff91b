"""A textual driver that keeps columns aligned in every terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .clusters import at_known_width

if TYPE_CHECKING:
    from textual.driver import Driver


def with_known_widths(base: type[Driver]) -> type[Driver]:
    """Return a driver class that writes joined characters with `at_known_width`."""

    class KnownWidths(base):
        def write(self, data: str) -> None:
            super().write(at_known_width(data))

    return KnownWidths
