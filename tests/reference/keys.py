"""Pages of keys and actions: keys.md and keys-2.md, from the table of actions."""

from __future__ import annotations

from rundry.tui.keys.action import Action
from rundry.tui.keys.action_places import TITLES
from rundry.tui.keys.keymap import Keymap
from rundry.tui.keys.lookup import ACTIONS

from .markdown import code, packed, table
from .words import head

_SIGNS = {
    "plus": "+", "minus": "-", "comma": ",", "full_stop": ".", "equals_sign": "=", "right_square_bracket": "]",
    "left_square_bracket": "[", "greater_than_sign": ">", "less_than_sign": "<",
}  # fmt: skip


def pages() -> dict[str, str]:
    sections: list[list[str]] = []
    for place, title in TITLES.items():
        rows = [_row(action) for action in ACTIONS if action.where == place]
        sections.append([f"## {title}", "", *table(("key", "action", "what it does", "slash command"), rows)])
    return packed("keys", head("keys"), sections)


def _row(action: Action) -> tuple[str, str, str, str]:
    slash = code(f"/{action.slash} {action.takes}".strip()) if action.typed else ""
    what = f"{action.label}: {action.detail}" if action.detail else action.label
    return _keys(action.keys), code(action.name), Keymap({}).named(what), slash


def _keys(keys: str) -> str:
    names = [name.strip() for name in keys.split(",") if name.strip()]
    return ", ".join(f"`{_SIGNS[name]}` ({name})" if name in _SIGNS else code(name) for name in names)
