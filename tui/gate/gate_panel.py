"""The gate panel: the open proposal, and the keys that decide on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from ..control.run_link import READ_ONLY
from ..keys.clicks import clicked_action
from ..keys.letters import FirstLetter, Left, LetterKeys
from ..keys.lookup import READ_ONLY_ACTIONS
from .ask_reason import ReasonRequest
from .edit_in_place import InPlaceEdit
from .gate_actions import ASKS_FIRST, Answers, GateActions
from .gate_arming import HELD_BACK
from .inline_editor import GateEditor
from .proposal_view import ProposalView
from .reason_line import ReasonInput

if TYPE_CHECKING:
    from rundry.agent import Decide, ProposalOpened

    from ..diff.diff_layout import HunkClicked, HunkMoved
    from .entry_list import EntriesPane
    from .follow_file import Content
    from .gate_review import Waiting
    from .proposal_body import ProposalBody

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

    class EditAsked(Message):
        """Posted when the user wants to edit this text in their editor."""

        def __init__(self, proposal: ProposalOpened, text: str, *, is_own: bool) -> None:
            super().__init__()
            self.proposal = proposal
            self.text = text
            self.is_own = is_own
            """The text is the user's own already, and is kept even if it is unchanged."""

    class Acted(Message):
        """Posted when a key or a click of the gate was carried out."""

    class WentBack(Message):
        """Posted when the user went one step back at the gate, which decides nothing and leads nowhere else."""

    def __init__(
        self,
        actions: Mapping[str, str],
        content: Content,
        on_painted: Callable[[], None],
        decide: Callable[[Decide], int | None],
    ) -> None:
        """`actions` maps a key to the name of its action; `content` returns the bytes of a blob. `decide` puts a
        decision into the inbox and returns its id; None: the run is resumed with it.
        """
        super().__init__(id="gate")
        self._clicked_from = float("-inf")
        self._reason_line = ReasonInput()
        self._editor = GateEditor()
        self._view = ProposalView(
            self,
            content,
            on_painted,
            sync_reason=lambda: self._reason.sync(),
            on_other=lambda: self._reason.move_to_message(),
        )
        self.arming, self.review, self.body = self._view.arming, self._view.review, self._view.body
        self._keyboard = _GateKeyboard(self._view, self, actions, do=self._do)
        self._reason = ReasonRequest(self._view, self._reason_line, self, self._keyboard.write)
        self._edit = InPlaceEdit(self._view, self._editor, self)
        answers = Answers(self._view, decide)
        self._actions = GateActions(self._view, answers, self._reason, self._edit, self._ask_for_edit).table()

    def compose(self) -> ComposeResult:
        """Yield the parts from top to bottom."""
        yield self._view.head
        yield self.body
        yield self._editor
        yield self._reason_line
        yield self._view.foot

    def only_shows(self) -> None:
        """Leave out what decides or edits: the view is read-only."""
        self._view.foot.is_read_only = self._view.head.is_read_only = True
        self._actions = {
            name: act if name in READ_ONLY_ACTIONS else lambda: self.say(READ_ONLY)
            for name, act in self._actions.items()
        }

    def on_mount(self) -> None:
        """Hide the parts that are shown on request, and follow the focus of the window."""
        self._reason_line.display = self._editor.display = False
        self.watch(cast("App[object]", self.app), "app_focus", self._window_focused, init=False)

    @property
    def inner(self) -> Widget:
        """The part that receives the keys of the gate: the editor, the line for a reason, or the panel itself."""
        return self._editor if self._editor.display else self._reason_line if self._reason.is_open else self

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
        return self._view.takes_all

    @property
    def editing(self) -> ProposalOpened | None:
        """The proposal that is edited in the panel."""
        return self._view.editing

    # what the main screen calls

    def show(self, state: Waiting) -> None:
        """Show one of the waiting proposals, and redraw it if it changed or the screen has another size."""
        self._view.show(state)
        self._view.fit()

    def say(self, text: str) -> None:
        """Show a notice above the keys."""
        self._view.say(text)

    def make_room(self) -> None:
        """Leave the whole height, so that the transcript is visible."""
        self._view.make_room()

    def go_back(self) -> None:
        """Close what is open; with nothing open, move to the message box, which keeps the focus until a key of it."""
        self.post_message(self.WentBack())
        if self._editor.display:
            self._editor.go_back()
        elif self._reason.is_open:
            self._reason_line.go_back()
        elif not self._view.step_back():
            self.arming.step_away()
            self.post_message(Left())

    def paint_soon(self) -> None:
        """Let keys count after the next paint."""
        self._view.paint_soon()

    def keep_edit(self) -> bool:
        """Keep the text edited in the panel. Return False if none is edited."""
        return self._edit.keep()

    def show_edited(self, proposal: ProposalOpened, text: str) -> None:
        """Show the person's version of the new text, which `y` then approves."""
        self._edit.show(proposal, text)

    # focus and keys

    def on_descendant_focus(self) -> None:
        """Update the key hints after a change of focus."""
        self._view.show_words()

    on_descendant_blur = on_blur = on_descendant_focus

    def on_focus(self) -> None:
        """Take the next keys as keys of the gate."""
        self._keyboard.focused()
        self._view.show_words()

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

    def _do(self, action: str) -> None:
        if action == "gate_back":
            self.go_back()
            return
        self._reason.end_open()  # after a click outside of the line, its text is the reason
        if action not in ASKS_FIRST:
            self._view.cancel_question()
        if action not in ("pick", "reason"):
            self._view.skipped(None)
        self.post_message(self.Acted())
        self._actions[action]()

    def _ask_for_edit(self, proposal: ProposalOpened, text: str, is_own: bool) -> None:
        self.post_message(self.EditAsked(proposal, text, is_own=is_own))

    # messages of the parts

    def on_proposal_body_ready(self, event: ProposalBody.Ready) -> None:
        """Take over the hunks of the proposal."""
        event.stop()
        self._view.body_is_ready()

    def on_proposal_body_scrolled(self, event: ProposalBody.Scrolled) -> None:
        """Check whether the end of the proposal is visible."""
        event.stop()
        self._view.look_for_end()

    def on_hunk_moved(self, event: HunkMoved) -> None:
        """Update the key hints for the new current hunk."""
        event.stop()
        self._view.show_words()

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
        self._view.show_words()

    def on_click(self, event: events.Click) -> None:
        """Carry out the clicked action of the gate, unless the click brought the window to the front."""
        name = clicked_action(event)
        if name in self._actions:
            event.stop()
            if self.focus_on_click():
                self._keyboard.click(name, event.time)

    def on_resize(self) -> None:
        """Arrange the lines for the new size."""
        self._view.resized()

    def on_reason_input_given(self, message: ReasonInput.Given) -> None:
        """Store a reason for the answer, or for the next time that it is asked for."""
        message.stop()
        if not message.kept:
            self.post_message(self.WentBack())
        self._reason.end(message.text, kept=message.kept)

    def on_gate_editor_asked(self, message: GateEditor.Asked) -> None:
        """Warn before changes are discarded."""
        message.stop()
        self.post_message(self.WentBack())
        self._edit.warn()

    def on_gate_editor_dropped(self, message: GateEditor.Dropped) -> None:
        """Close the editor and discard the changes."""
        message.stop()
        self.post_message(self.WentBack())
        self._edit.drop()

    def on_gate_editor_kept(self, message: GateEditor.Kept) -> None:
        """Close the editor and show the user's version, if its proposal still waits."""
        message.stop()
        self._edit.finish(message.text)


