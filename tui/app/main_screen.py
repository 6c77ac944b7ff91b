"""The main screen: header, transcript or board, gate, message box and footer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from rundry.agent import Interrupt, Refusal, RundryError, StopHow, Unreachable

from ..board.board_panel import BoardPanel
from ..control.run_follower import RunFollower
from ..control.services import Host, Services
from ..gate.gate_panel import GatePanel
from ..gate.model_words import ModelWords
from ..gate.proposal_head import ROOMY
from ..head.header import HeaderLine, MeterLine
from ..head.progress_line import ProgressLine
from ..keys.bindings import bindings
from ..keys.clicks import clicked_action, press_clicked_key
from ..keys.keymap import Keymap
from ..keys.lookup import BY_NAME, actions_of, keys_of, shown_key
from ..message.message_row import MessageRow
from ..pages.leave_page import LeaveScreen
from ..pages.welcome import Welcome
from ..transcript.transcript import Transcript
from .dead_runner import GoneNotice
from .dispatch import Dispatcher
from .end_panel import EndPanel
from .footer import Footer
from .handlers.all_handlers import Handlers
from .handlers.view_handlers import CONTINUES, search_progress
from .leave_screen import Leaving
from .message_and_notice import Prompt
from .middle_areas import Areas
from .notice import Notice
from .placeholder import placeholder

if TYPE_CHECKING:
    from ..board.board import BoardActed
    from ..control.run_controller import RunController
    from ..keys.letters import Left
    from ..message.message_box import MessageBox

_IGNORED_SECONDS = 0.3
"""Time after the gate closed in which a second `y` is still meant for it."""


def _main_bindings() -> list[BindingType]:
    """Return a binding for each action of the main screen, also for those that have a key only in the user's config."""
    everywhere = {action.name: f"do('{action.name}')" for action in actions_of("main") if action.name != "interrupt"}
    # escape goes to whatever is open first; all other keys work wherever the focus is
    return [
        *bindings("main", {"interrupt": "back"}, priority=False),
        *bindings("main", everywhere),
        *bindings("message", {"steer": "do('steer')"}),
    ]


