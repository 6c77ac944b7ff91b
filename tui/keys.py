"""Keys that come in one go, as a slow line or a macro sends them, do their work in the order that they were pressed."""

from __future__ import annotations

from typing import cast

from textual import events
from textual.app import App
from textual.widget import Widget


async def do_bound(widget: Widget, event: events.Key) -> bool:
    """Does at once what the widget itself binds to the key; false where it binds nothing.

    Textual inserts a letter in the widget, but looks for a binding only once the key has bubbled up to the app: without
    this the letters behind a Backspace or an arrow come before it.
    """
    bound = widget._bindings.key_to_bindings.get(event.key, [])  # pyright: ignore[reportPrivateUsage]
    app = cast("App[object]", widget.app)
    for binding in bound:
        if not binding.priority and await app.run_action(binding.action, widget):
            event.stop()
            event.prevent_default()
            return True
    return False
