"""The keys of the app that is on the screen, and words with a key that can be clicked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from textual.app import App
from textual.content import Content
from textual.dom import DOMNode

from .clicks import clickable, pressable
from .keymap import SPACE, Keymap

if TYPE_CHECKING:
    from .action import Place

_ENDLESS = 2**31
PRESSED = {"esc": "escape", "enter": "enter", "⏎": "enter"}
"""Shown keys that are pressed when they are clicked, because what they do depends on what has the focus."""


class ScreenKeymap(Keymap):
    """Draws keys with what they do."""

    def word(self, place: Place, default: str, what: str, *, style: str) -> Content:
        """Return a key and what it does; a click does the same. `default`: one key, or several as in `] [`.

        The keys of a line to type are pressed by the click, because the line handles them.
        """
        keys = [self._key(place, each, style) for each in default.split()]
        first = "help" if default == "?" else self.action_at(place, default)
        rest = Content.styled(f" {what}", "$foreground" if style != "$dim" else style)
        if first and place == "line":
            return Content(" ").join(keys) + pressable(rest, self.first(first))
        return Content(" ").join(keys) + (
            clickable(rest, first) if first else pressable(rest, PRESSED.get(default, ""))
        )

    def press(self, names: str, what: str, *, style: str = "$foreground", about: str = "$dim") -> Content:
        """Return the keys of actions and what they do; a click presses one. `names`: `mark_up mark_down`.

        Empty if none of them has a key.
        """
        keys = [(self.shown(name), self.first(name)) for name in names.split() if self.first(name)]
        if not keys:
            return Content("")
        words = pressable(Content.styled(f" {what}", about), keys[0][1]) if what else Content("")
        return Content(" ").join(pressable(Content.styled(shown, style), key) for shown, key in keys) + words

    def foot(
        self, *words: tuple[str, str], style: str = "$foreground", about: str = "$dim", width: int = _ENDLESS
    ) -> Content:
        """Return a row of keys, each with what it does; those that do not fit in `width` cells are left out."""
        line = Content("")
        for names, what in words:
            word = self.press(names, what, style=style, about=about)
            longer = line + Content("   " if line else "") + word if word else line
            line = longer if longer.cell_length <= width else line
        return line

    def answers(self, *words: tuple[str, str]) -> list[Content]:
        """Return a row for each answer of a dialog: its key in a column, and what it does."""
        keyed = [(self.shown(name), name, what) for name, what in words]
        width = max([3, *(len(shown) for shown, _, _ in keyed)])
        return [
            pressable(
                Content.assemble((shown.rjust(width), "bold $needs-you"), "   ", what), self.first(name) or "escape"
            )
            for shown, name, what in keyed
        ]

    def _key(self, place: Place, default: str, style: str) -> Content:
        name = self.action_at(place, default)
        if name and place == "line":
            return pressable(Content.styled(self.shown(name), style), self.first(name))
        name = name or self.action_at("message", default)
        if default == "?" and not name:
            return clickable(Content.styled(default, style), "help")
        key = self.shown(name) if name else default
        shown = Content.styled(SPACE if default == SPACE and key == "space" else key, style)
        return clickable(shown, name) if name else pressable(shown, PRESSED.get(default, ""))


_OF_APP: WeakKeyDictionary[App[Any], ScreenKeymap] = WeakKeyDictionary()


def set_keymap(app: App[Any], remaps: Mapping[str, str]) -> None:
    """Use these keys in all texts of the app."""
    _OF_APP[app] = ScreenKeymap(remaps)


def keymap_of(node: DOMNode) -> ScreenKeymap:
    """Return the keys of the app that a widget belongs to; the defaults if none were set."""
    return _OF_APP.get(cast("App[Any]", node.app)) or ScreenKeymap({})
