"""A dialog that only shows something, until a key closes it."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ..keys.clicks import press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.screen_keymap import keymap_of


class PageDialog(ClosesOnce[None], ModalScreen[None]):
    """A page of rows in the middle of the screen. Esc and Enter close it; long pages scroll."""

    DEFAULT_CSS = """
    PageDialog { align: center middle; background: $background; }
    PageDialog VerticalScroll {
        width: 96; max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
    }
    PageDialog Static { height: auto; min-height: 1; }
    """

    def compose(self) -> ComposeResult:
        """Yield the rows, which scroll. A row that is broken keeps its indentation."""
        with VerticalScroll():
            for row in self._page():
                indent = len(row.plain) - len(row.plain.lstrip(" "))
                shown = Static(row[indent:], markup=False)
                shown.styles.padding = (0, 0, 0, indent)
                yield shown

    def on_key(self, event: events.Key) -> None:
        """Close the dialog with the keys for it."""
        if keymap_of(self).action_of(event.key, "dialog", "list") in ("close_dialog", "take"):
            event.stop()
            self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        press_clicked_key(self, event)

    def rows(self) -> Iterator[Content]:
        """Yield the rows of the page."""
        raise NotImplementedError

    def _page(self) -> Iterator[Content]:
        yield from self.rows()
        yield Content("")
        yield keymap_of(self).press("close_dialog", "closes", style="$dim")
