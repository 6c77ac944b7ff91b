"""The gate panel: the open proposal, and the keys that decide on it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from ..control.run_link import READ_ONLY
from ..keys.clicks import clicked_action
from ..keys.letters import Left, LetterKeys
from ..keys.lookup import READ_ONLY_ACTIONS
from .edit_proposal import ProposalEdit
from .gate_actions import ASKS_FIRST, GateActions
from .gate_arming import HELD_BACK
from .inline_editor import GateEditor
from .proposal_view import ProposalView

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened

    from ..diff.diff_layout import HunkClicked, HunkMoved
    from .entry_list import EntriesPane
    from .gate_review import ProposalSource, Waiting
    from .proposal_body import ProposalBody
    from .proposal_view import GateScreen
    from .reason_line import ReasonInput

_JUST_NOW = 0.3
"""Seconds after the window got the focus in which a click only selects the window."""


class GatePanel(Vertical, can_focus=True):
    """Docked between the transcript and the message box. Its parts show, decide, ask for reasons and edit."""

    DEFAULT_CSS = """
    GatePanel {
        height: auto; display: none; padding: 0 1 0 0; border-left: outer $dim;
        &.-whole { height: 1fr; }
        &:focus, &:focus-within { border-left: outer $needs-you; }
        &.-editing ProposalBody { display: none; }
        &.-airy GateHead, &.-airy ProposalBody, &.-airy GateEditor { margin: 0 0 1 0; }
    }
    """

    class Acted(Message):
        """Posted when a key or a click of the gate was carried out."""

    class WentBack(Message):
        """Posted when the person went one step back at the gate, which decides nothing and leads nowhere else."""

    def __init__(self, actions: Mapping[str, str], source: ProposalSource, screen: GateScreen) -> None:
        """`actions` maps a key to the name of its action."""
        super().__init__(id="gate")
        self._clicked_from = float("-inf")
        self._editor = GateEditor()
        self._keyboard = _GateKeyboard(self, actions)
        self.view = ProposalView(self, source, screen, self._keyboard)
        self.arming, self.review, self.body = self.view.arming, self.view.review, self.view.body
        self.edit = ProposalEdit(self.view, self._editor, self, source)
        self._actions = GateActions(self.view, self.edit, source).table()

    def compose(self) -> ComposeResult:
        """Yield the parts from top to bottom."""
        yield self.view.head
        yield self.body
        yield self._editor
        yield self.view.reason.line
        yield self.view.foot

    def only_shows(self) -> None:
        """Leave out what decides or edits: the view is read-only."""
        self.view.foot.is_read_only = self.view.head.is_read_only = True
        self._actions = {
            name: act if name in READ_ONLY_ACTIONS else lambda: self.say(READ_ONLY)
            for name, act in self._actions.items()
        }

    def on_mount(self) -> None:
        """Hide the parts that are shown on request, and follow the focus of the window."""
        self.view.reason.line.display = self._editor.display = False
        self.watch(cast("App[object]", self.app), "app_focus", self._window_focused, init=False)

    @property
    def inner(self) -> Widget:
        """The part that receives the keys of the gate: the editor, the line for a reason, or the panel itself."""
        return self._editor if self._editor.display else self.view.reason.line if self.view.reason.is_open else self

    @property
    def is_holding_back(self) -> bool:
        """Whether a letter waits because it may begin a word."""
        return self._keyboard.is_holding_back

    def is_stray(self, text: str) -> bool:
        """Return whether a text is only a key of the gate that was pressed before a proposal was there, or blank."""
        return self._keyboard.is_stray(text)

    @property
    def takes_all(self) -> bool:
        """Whether the gate takes the whole height."""
        return self.view.takes_all

    @property
    def editing(self) -> ProposalOpened | None:
        """The proposal that is edited in the panel."""
        return self.view.editing

    def show(self, state: Waiting) -> None:
        """Show one of the waiting proposals, and redraw it if it changed or the screen has another size."""
        self.view.show(state)
        self.view.fit()

    def say(self, text: str) -> None:
        """Show a notice above the keys."""
        self.view.say(text)

    def make_room(self) -> None:
        """Leave the whole height, so that the transcript is visible."""
        self.view.make_room()

    def go_back(self) -> None:
        """Close what is open; with nothing open, move to the message box, which keeps the focus until a key of it."""
        self.post_message(self.WentBack())
        if self._editor.display:
            self._editor.go_back()
        elif self.view.reason.is_open:
            self.view.reason.line.go_back()
        elif not self.view.step_back():
            self.arming.step_away()
            self.post_message(Left())

    def paint_soon(self) -> None:
        """Let keys count after the next paint."""
        self.view.paint_soon()

    def keep_edit(self) -> bool:
        """Keep the text edited in the panel. Return False if none is edited."""
        return self.edit.keep()

    def on_descendant_focus(self) -> None:
        """Update the key hints after a change of focus."""
        self.view.show_words()

    on_descendant_blur = on_blur = on_descendant_focus

    def on_focus(self) -> None:
        """Take the next keys as keys of the gate."""
        self._keyboard.focused()
        self.view.show_words()

    def focus_on_click(self) -> bool:
        """Ignore a click that brings the window to the front."""
        return time.monotonic() > self._clicked_from

    def _window_focused(self, focused: bool) -> None:
        if focused:
            self._clicked_from = time.monotonic() + _JUST_NOW

    async def _on_key(self, event: events.Key) -> None:
        self._keyboard.press(event)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._keyboard.write(event.text)

    def do(self, action: str) -> None:
        """Carry out an action of the gate."""
        if action == "gate_back":
            self.go_back()
            return
        if self.view.reason.is_open:  # after a click outside of the line, its text is the reason
            self.view.end_reason(self.view.reason.line.value.strip(), kept=True)
        if action not in ASKS_FIRST:
            self.view.cancel_question()
        if action not in ("pick", "reason"):
            self.view.skipped(None)
        self.post_message(self.Acted())
        self._actions[action]()

    def on_proposal_body_ready(self, event: ProposalBody.Ready) -> None:
        """Take over the hunks of the proposal."""
        event.stop()
        self.view.body_is_ready()

    def on_proposal_body_scrolled(self, event: ProposalBody.Scrolled) -> None:
        """Check whether the end of the proposal is visible."""
        event.stop()
        self.view.look_for_end()

    def on_hunk_moved(self, event: HunkMoved) -> None:
        """Update the key hints for the new current hunk."""
        event.stop()
        self.view.show_words()

    def on_hunk_clicked(self, event: HunkClicked) -> None:
        """Accept or skip the hunk whose name was clicked; anywhere else in a hunk, make it the current one."""
        event.stop()
        self.body.diff.make_current(event.hunk)
        if event.is_title and self.body.has_choice:
            self._keyboard.click("pick", event.time)

    def on_entries_pane_clicked(self, event: EntriesPane.Clicked) -> None:
        """Accept or skip the entry whose mark was clicked; open the row that had the cursor."""
        event.stop()
        if event.is_mark:
            self._keyboard.click("pick", event.time)
        elif event.is_current:
            self._keyboard.click("open_entry", event.time)
        self.view.show_words()

    def on_click(self, event: events.Click) -> None:
        """Carry out the clicked action of the gate, unless the click brought the window to the front."""
        name = clicked_action(event)
        if name in self._actions:
            event.stop()
            if self.focus_on_click():
                self._keyboard.click(name, event.time)

    def on_resize(self) -> None:
        """Arrange the lines for the new size."""
        self.view.resized()

    def on_reason_input_given(self, message: ReasonInput.Given) -> None:
        """Store a reason for the answer, or for the next time that it is asked for."""
        message.stop()
        if not message.kept:
            self.post_message(self.WentBack())
        self.view.end_reason(message.text, kept=message.kept)

    def on_gate_editor_asked(self, message: GateEditor.Asked) -> None:
        """Warn before changes are discarded."""
        message.stop()
        self.post_message(self.WentBack())
        self.edit.warn()

    def on_gate_editor_dropped(self, message: GateEditor.Dropped) -> None:
        """Close the editor and discard the changes."""
        message.stop()
        self.post_message(self.WentBack())
        self.edit.drop()

    def on_gate_editor_kept(self, message: GateEditor.Kept) -> None:
        """Close the editor and show the person's version, if its proposal still waits."""
        message.stop()
        self.edit.finish(message.text)