class MainScreen(Screen[None]):
    """A view of one run, or of the draft of one."""

    BINDINGS: ClassVar[list[BindingType]] = _main_bindings()
    CSS_PATH = "main.tcss"

    def __init__(self, controller: RunController, remaps: Mapping[str, str], host: Host) -> None:
        super().__init__()
        self.controller, acts = controller, not controller.is_read_only
        self._keymap, self._host, keymap = dict(remaps), host, Keymap(remaps)
        self.transcript = Transcript(keys=keys_of("transcript", remaps))
        self.search = BoardPanel(keys_of("board", remaps), acts=acts)
        self.welcome = Welcome(controller)
        self.gate = GatePanel(keys_of("gate", remaps), controller, self)
        self.message = MessageRow(controller, keys_of("message", remaps))
        self._words = ModelWords()
        self._header, self._meters, self._gone = HeaderLine(), MeterLine(), GoneNotice()
        self._progress, self._footer = ProgressLine(self._keymap if acts else None), Footer(self._keymap)
        self._ended = EndPanel(controller, self._keymap)
        self._notice = Notice()
        self._follower = RunFollower(controller, self, self.transcript)
        self.prompt = Prompt(self.message.box, self._notice, self._follower, keymap)
        self._services = Services(self, controller)
        self._areas = Areas(
            controller,
            self,
            transcript=self.transcript,
            search=self.search,
            gate=self.gate,
            box=self.message.box,
        )
        self._leaving = Leaving(controller, self, keymap.shown("copy_or_leave"))
        self.handlers = Handlers(
            controller, self.prompt, self._services, self._areas, host, self._leaving, self.welcome, self._keymap
        )
        self._dispatcher = Dispatcher(controller, self.prompt, self.handlers)

    # what the follower of the run and the keys that leave call

    def tell(self, text: str) -> None:
        """Show a notice to the person."""
        self.prompt.tell(text)

    @property
    def is_impatient(self) -> bool:
        """Whether the gate is about to take the focus."""
        return self.gate.display and self.gate.arming.is_in_grace(Message().time)

    @property
    def has_notice(self) -> bool:
        """Whether a notice is shown, which ends after some seconds."""
        return self._footer.has_notice

    def looked(self) -> None:
        """Leave if the run that was asked to wrap up has ended, or another one carries out its plan."""
        self._leaving.go_once_over()
        if following := self.controller.opens_next:
            self._host.leave_for(following)

    def leave(self, stop: StopHow | None) -> None:
        """Close the view; `stop` says how the run is stopped, if at all."""
        self._host.leave(stop)

    def ask_how_to_leave(self) -> None:
        """Ask what happens to the run."""
        self._services.open(LeaveScreen(), self._leaving.answered)

    def compose(self) -> ComposeResult:
        """Yield the widgets of the screen, from top to bottom."""
        yield self._header
        yield self._meters
        yield self.welcome
        yield self.transcript
        yield self.search
        yield self._words
        yield self.gate
        yield self._gone
        yield self._ended
        yield self._progress
        yield self.message
        yield self._footer

    def on_mount(self) -> None:
        """Begin to follow the run."""
        if self.controller.is_read_only:
            self.gate.only_shows()
        self.set_focus(self.message.box)
        self.refresh_view()
        app = cast("App[object]", self.app)
        self.run_worker(self._follower.follow(lambda: not (app.is_running and self.gate.is_attached)), name="follow")
        if self.controller.reviews:
            self.call_after_refresh(self.action_do, "apply")

    def refresh_view(self) -> None:
        """Update every widget to the state; each redraws only what changed."""
        state = self.controller.state
        self._host.notify_user(self.controller.status.phase)
        self._show_head()
        count = len(state.blocks)
        if (first := state.take_changes()) < count:
            self.transcript.show(state.blocks, first)
        if self.controller.status.waits_at_gate:
            self.gate.review.take_back_unsent()
        self.gate.show(state)
        self.welcome.show(wanted=count == 0)
        is_board = self._areas.shows_board
        self.transcript.display = count > 0 and not is_board and not self.gate.takes_all
        self._words.show(state, self.gate.view.proposal if self.gate.takes_all else None)
        self.set_class(self._words.display and self.size.height < ROOMY, "-tight-words")
        self._notice.forget(state.refused, state.taken)
        self._show_board(is_visible=is_board and not self.gate.takes_all)
        self._update_focus()
        self._show_message()
        self.on_descendant_focus()

    def _show_board(self, *, is_visible: bool) -> None:
        """Show or hide the board of a search, and report what the runner refused of it since."""
        state, journal = self.controller.state, self.controller.link.journal
        appears = is_visible and not self.search.display
        self.search.display = is_visible
        if is_visible:
            is_over = self.controller.status.is_at_rest
            self.search.board.show(state, journal, time.time(), is_over=is_over, at_once=appears)
        for why in self.search.refusals(state):
            self.prompt.tell(f"refused: {why}")

    def _show_head(self) -> None:
        """Show what runs and what is left."""
        state, status = self.controller.state, self.controller.status
        self._header.show(state, status.phase)
        self._meters.display = self.controller.begun
        self._meters.show(state, state.last_at if status.is_at_rest else time.time())
        self._progress.show(state, time.time(), self.size.width)

    def _show_message(self) -> None:
        """Show what the message box is for, and above it how the run ended or that its runner is lost."""
        state, status = self.controller.state, self.controller.status
        key = "" if self.controller.is_read_only else shown_key(self._keymap.get("pause", BY_NAME["pause"].keys))
        self._gone.show(state, is_gone=status.is_gone, key=key)
        box = self.message.box
        self._ended.show(may_focus=not box.text and self.focused in (None, box))
        self.message.show(
            state,
            placeholder(self.controller, Keymap(self._keymap)),
            time.time(),
            at_rest=status.is_at_rest,
            offers_choices=self.welcome.offers_choices,
        )

    def _update_focus(self) -> None:
        """Focus the gate or the message box, unless the person focused another widget."""
        gate, box = self.gate, self.message.box
        if gate.display:
            gate.arming.keyed_now_empty(gate.is_stray(box.text))
            if self.focused is None and gate.inner is not gate:
                self.set_focus(gate.inner)
            elif self.focused in (box, None) and gate.arming.may_focus(Message().time):
                self.set_focus(gate.inner)
                gate.arming.focused()
        elif self.focused is None or gate.has_focus_within:
            if gate.has_focus_within:
                box.ignore_keys_until(Message().time + _IGNORED_SECONDS)
            self.set_focus(box)

    def on_descendant_focus(self) -> None:
        """Show the keys of the part that has the focus now."""
        notice, is_board = self._notice.text, self._areas.shows_board
        self._footer.show(self.controller, self._areas.focused, notice=notice, is_board=is_board)

    on_descendant_blur = on_descendant_focus

    def touched(self) -> None:
        """Record that the person pressed a key, clicked or resized the window."""
        self._follower.touch()
        self.transcript.let_key_first()

    def on_gate_panel_acted(self) -> None:
        """Remove a key from the message box that was pressed before the proposal was there."""
        if self.gate.is_stray(self.message.box.text):
            self.message.box.text = ""

    def on_gate_panel_went_back(self) -> None:
        """Remove a notice about a key to press again: a step back at the gate never counts as the first press."""
        self.prompt.tell("")

    def proposal_painted(self) -> None:
        """Focus the gate, if it may take the focus now."""
        self._update_focus()
        if self.is_impatient:
            self._follower.draw_soon()  # else the gate gets the focus at the next redraw, which may be far

    def action_back(self) -> None:
        """Handle Esc outside of the gate: go back to the message box; there, interrupt what runs.

        While a decision or an answer of the person is awaited, it does nothing there but say so.
        """
        if self._areas.step_back():
            self.prompt.tell("")
            return
        returns_to_parent = self.controller.came_from_parent and not self.message.box.text
        if (self.gate.display or self.controller.state.question is not None) and not returns_to_parent:
            self._tell_what_waits()
        else:
            self.action_do("interrupt")

    def _tell_what_waits(self) -> None:
        here = "a proposal waits: {to_gate} returns to it" if self.gate.display else "the model waits for your answer"
        more = ", {copy_or_leave} interrupts" if self._can_interrupt_wait() else ""
        self.prompt.tell(self.prompt.named(here + more))

    def _can_interrupt_wait(self) -> bool:
        """Return whether a runner waits for a decision or an answer of the person, and this view may interrupt it."""
        controller = self.controller
        waits = bool(controller.state.proposals) or controller.state.question is not None
        return waits and controller.begun and not controller.is_read_only and not controller.status.is_at_rest

    def action_do(self, name: str, argument: str = "") -> None:
        """Run the handler of an action."""
        self._dispatcher.do(name, argument)

    def on_message_box_sent(self, event: MessageBox.Sent) -> None:
        """Handle a command, a shell line, a message, or the number of a row on the first screen."""
        self.prompt.tell("")
        sent = self.controller.sent
        choice = self.welcome.row_of(event.text)
        if choice is not None:
            self._dispatcher.choose(choice)
            return
        if needed := self.welcome.needed_model(event.text):
            self._dispatcher.choose(needed)
        self._dispatcher.enter(event.text, event.typed, steer=event.steer, check=self.welcome.check_of(event.text))
        if self.controller.sent > sent:
            self.transcript.action_scroll_end()

    def on_message_box_marked(self, event: MessageBox.Marked) -> None:
        """Move the selection of the first screen, or take the selected row."""
        self.welcome.press(event.name)

    def on_welcome_taken(self, event: Welcome.Taken) -> None:
        """Carry out a choice of the first screen."""
        self._dispatcher.choose(event.choice)

    def run_refused(self, refusal: Refusal) -> None:
        """Restore the person's text and decisions, because the run cannot begin or continue."""
        self.gate.review.take_back_unsent()
        if self.controller.is_commanded:
            later = isinstance(refusal, Unreachable) and self.controller.begun
            self._host.leave_refused(str(refusal), later=later)
            return
        self.prompt.tell(str(refusal))
        if not self.controller.begun and not self.message.box.text:
            self.prompt.fill(self.controller.draft)

    def on_message_box_queue_asked(self) -> None:
        """Put the newest queued message into the message box."""
        self.action_do("queue")

    def on_message_box_told(self, event: MessageBox.Told) -> None:
        """Show a notice of the message box."""
        self.prompt.tell(event.text)

    def on_message_box_help_asked(self) -> None:
        """Open the help with all keys."""
        self.action_do("help")

    def on_message_box_scrolled(self, event: MessageBox.Scrolled) -> None:
        """Scroll the transcript while the box has the focus; Down moves to the board."""
        self._areas.scroll(event.name)

    def on_message_box_keyed(self, event: MessageBox.Keyed) -> None:
        """Update the gate, which waits for a moment without keys; the first letter starts the runner."""
        typed = self.message.box.text
        self.gate.arming.keyed(event.at, empty=self.gate.is_stray(typed))
        if typed:
            self.controller.expect_message()

    def on_transcript_searched(self, event: Transcript.Searched) -> None:
        """Show how much of the older entries was searched."""
        self.prompt.tell(search_progress(event.found, event.share, self.prompt.named(CONTINUES)))
        if event.share >= 1 and event.found.total:
            self._areas.read_transcript()

    def on_sent_by_dialog(self) -> None:
        """Show what the dialog sent."""
        self.transcript.action_scroll_end()

    def on_end_panel_chosen(self, event: EndPanel.Chosen) -> None:
        """Carry out what the person chose after the end of the run."""
        self.action_do(event.action)

    def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked word, or press the key that it names."""
        name, _, argument = clicked_action(event).partition(" ")
        if name:
            self.action_do(name, argument)
        else:
            press_clicked_key(self, event)

    def copy_or_leave(self, *, interrupts: bool = True) -> None:
        """Copy the selection; without one, interrupt a wait for the person; the second time in two seconds leaves.

        `interrupts`: the key was pressed on this screen, and not in a dialog above it.
        """
        selected = self._services.selected_text() or self.message.box.selected_text
        if selected:
            self._services.copy(selected)
            self.prompt.tell("copied, if the terminal allows it (OSC 52)")
        else:
            self._leaving.press(first=self._interrupt_wait if interrupts and self._can_interrupt_wait() else None)

    def _interrupt_wait(self) -> str:
        """Interrupt the step that waits for the person. Return what to tell about it."""
        try:
            self.controller.put(Interrupt())
        except RundryError as error:
            return str(error)
        return "interrupted"

    def on_board_acted(self, event: BoardActed) -> None:
        """Handle a key of the board."""
        self.action_do(event.name)

    def on_verdict_held(self) -> None:
        """Tell the person why their key was ignored."""
        self.prompt.tell("this row has just moved here: check it, then press the key again")

    def on_board_panel_asked(self, event: BoardPanel.Asked) -> None:
        """Put the board's command into the inbox of the run."""
        self._dispatcher.send_from_board(self.search, event)

    def on_left(self, event: Left) -> None:
        """Focus the message box and put there what was typed elsewhere; `?` in an empty box opens the help instead."""
        box = self.message.box
        if event.text == "?" and not box.text:
            self.action_do("help")
            return
        self.set_focus(box)
        if event.text:
            box.insert(event.text)
            self.gate.arming.keyed(event.time, empty=False)
        if event.key is not None:
            box.take_key(event.key)

    def on_message_box_leave_asked(self) -> None:
        """Handle Ctrl+D in an empty message box."""
        self.ask_to_leave()

    def ask_to_leave(self) -> None:
        """Leave immediately if nothing would be lost, else ask what happens to the run."""
        self._leaving.begin()
