"""Ask for the reason of a rejection or of a skipped hunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from .reason_line import ReasonInput

if TYPE_CHECKING:
    from ..keys.letters import LetterKeys
    from .gate_review import Review
    from .proposal_body import ProposalBody


class ReasonRequest:
    """Shows the line for a reason while one is asked for, and stores what is typed."""

    def __init__(self, review: Review, body: ProposalBody, panel: Widget, keyboard: LetterKeys) -> None:
        self._review, self._body, self._panel, self._keyboard = review, body, panel, keyboard
        self.line = ReasonInput()

    @property
    def is_open(self) -> bool:
        """Whether the line is shown."""
        return self.line.display

    def begin(self, just_skipped: int | None) -> None:
        """Ask for the reason of this hunk, of the current one if that is skipped, or of the whole answer."""
        pending = self._review.pending
        hunk = self._body.current if just_skipped is None else just_skipped
        is_skipped = self._body.has_choice and not pending.picks.is_accepted(hunk)
        pending.ask_for_reason(hunk if is_skipped else None)
        self.sync()

    def sync(self) -> None:
        """Show the line if a reason is asked for, else hide it."""
        pending, held = self._review.pending, self._panel.has_focus_within
        if pending.asking and not self.is_open:
            hunk = pending.target
            given = pending.reason if hunk is None else pending.picks.reason(hunk)
            asked = "why is it skipped?" if hunk is not None else "reason?"
            self.line.ask(asked, pending.typed.get(hunk, given))
            if held:
                self._panel.screen.set_focus(self.line)
        elif not pending.asking and self.is_open:
            self.line.display = False
            if held:
                self._panel.screen.set_focus(self._panel)

    def end(self, text: str, *, kept: bool) -> None:
        """Store a reason for the answer; if not `kept`, only for the next time that it is asked for."""
        pending = self._review.pending
        hunk = pending.target
        pending.store_reason(text, kept=kept)
        if kept and hunk is not None:
            self._body.mark(pending.picks, hunk)
        self.sync()

    def move_to_message(self) -> None:
        """Move a half-typed reason to the message box, so that no key of it reaches the next proposal."""
        if self.is_open:
            self.line.display = False
            self._keyboard.write(self.line.value)
