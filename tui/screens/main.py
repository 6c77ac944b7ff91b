"""The main screen: header, transcript or board, gate, message box and footer."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from rundry.agent import Refusal, Unreachable

from ..actions import ACTIONS, BY_NAME, keys_of, shown_key
from ..board import BoardPanel
from ..board.board import Board
from ..clockwork import ClockworkLine
from ..gate import GatePanel
from ..handlers import handlers
from ..head import HeaderLine, MeterLine
from ..message import MessageBox, MessageRow
from ..message.files import FileList
from ..run_controller import RunController
from ..transcript import Transcript
from .areas import Areas
from .dialogs.leave import LeaveScreen
from .dispatch import Dispatcher
from .editing import edit_proposal
from .focus import mind_the_focus
from .footer import Footer
from .gone import GoneNotice
from .leaving import Leaving
from .looking import Looking, Onlooker
from .notice import Notice
from .placeholder import placeholder
from .prompt import Prompt
from .services import Host, Services
from .welcome import Welcome


class MainScreen(Screen[None]):
    """A view of one run, or of the draft of one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            # escape belongs to whatever is open first; all others are ours wherever the focus is
            Binding(a.keys, f"do('{a.name}')", a.label, id=a.name, show=False, priority=a.keys != "escape")
            for a in ACTIONS
            if a.keys and a.where == "main"
        ),
        Binding(BY_NAME["steer"].keys, "steer", BY_NAME["steer"].label, id="steer", show=False, priority=True),
        Binding("ctrl+c", "copy_or_leave", "Copy or leave", show=False, priority=True),
    ]
    CSS_PATH = "main.tcss"

    def __init__(self, controller: RunController, remaps: Mapping[str, str], host: Host) -> None:
        super().__init__()
        self.controller = controller
        self._keymap, self._host = dict(remaps), host
        self.header = HeaderLine()
        self.meters = MeterLine()
        self.transcript = Transcript()
        self.search = BoardPanel(keys_of("board", remaps))
        self.welcome = Welcome(controller)
        self.gate = GatePanel(keys_of("gate", remaps), controller.reader.content, self._mind_the_focus)
        self.gone = GoneNotice()
        files = FileList(lambda: controller.root, self._start_file_worker, lambda: self.message.box.complete())
        self.message = MessageRow(files.paths, lambda: None if controller.state.driving else controller.root)
        self.clockwork = ClockworkLine(self._keymap)
        self.footer = Footer(self._keymap)
        self._notice = Notice()
        self.prompt = Prompt(self.message.box, self._notice, lambda: self._looking.draw_soon())
        self._services = Services(self)
        self._areas = Areas(
            controller,
            transcript=self.transcript,
            search=self.search,
            gate=self.gate,
            refresh=self.refresh_view,
            focus=self.set_focus,
        )
        self._looking = Looking(controller, self._onlooker())
        self._leaving = Leaving(controller, tell=self.prompt.tell, leave=host.leave, ask=self._ask_how)
        self.handlers = handlers(
            controller,
            prompt=self.prompt,
            services=self._services,
            areas=self._areas,
            host=host,
            keymap=self._keymap,
            leave=self.ask_to_leave,
        )
        self._dispatcher = Dispatcher(controller, self.prompt, self.handlers)

    def _onlooker(self) -> Onlooker:
        return Onlooker(
            self.refresh_view,
            self._refresh_text,
            self.prompt.tell,
            self._refused,
            self._is_impatient,
            lambda: bool(self._notice.text),
            lambda: self._leaving.go_once_over(),
        )

    def _start_file_worker(self, work: Coroutine[object, object, None]) -> None:
        self.run_worker(work, name="files", exit_on_error=False)

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield self.header
        yield self.meters
        yield self.welcome
        yield self.transcript
        yield self.search
        yield self.gate
        yield self.gone
        yield self.clockwork
        yield self.message
        yield self.footer

    def on_mount(self) -> None:
        """Look at the run from now on."""
        self.set_focus(self.message.box)
        self.refresh_view()
        self.run_worker(self._looking.follow(), name="follow")

    def refresh_view(self) -> None:
        """Bring every widget to what the state says; each redraws only what moved."""
        state = self.controller.state
        self.header.show(state, self.controller.status.phase)
        self._host.call_person(self.controller.status.phase)
        self.meters.show(state, state.last_at if self.controller.status.is_at_rest else time.time())
        self.clockwork.show(state, time.time(), self.size.width)
        count = len(state.blocks)
        first = state.take_changes()
        if first < count:
            self.transcript.show(state.blocks, first)
        if self.controller.status.waits_at_gate:
            self.gate.review.take_back_unsent()
        self.gate.show(state)
        self.welcome.show(wanted=count == 0)
        is_board = self._areas.shows_board
        self.transcript.display = count > 0 and not is_board and not self.gate.takes_all
        self._notice.forget(state.refused, state.taken)
        self._show_search(is_board=is_board and not self.gate.takes_all)
        key = shown_key(self._keymap.get("pause", BY_NAME["pause"].keys))
        self.gone.show(state, is_gone=self.controller.status.is_gone, key=key)
        self._mind_the_focus()
        self.message.show(state, placeholder(self.controller), time.time(), at_rest=self.controller.status.is_at_rest)
        view = self.search.board.view.tab if self.search.board.has_focus else ""
        at_gate = self.gate.has_focus_within
        self.footer.show(self.controller, at_gate=at_gate, notice=self._notice.text, view=view, is_board=is_board)

    def touched(self) -> None:
        """The person pressed a key, clicked or resized the window."""
        self._looking.touch()
        self.transcript.let_key_first()

    def _is_impatient(self) -> bool:
        return self.gate.display and self.gate.arming.is_in_grace(Message().time)

    def _refresh_text(self) -> None:
        """Nothing but more of a streamed text is new."""
        state = self.controller.state
        self.transcript.show(state.blocks, state.take_changes())

    def _show_search(self, *, is_board: bool) -> None:
        state = self.controller.state
        appears = is_board and not self.search.display
        self.search.display = is_board
        for why in self.search.refusals(state):
            self.prompt.tell(f"refused: {why}")
        if is_board:
            journal = self.controller.link.journal
            self.search.board.show(
                state, journal, time.time(), is_over=self.controller.status.is_at_rest, at_once=appears
            )

    def _mind_the_focus(self) -> None:
        mind_the_focus(self, self.message.box, self.gate)

    def action_do(self, name: str, argument: str = "") -> None:
        """Run the handler of an action."""
        self._dispatcher.do(name, argument)

    def on_message_box_sent(self, event: MessageBox.Sent) -> None:
        """A command, a shell line, or words for the model."""
        self._dispatcher.enter(event.text, event.typed, steer=event.steer)

    def _refused(self, refusal: Refusal) -> None:
        """The run cannot begin or go on: what the person typed is theirs again, and so is what they decided."""
        self.gate.review.take_back_unsent()
        if self.controller.is_commanded:
            later = isinstance(refusal, Unreachable) and self.controller.begun
            self._host.leave_refused(str(refusal), later=later)
            return
        self.prompt.tell(str(refusal))
        if not self.controller.begun and not self.message.box.text:
            self.prompt.fill(self.controller.draft)

    def on_message_box_queue_asked(self) -> None:
        """The newest queued message."""
        self.action_do("queue")

    def on_message_box_help_asked(self) -> None:
        """All keys."""
        self.action_do("help")

    def on_message_box_scrolled(self, event: MessageBox.Scrolled) -> None:
        """Scroll the transcript, though the box has the focus; Down goes to the board."""
        self._areas.scroll(event.key)

    def on_message_box_keyed(self, event: MessageBox.Keyed) -> None:
        """The gate counts from here."""
        self.gate.arming.keyed(event.at, empty=event.empty)
        self.controller.expect_message()

    def on_transcript_searched(self, event: Transcript.Searched) -> None:
        """Older entries were searched, too."""
        if event.share < 1:
            self.prompt.tell(
                f"{event.found.current} of {event.found.total}; searching older entries: {event.share:.0%}"
            )
        elif event.found.total:
            self.prompt.tell(f"{event.found.current} of {event.found.total}; n and N continue, esc returns")
            self._areas.read_transcript()
        else:
            self.prompt.tell("nothing found")

    def on_footer_picked(self, event: Footer.Picked) -> None:
        """A click on a word of the footer."""
        self.action_do(event.name)

    def action_steer(self) -> None:
        """Send what stands in the box at once; while the gate is edited in, keep that."""
        self._services.after_pending_keys(self._steer)

    def _steer(self) -> None:
        if not self.gate.keep_edit():
            self.message.box.send(steer=True)

    def action_copy_or_leave(self) -> None:
        """Copies what is selected; without a selection, the second time in two seconds leaves."""
        selected = self._services.selected_text() or self.message.box.selected_text
        if selected:
            self._services.copy(selected)
            self.prompt.tell("copied, if the terminal allows it (OSC 52)")
        else:
            self._leaving.press()

    def on_board_acts(self, event: Board.Acts) -> None:
        """A key of the board."""
        self.action_do(event.name)

    def on_board_held(self) -> None:
        """Said, so that nobody wonders."""
        self.prompt.tell("this row has just moved here: check it, then press the key again")

    def on_board_left(self, event: Board.Left) -> None:
        """The person types a message, or is done with the board; `?` is for the keys, as in an empty box."""
        self._go_to_message(event.text)

    def on_board_panel_asked(self, event: BoardPanel.Asked) -> None:
        """Into the inbox."""
        self._dispatcher.send_from_board(self.search, event)

    def on_gate_panel_decided(self, event: GatePanel.Decided) -> None:
        """Into the inbox."""
        self._dispatcher.send_decision(self.gate, event)

    def on_gate_panel_left(self, event: GatePanel.Left) -> None:
        """The person types a message while a proposal waits; `?` is for the keys, as in an empty box."""
        if self._go_to_message(event.text):
            self.gate.arming.keyed(Message().time, empty=False)

    def _go_to_message(self, text: str) -> bool:
        """Insert a text into the message box and focus it; `?` in an empty box opens the help instead."""
        if text == "?" and not self.message.box.text:
            self.action_do("help")
            return False
        self.set_focus(self.message.box)
        if text:
            self.message.box.insert(text)
        return True

    def on_gate_panel_edit_asked(self, event: GatePanel.EditAsked) -> None:
        """The new text in the person's editor."""
        edit_proposal(self._services, self.gate, event)

    def ask_to_leave(self) -> None:
        """At once where nothing would be lost, else asks what becomes of the run."""
        self._leaving.begin()

    def _ask_how(self, answered: Callable[[str | None], None]) -> None:
        self._services.open(LeaveScreen(), answered)
