"""The open proposal, and the keys that decide on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import cast

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from rundry.agent import Decide, ProposalOpened

from .decision.arming import HELD_BACK, TYPING, HeldBack
from .decision.editing import first_mark
from .decision.following import Content, follow
from .doing import DOING
from .editor import GateEditor
from .reason import ReasonInput
from .view import GateView

_JUST_NOW = 0.3
"""Seconds after the window got the focus in which a click was meant for the window."""
SURE = "esc again discards your changes, ^s keeps them"
GONE = "this proposal was decided meanwhile: your text was copied to the clipboard, if the terminal allows it"


class GatePanel(GateView, can_focus=True):
    """Docked between the transcript and the message box."""

    class Decided(Message):
        """Posted when the user decided."""

        def __init__(self, command: Decide) -> None:
            super().__init__()
            self.command = command

    class EditAsked(Message):
        """Posted when the user wants to edit this text in their editor."""

        def __init__(self, proposal: ProposalOpened, text: str, *, is_own: bool) -> None:
            super().__init__()
            self.proposal = proposal
            self.text = text
            self.is_own = is_own
            """It is the person's own already, and is kept also as it stands."""

    class Left(Message):
        """The person types a message instead: this is what they typed of it (or a paste)."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, actions: Mapping[str, str], content: Content, on_painted: Callable[[], None]) -> None:
        """`actions` maps a key to what it does at the gate; `content` gives a blob's bytes."""
        super().__init__(content, on_painted)
        self._actions = actions
        self._clicked_from = float("-inf")
        self._held_back: HeldBack | None = None
        self._timer: Timer | None = None
        self._is_writing = False
        """The last keys were a message: the ones behind them are of it too, until the focus came back."""
        self._reason = ReasonInput()
        self._editor = GateEditor()

    def compose(self) -> ComposeResult:
        """Yield the parts from top to bottom."""
        yield self.head
        yield self.body
        yield self._editor
        yield self._reason
        yield self.foot

    def on_mount(self) -> None:
        """A reason and an edit are asked for later."""
        self._reason.display = self._editor.display = False
        self.watch(cast("App[object]", self.app), "app_focus", self._window_focused, init=False)

    @property
    def inner(self) -> Widget:
        """What takes the keys while the gate has the focus: what is typed into, else the gate itself."""
        return self._editor if self._editor.display else self._reason if self._reason.display else self

    @property
    def is_holding_back(self) -> bool:
        """A letter waits for a moment, because it may begin a word."""
        return self._held_back is not None

    def on_descendant_focus(self) -> None:
        """Update the key hints after a change of focus."""
        self.show_words()

    on_descendant_blur = on_blur = on_descendant_focus

    def on_focus(self) -> None:
        """What is pressed from now on is for the gate."""
        self._is_writing = False
        self.show_words()

    # keys

    def focus_on_click(self) -> bool:
        """A click that brings the window to the front does nothing here."""
        return time.monotonic() > self._clicked_from

    def _window_focused(self, focused: bool) -> None:
        if focused:
            self._clicked_from = time.monotonic() + _JUST_NOW

    async def _on_key(self, event: events.Key) -> None:
        if self._is_writing:
            self._write(event)
            return
        if self.screen.focused is not self:
            return
        action, key = self._actions.get(event.key), event.key
        types = event.is_printable and event.character
        if action is None and not self.body.scrolls(key) and not types:
            return
        event.stop()
        event.prevent_default()
        if self._held_back is not None and self._follow_held_back(event):
            return
        is_meant = self.arming.pressed(key, event.time)
        if key == "escape" and self.always_shown:
            self._close_question()
        elif action is not None:
            if is_meant and self.arming.counts(event.time) and not self.review.is_answered:
                self._start(action, key, event.character if types else None)
        elif self.body.scrolls(key):
            self.just_left = None
            self.body.move(key)
        elif types:
            self._is_writing = event.character != "?"
            self.post_message(self.Left(event.character or ""))

    def _start(self, action: str, key: str, letter: str | None) -> None:
        """Do what a key says; a letter that changes something waits for a moment, because it may begin a word."""
        painted = self.arming.painted
        if letter is None or action not in HELD_BACK or painted is None:
            self._do(action)
            return
        self._held_back = HeldBack(action, key, letter, (painted.proposal_id, painted.digest))
        self._timer = self.set_timer(TYPING, self._do_held_back)

    def _do_held_back(self) -> None:
        held, self._held_back = self._held_back, None
        now = self.arming.painted
        if held is not None and now is not None and (now.proposal_id, now.digest) == held.seen:
            self._do(held.action)

    def _follow_held_back(self, event: events.Key) -> bool:
        """Decide what the letter before was, by the key that follows at typing speed; true: this key was part of it."""
        held = self._held_back
        assert held is not None and self._timer is not None
        self._timer.stop()
        if event.key in (held.key, "enter"):
            self.arming.pressed(event.key, event.time)
            self._do_held_back()
            return True
        if event.is_printable and event.character:
            self._held_back, self._is_writing = None, True
            self.post_message(self.Left(held.text + event.character))
            return True
        if event.key == "escape":
            self._held_back = None
            return True
        self._do_held_back()
        return False

    def _close_question(self) -> None:
        """Close the question without a decision."""
        self.always_shown = False
        self.hush()
        self.show_words()

    def _write(self, event: events.Key) -> None:
        # keys that came in one go, before the focus had moved
        event.stop()
        event.prevent_default()
        if event.is_printable and event.character:
            self.post_message(self.Left(event.character))

    def _do(self, action: str) -> None:
        if self._reason.display:  # the person left the line by a click: what it says goes along
            self._end_reason(self._reason.value.strip(), kept=True)
        if action != "always":
            self.always_shown = False
            self.hush()
        if action not in ("pick", "reason"):
            self.just_left = None
        DOING[action](self)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Left(event.text))

    def go(self, by: int) -> None:
        """Look at another proposal that waits."""
        self.review.go(by)
        self.show_current()

    # the answer

    def decide(self, answer: Callable[[str], Decide | str]) -> None:
        """Send what `answer` makes of the digest that was painted; a text says why there is no answer."""
        painted = self.arming.painted
        if painted is None or self.review.is_answered:
            return
        command = answer(painted.digest)
        if isinstance(command, str):
            self.say(command)
            return
        self.arming.decided()
        self.review.answer(command)
        self.post_message(self.Decided(command))
        self.show_current()

    def always(self) -> None:
        """Show the rule first, then write it."""
        proposal, reason = self.shown.proposal, self.review.thoughts.reason or None
        if self.always_shown:
            name = proposal.proposal_id
            self.decide(
                lambda digest: Decide(proposal_id=name, digest=digest, verdict="approve", always=True, reason=reason)
            )
        else:
            self.always_shown = True
            self.say(f"always would write: {proposal.rule}")

    def sent(self, command: Decide, command_id: int | None) -> None:
        """The decision was put into the inbox under this id; None: the run is resumed with it."""
        self.review.sent(command.proposal_id, command_id)

    def not_sent(self, command: Decide, why: str) -> None:
        """It could not be put there: the proposal is open as before."""
        self.review.take_back(command.proposal_id)
        self.say(why)

    # a reason

    def sync_reason(self) -> None:
        """The line for a reason is there while one is asked for."""
        thoughts, held = self.review.thoughts, self.has_focus_within
        if thoughts.asking and not self._reason.display:
            hunk = thoughts.target
            given = thoughts.reason if hunk is None else thoughts.picks.reason(hunk)
            asked = "why is it skipped?" if hunk is not None else "reason?"
            self._reason.ask(asked, thoughts.typed.get(hunk, given))
            if held:
                self.screen.set_focus(self._reason)
            self.show_words()
        elif not thoughts.asking and self._reason.display:
            self._reason.display = False
            if held:
                self.screen.set_focus(self)

    def on_reason_input_given(self, message: ReasonInput.Given) -> None:
        """Kept for the answer, or for the next time that it is asked for."""
        message.stop()
        if not message.kept:
            self.arming.left("escape", message.time)
        self._end_reason(message.text, kept=message.kept)

    def _end_reason(self, text: str, *, kept: bool) -> None:
        thoughts = self.review.thoughts
        hunk = thoughts.target
        if not kept:
            thoughts.typed[hunk] = text
        else:
            thoughts.typed.pop(hunk, None)
            if hunk is None:
                thoughts.reason = text
            else:
                thoughts.picks.give_reason(hunk, text)
                self.body.mark(thoughts.picks, hunk)
        thoughts.asking, thoughts.target = False, None
        self.just_left = None
        self.sync_reason()
        self.show_words()

    def left_behind(self) -> None:
        """Move a half-typed reason to the message box, so that no key of it reaches the new proposal."""
        if self._reason.display:
            self._reason.display = False
            self.post_message(self.Left(self._reason.value))

    # an edit

    def edit_here(self, text: str) -> None:
        """Edit this text in the proposal's place."""
        proposal = self.shown.proposal
        self.editing = proposal
        self.add_class("-editing")
        is_draft = self.review.thoughts.draft is not None
        self._editor.open(proposal.path or "", text, first_mark(text) or self.body.first_line() - 1, is_own=is_draft)
        self._editor.display = True
        self.arming.blank()
        self.fit()
        self.screen.set_focus(self._editor)
        self.show_words()

    def keep_edit(self) -> bool:
        """Keep what is edited in the proposal's place; false where nothing is."""
        if self.editing is None:
            return False
        self._editor.keep()
        return True

    def on_gate_editor_asked(self, message: GateEditor.Asked) -> None:
        """Ask before a change is discarded."""
        message.stop()
        self.say(SURE)

    def on_gate_editor_dropped(self, message: GateEditor.Dropped) -> None:
        """Close the editor and discard the changes."""
        message.stop()
        self.arming.left("escape", message.time)
        self._close_editor()

    def on_gate_editor_kept(self, message: GateEditor.Kept) -> None:
        """The person's version, if its proposal still waits."""
        message.stop()
        proposal = self._close_editor()
        if proposal is None:
            return
        if any(waiting.proposal_id == proposal.proposal_id for waiting in self.review.waiting):
            self.show_edited(proposal, message.text)
        else:
            app = cast("App[object]", self.app)
            app.copy_to_clipboard(message.text)
            app.notify(GONE, markup=False)

    def _close_editor(self) -> ProposalOpened | None:
        proposal, self.editing = self.editing, None
        held = self.has_focus_within
        self._editor.display = False
        self.remove_class("-editing")
        if held:
            self.screen.set_focus(self)
        self.hush()
        self.show_again()
        return proposal

    def show_edited(self, proposal: ProposalOpened, text: str) -> None:
        """The person's own version of the new text stands there, and is what `y` approves."""
        now = self.review.proposal
        if now is None or now.proposal_id != proposal.proposal_id:
            return
        thoughts = self.review.thoughts
        thoughts.picks.take_all()
        thoughts.edited, thoughts.draft = self.body.line_ends(proposal, text), None
        if now != proposal:
            follow(thoughts, proposal, now, self.content)
        self.show_body()
