"""Ask for the reason of a rejection or of a skipped hunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from .proposal_view import ProposalView
    from .reason_line import ReasonInput


class ReasonRequest:
    """Shows the line for a reason while one is asked for, and stores what is typed."""

    def __init__(self, view: ProposalView, line: ReasonInput, panel: Widget, to_message: Callable[[str], None]) -> None:
        """`to_message` moves a text to the message box."""
        self._view, self._line, self._panel, self._to_message = view, line, panel, to_message

    @property
    def is_open(self) -> bool:
        """Whether the line is shown."""
        return self._line.display

    def begin(self) -> None:
        """Ask for the reason of the hunk just skipped, of the current one if it is skipped, or of the whole answer."""
        view = self._view
        pending = view.review.pending
        hunk = view.body.current if view.just_left is None else view.just_left
        is_skipped = view.body.has_choice and not pending.picks.is_taken(hunk)
        pending.ask_for_reason(hunk if is_skipped else None)
        self.sync()

    def sync(self) -> None:
        """Show the line if a reason is asked for, else hide it."""
        pending, held = self._view.review.pending, self._panel.has_focus_within
        if pending.asking and not self.is_open:
            hunk = pending.target
            given = pending.reason if hunk is None else pending.picks.reason(hunk)
            asked = "why is it skipped?" if hunk is not None else "reason?"
            self._line.ask(asked, pending.typed.get(hunk, given))
            if held:
                self._panel.screen.set_focus(self._line)
            self._view.show_words()
        elif not pending.asking and self.is_open:
            self._line.display = False
            if held:
                self._panel.screen.set_focus(self._panel)

    def end_open(self) -> None:
        """Keep what is in the line, if it is shown."""
        if self.is_open:
            self.end(self._line.value.strip(), kept=True)

    def end(self, text: str, *, kept: bool) -> None:
        """Store a reason for the answer; if not `kept`, only for the next time that it is asked for."""
        pending = self._view.review.pending
        hunk = pending.target
        pending.store_reason(text, kept=kept)
        if kept and hunk is not None:
            self._view.body.mark(pending.picks, hunk)
        self._view.skipped(None)
        self.sync()
        self._view.show_words()

    def move_to_message(self) -> None:
        """Move a half-typed reason to the message box, so that no key of it reaches the next proposal."""
        if self.is_open:
            self._line.display = False
            self._to_message(self._line.value)
