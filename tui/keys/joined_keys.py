"""Handle keys that arrive together, as from a slow line or a macro, in the order in which they were pressed."""

from __future__ import annotations

from typing import cast

from textual import events
from textual.app import App
from textual.widget import Widget


async def do_bound(widget: Widget, event: events.Key) -> bool:
    """Run the widget's own binding for the key immediately; return False if it has none.

    Textual inserts a letter in the widget, but looks for a binding only after the key has bubbled up to the app.
    Without this function, letters typed after a Backspace or an arrow would come before it.
    """
    bound = widget._bindings.key_to_bindings.get(event.key, [])  # pyright: ignore[reportPrivateUsage]
    app = cast("App[object]", widget.app)
    for binding in bound:
        if not binding.priority and await app.run_action(binding.action, widget):
            event.stop()
            event.prevent_default()
            return True
    return False
