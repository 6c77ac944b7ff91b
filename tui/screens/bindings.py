"""The keys of the main screen."""

from __future__ import annotations

from textual.binding import Binding

from ..actions.lookup import actions_of
from ..keyboard.bindings import bindings


def main_bindings() -> list[Binding]:
    """Return a binding for each action of the main screen, also for those that have a key only in the user's config."""
    everywhere = {action.name: f"do('{action.name}')" for action in actions_of("main") if action.name != "interrupt"}
    # escape goes to whatever is open first; all other keys work wherever the focus is
    return [
        *bindings("main", {"interrupt": "back"}, priority=False),
        *bindings("main", everywhere),
        *bindings("message", {"steer": "do('steer')"}),
    ]
