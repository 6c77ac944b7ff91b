"""Which views show a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..system.process_names import is_process_gone

if TYPE_CHECKING:
    from .handle import Handle

_SEEN = "INSERT INTO views VALUES (?, ?) ON CONFLICT(view) DO UPDATE SET seen = excluded.seen"


class AttachedViews:
    """The views that have a run open. Every method raises JournalError if the file cannot be read or written."""

    def __init__(self, handle: Handle, now: Callable[[], float]) -> None:
        self._handle, self._now = handle, now
        self._above: AttachedViews | None = None

    def beat(self, view: str) -> None:
        """Record that the view has this run open, now for the first time or still. Does nothing if it is read-only."""
        if self._handle.is_read_only:
            return
        with self._handle as db:
            db.execute(_SEEN, (view, self._now()))

    def detach(self, view: str) -> None:
        """Remove the registration of a view."""
        if self._handle.is_read_only:
            return
        with self._handle as db:
            db.execute("DELETE FROM views WHERE view = ?", (view,))

    def include(self, above: AttachedViews) -> None:
        """Count the views of the run above this one too: a person who looks at a run can answer for its children."""
        self._above = above

    def watched(self, within: float = 15.0) -> bool:
        """Return whether a view reported within this many seconds and its process still runs."""
        with self._handle as db:
            rows = db.execute("SELECT view FROM views WHERE seen >= ?", (self._now() - within,)).fetchall()
        if any(not is_process_gone(str(view)) for (view,) in rows):
            return True
        return self._above is not None and self._above.watched(within)
