"""Edit the new text of a proposal: in its place, or in the user's own editor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App
from textual.widget import Widget

from rundry.agent import RundryError

from ..keys.screen_keymap import keymap_of
from ..keys.user_editor import edit_text
from .edited_text import first_mark
from .follow_file import follow

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened

    from .gate_review import ProposalSource
    from .inline_editor import GateEditor
    from .proposal_view import ProposalView

SURE = "{line_drop} again discards your changes, {steer} keeps them"
GONE = "this proposal was decided meanwhile: your text was copied to the clipboard, if the terminal allows it"


class ProposalEdit:
    """Opens and closes an editor with the new text, and shows the person's version."""

    def __init__(self, view: ProposalView, editor: GateEditor, panel: Widget, source: ProposalSource) -> None:
        self._view, self._editor, self._panel, self._source = view, editor, panel, source

    @property
    def _app(self) -> App[object]:
        return cast("App[object]", self._panel.app)

    def in_user_editor(self, text: str) -> None:
        """Open the text in the user's editor, and show the result, or what went wrong."""
        proposal, edited = self._view.shown.proposal, None
        try:
            name = "plan.txt" if proposal.plan is not None else proposal.path or "text"
            edited = edit_text(self._app, text, Path(name).name)
        except RundryError as error:
            self._view.say(str(error))
        else:
            if edited is None:
                self._view.say("not changed")
        if edited is None:
            self._view.paint_soon()  # keys for the editor must not reach the gate
        else:
            self.show(proposal, edited)

    def in_panel(self, text: str) -> None:
        """Open the editor in the panel with this text."""
        view = self._view
        is_draft = view.review.pending.draft is not None
        path = view.shown.proposal.path or ""
        self._editor.open(path, text, first_mark(text) or view.body.first_line() - 1, is_own=is_draft)
        self._editor.display = True
        view.begin_edit()
        self._panel.screen.set_focus(self._editor)
        view.show_words()

    def keep(self) -> bool:
        """Keep the edited text. Return False if nothing is edited."""
        if self._view.editing is None:
            return False
        self._editor.keep()
        return True

    def warn(self) -> None:
        """Warn that the changes would be lost."""
        self._view.say(keymap_of(self._panel).named(SURE))

    def drop(self) -> None:
        """Close the editor and discard the changes."""
        self._close()

    def finish(self, text: str) -> None:
        """Close the editor, and show the text if its proposal still waits; otherwise copy it to the clipboard."""
        proposal = self._close()
        if proposal is None:
            return
        if any(waiting.proposal_id == proposal.proposal_id for waiting in self._view.review.waiting):
            self.show(proposal, text)
        else:
            self._app.copy_to_clipboard(text)
            self._app.notify(GONE, markup=False)

    def _close(self) -> ProposalOpened | None:
        held = self._panel.has_focus_within
        self._editor.display = False
        proposal = self._view.end_edit()
        if held:
            self._panel.screen.set_focus(self._panel)
        self._view.clear_notice()
        self._view.show_again()
        return proposal

    def show(self, proposal: ProposalOpened, text: str) -> None:
        """Show the person's version of the new text, which `y` then approves."""
        view = self._view
        now, pending = view.review.proposal, view.review.pending
        if now is None or now.proposal_id != proposal.proposal_id:
            return
        pending.replace_text(view.body.line_ends(proposal, text))
        if now != proposal:
            follow(pending, proposal, now, self._source.content)
        view.show_body()
