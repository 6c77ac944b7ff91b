"""Close a dialog once, however often its key or row is pressed."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import Screen

Result = TypeVar("Result")


class ClosesOnce(Screen[Result]):
    """A screen that takes one answer. A second press that arrives while it closes is ignored.

    Textual calls the callback again for each `dismiss`, and removes the screen below.
    """

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close the screen with a result, if it is the top one."""
        return super().dismiss(result) if self.is_current else AwaitComplete.nothing()