class _GateKeyboard(LetterKeys):
    """Handles the keys of the panel. A letter waits briefly, because it may begin a word."""

    def __init__(self, panel: GatePanel, actions: Mapping[str, str]) -> None:
        """`actions` maps a key to the name of its action."""
        super().__init__(panel)
        self._panel, self._actions = panel, actions
        self._seen = ("", "")
        """The proposal and the digest that were painted when the letter was pressed: only that can be decided by it."""

    def is_stray(self, text: str) -> bool:
        """Return whether a text is only one key of the gate, pressed before a proposal was there; or blank."""
        letters = set(text.strip())
        return not letters or (len(letters) == 1 and letters.pop() in self._actions)

    def press(self, event: events.Key) -> None:
        """Handle a key."""
        view, action, key = self._panel.view, self._actions.get(event.key), event.key
        types = event.is_printable and event.character
        held = self.held_key
        if key == held and view.arming.repeats(key, event.time):
            self.drop()
            event.stop()
            event.prevent_default()
            return
        if held is not None and key in (held, "enter"):
            view.arming.pressed(key, event.time)
        if self.follow(event):
            return
        if self._panel.screen.focused is not self._panel:
            return
        if action is None and not view.body.scrolls(key) and not types:
            return
        event.stop()
        event.prevent_default()
        is_meant = view.arming.pressed(key, event.time)
        if action == "gate_back":
            self._panel.do(action)
        elif action is not None:
            if is_meant and view.arming.counts(event.time) and not view.review.is_answered:
                self._start(action, event)
        elif view.body.scrolls(key):
            view.skipped(None)
            view.body.press(key)
        elif event.character:
            self.leave(event.character)

    def click(self, action: str, at: float) -> None:
        """Carry out an action that was clicked; a second click in haste does nothing."""
        view = self._panel.view
        if view.arming.pressed("click", at) and view.arming.counts(at) and not view.review.is_answered:
            self._panel.focus()
            self._panel.do(action)

    def _start(self, action: str, event: events.Key) -> None:
        painted = self._panel.view.arming.painted
        letter = event.character if event.is_printable else None
        is_word = letter is not None and (letter.isalpha() or action in HELD_BACK)
        if painted is None or not is_word:
            self._panel.do(action)
            return
        self._seen = (painted.proposal_id, painted.digest)
        self.hold(action, event)

    def carry_out(self, action: str, at: float) -> None:
        """Carry out the action, if what is painted is still what the letter was pressed at."""
        now = self._panel.view.arming.painted
        if now is not None and (now.proposal_id, now.digest) == self._seen:
            self._panel.do(action)