class _GateKeyboard(LetterKeys):
    """Handles the keys of the panel. A letter waits briefly, because it may begin a word."""

    def __init__(
        self, view: ProposalView, panel: Widget, actions: Mapping[str, str], *, do: Callable[[str], None]
    ) -> None:
        """`actions` maps a key to the name of its action."""
        self._view, self._panel, self._actions, self._do = view, panel, actions, do
        super().__init__(FirstLetter(panel, self._do_held_back))
        self._seen = ("", "")
        """The proposal and the digest that were painted when the letter was pressed: only that can be decided by it."""

    def is_stray(self, text: str) -> bool:
        """Return whether a text is only one key of the gate, pressed before a proposal was there; or blank."""
        letters = set(text.strip())
        return not letters or (len(letters) == 1 and letters.pop() in self._actions)

    def write(self, text: str) -> None:
        """Move a text to the message box, and with it the keys that follow."""
        self._letter.write(text)

    def press(self, event: events.Key) -> None:
        """Handle a key."""
        view, action, key = self._view, self._actions.get(event.key), event.key
        types = event.is_printable and event.character
        held = self._letter.held_key
        if key == held and view.arming.repeats(key, event.time):
            self._letter.drop()
            event.stop()
            event.prevent_default()
            return
        if held is not None and key in (held, "enter"):
            view.arming.pressed(key, event.time)
        if self._letter.follow(event):
            return
        if self._panel.screen.focused is not self._panel:
            return
        if action is None and not view.body.scrolls(key) and not types:
            return
        event.stop()
        event.prevent_default()
        is_meant = view.arming.pressed(key, event.time)
        if action == "gate_back":
            self._do(action)
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
        view = self._view
        if view.arming.pressed("click", at) and view.arming.counts(at) and not view.review.is_answered:
            self._panel.focus()
            self._do(action)

    def _start(self, action: str, event: events.Key) -> None:
        painted = self._view.arming.painted
        letter = event.character if event.is_printable else None
        is_word = letter is not None and (letter.isalpha() or action in HELD_BACK)
        if painted is None or not is_word:
            self._do(action)
            return
        self._seen = (painted.proposal_id, painted.digest)
        self._letter.hold(action, event)

    def _do_held_back(self, action: str, _at: float) -> None:
        now = self._view.arming.painted
        if now is not None and (now.proposal_id, now.digest) == self._seen:
            self._do(action)
