"""Text that does something when it is clicked: each word carries the action or the key that it stands for."""

from __future__ import annotations

from typing import Any, cast

from rich.style import Style as RichStyle
from textual import events
from textual.app import App
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

_ACTION, _KEY = "rundry-action", "rundry-key"


def clickable(content: Content, action: str) -> Content:
    """Return the text, which runs an action when it is clicked: `model`, or with an argument `limit usd`."""
    return content.stylize(Style.from_meta({_ACTION: action})) if action else content


def pressable(content: Content, key: str) -> Content:
    """Return the text, which presses a key when it is clicked."""
    return content.stylize(Style.from_meta({_KEY: key}))


def action_style(action: str) -> RichStyle:
    """Return what a drawn row adds to the style of a text that runs an action when it is clicked."""
    return RichStyle(meta={_ACTION: action})


def clicked_action(event: events.Click) -> str:
    """Return the action of the clicked text, or an empty string."""
    found = event.style.meta.get(_ACTION, "")
    return found if isinstance(found, str) else ""


def press_clicked_key(screen: Screen[Any], event: events.Click) -> None:
    """Press the key of the clicked text, if it has one."""
    key = event.style.meta.get(_KEY, "")
    if isinstance(key, str) and key:
        event.stop()
        cast("App[Any]", screen.app).simulate_key(key)
