"""Find actions by name, part of the screen, key or slash command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .action_table import MAIN_ACTIONS
from .dialog_actions import DIALOG_ACTIONS

if TYPE_CHECKING:
    from .action import Action, Place

ACTIONS: tuple[Action, ...] = (*MAIN_ACTIONS, *DIALOG_ACTIONS)
BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}
_ONLY_MOVE: tuple[Place, ...] = ("suggestions", "rows", "transcript", "scroll", "list", "replay")
"""Parts of the screen of which every action only changes what is visible."""
_ACTS: Mapping[Place, tuple[str, ...]] = {
    "message": ("steer", "send", "newline"),
    "changes": ("undo_file", "undo_files"),
    "handoff": ("handoff_resume",),
    "dialog": ("answer_yes", "answer_no"),
}
"""Parts of the screen with actions that change something, and the names of those; the others only show."""
READ_ONLY_ACTIONS = frozenset(
    {
        *("help", "palette", "to_gate", "board", "handoff", "spend", "replay", "unfold", "unfold_all", "read", "find"),
        *(
            "changes",
            "copy",
            "theme",
            "settings",
            "skills",
            "copy_or_leave",
            "quit",
            "detail",
            "only",
            "find_rows",
            "view",
            "copy_row",
            "back",
        ),
        *("gate_back", "explain", "open_entry", "next_hunk", "previous_hunk", "next_waiting", "previous_waiting"),
        *("split", "full", "around", "whole", "end_handoff", "end_changes", "end_message"),
        *(action.name for action in ACTIONS if action.where in _ONLY_MOVE),
        *(action.name for action in ACTIONS if action.where in _ACTS and action.name not in _ACTS[action.where]),
    }
)
"""Actions of a read-only view. None of them sends a command, writes a file or starts a program."""
_TYPED: Mapping[str, Action] = {action.slash: action for action in ACTIONS if action.typed} | {
    "wheel": BY_NAME["wheel"],
    "cost": BY_NAME["spend"],
}


def actions_of(place: Place) -> list[Action]:
    """Return the actions whose keys belong to a part of the screen."""
    return [action for action in ACTIONS if action.where == place]


def keys_of(place: Place, remaps: Mapping[str, str]) -> dict[str, str]:
    """Map each key of a part of the screen to the name of its action."""
    found: dict[str, str] = {}
    for action in actions_of(place):
        for key in remaps.get(action.name, action.keys).split(","):
            if key.strip():
                found[key.strip()] = action.name
    return found


def slash_commands() -> list[Action]:
    """Return the actions that have a slash command, in the order of the table."""
    return [action for action in ACTIONS if action.typed]


def parse_slash(text: str) -> tuple[Action | None, str]:
    """Split `/limit usd 2` into the action `limit` and `usd 2`. The action is None if there is no such command."""
    name, _, argument = text.removeprefix("/").partition(" ")
    return _TYPED.get(name.strip().replace("-", "_")), argument.strip()


_SHOWN = {
    "escape": "esc",
    "alt+up": "⌥↑",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "shift+tab": "⇧tab",
    "question_mark": "?",
    "enter": "⏎",
    "comma": ",",
    "full_stop": ".",
    "equals_sign": "=",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "delete": "del",
}


def shown_key(keys: str) -> str:
    """Return the first key in display form: `^p`, `⇧tab`, `F2`."""
    key = keys.split(",", 1)[0].strip()
    if keys == "f1":
        return "?"
    if key in _SHOWN:
        return _SHOWN[key]
    if key.startswith("ctrl+"):
        return "^" + key.removeprefix("ctrl+")
    if len(key) in (2, 3) and key[0] == "f" and key[1:].isdigit():
        return key.upper()
    return key.replace("shift+", "⇧").replace("alt+", "⌥")
