"""The keys of one app: the defaults, and what the user's config changes. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .lookup import BY_NAME, actions_of, keys_of, shown_key

if TYPE_CHECKING:
    from .action import Place

SPACE = "␣"
"""The space bar where there is little room."""
LEAVES = ("copy_or_leave", "quit")
"""Actions whose key closes a dialog."""
_NAME = re.compile(r"\{(\w+)\}")


class Keymap:
    """Gives the key of an action as it is shown to the person."""

    def __init__(self, remaps: Mapping[str, str]) -> None:
        """`remaps`: keys by the name of their action, as in `[keys]` of the config."""
        self._remaps = remaps
        self._keys: dict[Place, Mapping[str, str]] = {}

    def shown(self, name: str) -> str:
        """Return the first key of an action (`^p`, `F2`, `y`), or an empty text if it has none."""
        keys = self._remaps.get(name, BY_NAME[name].keys)
        return shown_key(keys) if keys else ""

    def first(self, name: str) -> str:
        """Return the first key of an action as textual names it, or an empty text if it has none."""
        return self._remaps.get(name, BY_NAME[name].keys).split(",", 1)[0].strip()

    def keys(self, place: Place) -> Mapping[str, str]:
        """Map each key of a part of the screen to the name of its action."""
        if place not in self._keys:
            self._keys[place] = keys_of(place, self._remaps)
        return self._keys[place]

    def action_of(self, key: str, *places: Place) -> str:
        """Return the name of the action that has this key in the first of the places, or an empty text."""
        return next((self.keys(place)[key] for place in places if key in self.keys(place)), "")

    def closes(self, key: str) -> bool:
        """Return whether a key closes a dialog: its own, or the one that leaves the main screen."""
        return self.action_of(key, "dialog", "main") in ("close_dialog", *LEAVES)

    def named(self, text: str) -> str:
        """Replace each `{approve}` in a text of rundry's own by the key of this action."""
        return _NAME.sub(lambda found: self.shown(found[1]), text)

    def action_at(self, place: Place, default: str) -> str:
        """Return the name of the action that has this key by default (`y` at the gate: `approve`), or an empty text."""
        wanted = "space" if default == SPACE else default
        return next((each.name for each in actions_of(place) if each.keys and shown_key(each.keys) == wanted), "")
