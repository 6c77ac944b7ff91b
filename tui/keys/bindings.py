"""Bindings of a screen or widget for the actions of one part of the screen; textual applies the user's keys to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.binding import Binding

from .lookup import actions_of

if TYPE_CHECKING:
    from .action import Place


def bindings(place: Place, methods: Mapping[str, str], *, priority: bool = True) -> list[Binding]:
    """Return a binding for each action that has a method. `priority`: before the keys of the focused widget."""
    return [
        Binding(
            action.keys or f"no-key-of-{action.name}",
            methods[action.name],
            action.label,
            id=action.name,
            show=False,
            priority=priority,
        )
        for action in actions_of(place)
        if action.name in methods
    ]
