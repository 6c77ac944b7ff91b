"""Check the `[keys]` of the user's config: unknown actions and keys, and keys that two actions would share."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import config_file, plural

from ..keys.action_places import PLACES, meet
from ..keys.keymap import LEAVES
from ..keys.lookup import ACTIONS, BY_NAME

if TYPE_CHECKING:
    from ..keys.action import Action, Place

_SENT_AS = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+left_square_bracket": "escape"}
"""Keys that a terminal sends as other ones."""
_MODIFIERS = frozenset(("ctrl", "shift", "alt", "super", "hyper", "meta"))
_TYPED = ("main", "message", "suggestions", "line", "sessions")
"""Places in which a letter is typed as text."""
_TEXT_KEYS = ("enter", "space", "backspace", "delete", "up", "down", "left", "right")
_EVERYWHERE = frozenset({"suspend", *LEAVES})
"""Actions of the main screen whose keys count also above it."""


@dataclass(frozen=True, slots=True)
class WrongKey:
    """A mistake in `[keys]`, with its file and line."""

    name: str
    """The action, as it is written there."""
    why: str

    def __str__(self) -> str:
        return f"{config_file(os.environ)}, {self.without_path}"

    @property
    def without_path(self) -> str:
        """The mistake with its line in the config."""
        line = _line_of(self.name)
        return f"{f'line {line}: ' if line else ''}[keys] {self.name}: {self.why}"


def check_keys(remaps: Mapping[str, str]) -> tuple[dict[str, str], list[WrongKey]]:
    """Return the remaps that can be used, and what is wrong with the others or with two of them together."""
    good: dict[str, str] = {}
    wrong: list[WrongKey] = []
    for name, keys in remaps.items():
        why = _why_wrong(name, keys)
        if why is None:
            good[name] = keys
        else:
            wrong.append(WrongKey(name, why))
    return good, [*wrong, *_conflicts(good)]


def one_line_about(wrong: list[WrongKey]) -> str:
    """Return how many mistakes there are, and the first one."""
    return f"{plural(len(wrong), 'wrong key')} (`rundry config keys`): {wrong[0].without_path}"


def keys_in(action: Action, remaps: Mapping[str, str]) -> list[str]:
    """Return the keys of an action."""
    return [key.strip() for key in remaps.get(action.name, action.keys).split(",") if key.strip()]


def _why_wrong(name: str, keys: str) -> str | None:
    if name not in BY_NAME:
        return f"there is no such action{_near(name, list(BY_NAME))}"
    for key in keys.split(",") if keys.strip() else ():
        if why := _why_no_key(key.strip()):
            return why
        action = BY_NAME[name]
        is_for_text = action.where != "main" and name != "steer" and len(key.strip()) > 1
        if action.where in _TYPED and not is_for_text and _types(key.strip()):
            return f'"{key.strip()}" is typed into the message: use ctrl, alt or a function key'
    return None


def _types(key: str) -> bool:
    """Return whether a key types or moves in the message."""
    return len(key) == 1 or key in _TEXT_KEYS or ("+" not in key and key not in _named_keys() and _is_character(key))


def _named_keys() -> set[str]:
    from textual.keys import Keys

    return {each.value for each in Keys}


def _why_no_key(key: str) -> str | None:
    from textual.keys import KEY_NAME_REPLACEMENTS, Keys

    if key in _SENT_AS:
        return f'a terminal sends "{key}" as {_SENT_AS[key]}: use another key'
    *modifiers, name = key.split("+")
    if len(name) == 1 and not name.isalnum():
        proper = unicodedata.name(name, "").lower().replace("-", "_").replace(" ", "_")
        return f'"{key}" must be written with its name: {KEY_NAME_REPLACEMENTS.get(proper, proper)}'
    names = {each.value for each in Keys} | set(KEY_NAME_REPLACEMENTS.values())
    is_known = len(name) == 1 or key in names or name in names or _is_character(name)
    if is_known and _MODIFIERS.issuperset(modifiers):
        return None
    return f'"{key}" is not a key{_near(key.lower(), sorted(names))}'


def _is_character(name: str) -> bool:
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True


def _conflicts(remaps: Mapping[str, str]) -> Iterator[WrongKey]:
    """Yield each key that a remapped action shares with another one that counts in the same place."""
    for name in remaps:
        action = BY_NAME[name]
        for key in keys_in(action, remaps):
            others = [other for other in ACTIONS if other is not action and _is_shared(key, action, other, remaps)]
            for other in others:
                if other.name not in remaps or other.name > name:  # two remapped actions: once
                    place = "" if other.where == "main" else f", {PLACES[other.where]}"
                    yield WrongKey(
                        name, f'"{key}" is also the key of {other.name}{place}: give one of them another key'
                    )


def _is_shared(key: str, one: Action, other: Action, remaps: Mapping[str, str]) -> bool:
    by_default = key in keys_in(one, {}) and key in keys_in(other, {})
    return _meet(one, other) and not by_default and key in keys_in(other, remaps)


def _meet(one: Action, other: Action) -> bool:
    """Return whether the keys of both count at the same time."""
    if _EVERYWHERE & {one.name, other.name}:
        return True
    # the main screen handles the key of `steer` wherever its focus is
    return meet(_place_of(one), _place_of(other))


def _place_of(action: Action) -> Place:
    return "main" if action.name == "steer" else action.where


def _near(word: str, known: list[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word, known, 1)
    return f": did you mean {found[0]}?" if found else ": `rundry config keys` lists them"


def _line_of(name: str) -> int | None:
    """Return the line of the config that remaps this action, or None if it is not found."""
    try:
        lines = Path(config_file(os.environ)).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    entry = re.compile(rf"""(?:keys\s*\.\s*)?["']?{re.escape(name)}["']?\s*=|keys\s*=\s*\{{.*\b{re.escape(name)}\b""")
    is_inside = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("["):
            is_inside = text.split("#")[0].strip() == "[keys]"
        elif (is_inside or text.startswith("keys")) and entry.match(text):
            return number
    return None
