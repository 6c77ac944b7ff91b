"""A page that scrolls by the user's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.containers import VerticalScroll


class Page(VerticalScroll, inherit_bindings=False):
    """A page whose screen handles the keys, see `scroll`."""


def scroll(page: VerticalScroll, name: str) -> bool:
    """Scroll as this action of the place `scroll` does. Return False for any other action."""
    work = _WORK.get(name)
    if work is not None:
        work(page)
    return work is not None


_WORK: Mapping[str, Callable[[VerticalScroll], None]] = {
    "scroll_up": lambda page: page.scroll_up(animate=False),
    "scroll_down": lambda page: page.scroll_down(animate=False),
    "scroll_page_up": lambda page: page.scroll_page_up(animate=False),
    "scroll_page_down": lambda page: page.scroll_page_down(animate=False),
    "scroll_start": lambda page: page.scroll_home(animate=False),
    "scroll_end": lambda page: page.scroll_end(animate=False),
}
