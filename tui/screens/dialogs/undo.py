"""What is about to be undone, and whether it shall be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import Landed, plural

from ...text import one_line

MOST = 10
"""Changes that are named."""
TITLE = 40
"""Cells of a change's name."""


class UndoScreen(ModalScreen[bool]):
    """Gives whether the person wants it."""

    DEFAULT_CSS = """
    UndoScreen { align: center middle; background: $background 60%; }
    UndoScreen Vertical { width: 72; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    UndoScreen Static { height: auto; }
    """

    def __init__(self, changes: Sequence[Landed], step: int | None) -> None:
        """`changes`: oldest first."""
        super().__init__()
        self._changes, self._step = changes, step
        self._seen_at = float("inf")

    def on_mount(self) -> None:
        """What was typed before this was painted does not answer it."""
        self.call_after_refresh(self._see)

    def _see(self) -> None:
        self._seen_at = Message().time

    def compose(self) -> ComposeResult:
        """The changes, the newest first, and two answers."""
        with Vertical():
            yield Static(Content("\n").join(self._rows()), markup=False)

    def on_key(self, event: events.Key) -> None:
        """`y` does it; Esc and `n` do not."""
        event.stop()
        if event.key == "y" and event.time > self._seen_at:
            self.dismiss(True)
        elif event.key in ("escape", "n", "ctrl+c", "ctrl+q"):
            self.dismiss(False)

    def _rows(self) -> Iterator[Content]:
        files = len({path for landed in self._changes for path in landed.files})
        counts = f"{plural(len(self._changes), 'change')} in {plural(files, 'file')}"
        head = (
            f"Undo {counts}?" if self._step is None else f"Restore the state before step {self._step}: undo {counts}?"
        )
        yield Content.styled(head, "bold $bright")
        yield Content("")
        for landed in [*reversed(self._changes)][:MOST]:
            yield _row(landed)
        if len(self._changes) > MOST:
            yield Content.styled(f"  … and {plural(len(self._changes) - MOST, 'older change')}", "$dim")
        yield Content("")
        left = "Later changes by others are kept."
        if any(landed.command is not None for landed in self._changes):
            left += " Files that git ignores, and files elsewhere, are not restored."
        yield Content.styled(left, "$dim")
        yield Content("")
        for key, about in (("y", "undo"), ("esc", "cancel")):
            yield Content.assemble((key.rjust(5), "bold $needs-you"), "   ", about)


def _row(landed: Landed) -> Content:
    title = one_line(landed.title)
    title = title if len(title) <= TITLE else title[: TITLE - 1] + "…"
    files = "" if landed.command is None else plural(len(landed.files), "file")
    step = "" if landed.step is None else f"step {landed.step}"
    return Content.assemble(f"  {title:<{TITLE}}", (f"{files:>12}{step:>10}", "$dim"))
