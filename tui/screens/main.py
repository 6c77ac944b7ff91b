"""The one main screen: what and who, what is left, what happens, what you can do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from rundry.agent import Judge, Merge, Refusal, RundryError, Unreachable

from ..actions import ACTIONS, BY_NAME, keys_of, parse_slash, shown_key
from ..board import BoardPanel
from ..board.board import Board
from ..clockwork import ClockworkLine
from ..gate import GatePanel
from ..handlers import DOINGS
from ..head import HeaderLine, MeterLine
from ..message import MessageBox, MessageRow
from ..message.files import list_files
from ..run_controller import RunController
from ..transcript import Transcript
from .dialogs.leave import LeaveScreen
from .editing import edit_proposal
from .focus import mind_the_focus
from .footer import Footer
from .gone import GoneNotice
from .leaving import Leaving
from .looking import Looking, Onlooker
from .notice import Notice
from .placeholder import placeholder
from .welcome import Welcome

if TYPE_CHECKING:
    from ..app import RundryApp


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

    def __init__(self, controller: RunController, remaps: Mapping[str, str]) -> None:
        super().__init__()
        self.controller = controller
        self.keymap = dict(remaps)
        self.header = HeaderLine()
        self.meters = MeterLine()
        self.transcript = Transcript()
        self.search = BoardPanel(keys_of("board", remaps))
        self.board_wanted = True
        """In a search: the board is to be seen, not the transcript."""
        self.welcome = Welcome(controller)
        self.gate = GatePanel(keys_of("gate", remaps), controller.content, self._mind_the_focus)
        self.gone = GoneNotice()
        self.message = MessageRow(self._files, lambda: None if self.controller.state.driving else self.controller.root)
        self.clockwork = ClockworkLine(self.keymap)
        self.footer = Footer(self.keymap)
        self._notice = Notice()
        self._files_found: Sequence[str] | None = None
        onlooker = Onlooker(
            self.refresh_view,
            self._refresh_text,
            self.tell,
            self._refused,
            self._is_impatient,
            self._is_ticking,
            self._looked,
        )
        self._looking = Looking(controller, onlooker)
        self._leaving = Leaving(controller, tell=self.tell, leave=self._leave, ask=self._ask)

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

    @property
    def rundry(self) -> RundryApp:
        """The app, by its own type."""
        return cast("RundryApp", self.app)

    def refresh_view(self) -> None:
        """Bring every widget to what the state says; each redraws only what moved."""
        state = self.controller.state
        self.header.show(state, self.controller.phase)
        self.rundry.call_person(self.controller.phase)
        self.meters.show(state, state.last_at if self.controller.is_at_rest else time.time())
        self.clockwork.show(state, time.time(), self.size.width)
        count = len(state.blocks)
        first = state.take_changes()
        if first < count:
            self.transcript.show(state.blocks, first)
        if self.controller.waits_at_gate:
            self.gate.review.take_back_unsent()
        self.gate.show(state)
        self.welcome.show(wanted=count == 0)
        is_board = state.finder is not None and self.board_wanted
        self.transcript.display = count > 0 and not is_board and not self.gate.takes_all
        self._notice.forget(state.refused, state.taken)
        self._show_search(is_board=is_board and not self.gate.takes_all)
        key = shown_key(self.keymap.get("pause", BY_NAME["pause"].keys))
        self.gone.show(state, is_gone=self.controller.is_gone, key=key)
        self._mind_the_focus()
        self.message.show(state, placeholder(self.controller), time.time(), at_rest=self.controller.is_at_rest)
        view = self.search.board.view.tab if self.search.board.has_focus else ""
        at_gate = self.gate.has_focus_within
        self.footer.show(self.controller, at_gate=at_gate, notice=self._notice.text, view=view, is_board=is_board)

    def touched(self) -> None:
        """The person pressed a key, clicked or resized the window."""
        self._looking.touch()
        self.transcript.let_key_first()

    def _is_impatient(self) -> bool:
        return self.gate.display and self.gate.arming.is_in_grace(Message().time)

    def _is_ticking(self) -> bool:
        state = self.controller.state
        if self._notice.text:
            return True
        if not self.controller.begun or self.controller.is_at_rest:
            return False
        return state.busy.since is not None or bool(state.sleeping or state.background or state.finder)

    def _refresh_text(self) -> None:
        """Nothing but more of a streamed text is new."""
        state = self.controller.state
        self.transcript.show(state.blocks, state.take_changes())

    def show_behind_gate(self) -> None:
        """A proposal that takes the whole height leaves room for what the person wants to see."""
        self.gate.make_room()
        self.refresh_view()

    def _show_search(self, *, is_board: bool) -> None:
        state = self.controller.state
        appears = is_board and not self.search.display
        self.search.display = is_board
        for why in self.search.refusals(state):
            self.tell(f"refused: {why}")
        if is_board:
            journal = self.controller.link.journal
            self.search.board.show(state, journal, time.time(), is_over=self.controller.is_at_rest, at_once=appears)

    def _mind_the_focus(self) -> None:
        mind_the_focus(self, self.message.box, self.gate)

    # what the doings use

    def show_board(self, wanted: bool) -> None:
        """Of a search: its board, or its transcript."""
        if self.controller.state.finder is None or wanted == self.board_wanted:
            return
        self.board_wanted = wanted
        self.refresh_view()

    def tell(self, text: str, *, asked: int | None = None) -> None:
        """A line for the person, in place of the keys for some seconds. `asked`: id of the command that it is of."""
        self._notice.tell(text, asked=asked)
        self._looking.draw_soon()

    def was_told(self, text: str) -> bool:
        """The person reads this line just now."""
        return self._notice.says(text)

    def fill(self, text: str) -> None:
        """Put this into the message box."""
        self.message.box.fill(text)

    def set_option(self, name: str, value: str) -> None:
        """For the run that is not begun yet, as if the flag had been given. Raises UserError."""
        if self.controller.start is not None:
            self.controller.start.set(name, value)

    def action_do(self, name: str, argument: str = "") -> None:
        """One of the table's actions; what a person can mend is told."""
        try:
            DOINGS[name](self, argument)
        except RundryError as error:
            self.tell(str(error))

    # messages and keys

    def on_message_box_sent(self, event: MessageBox.Sent) -> None:
        """A command, a shell line, or words for the model."""
        text = event.text
        if not text.startswith("/"):  # some commands ask once more, and look whether they did
            self.tell("")
        try:
            if text.startswith("/") and not text.startswith("//") and "\n" not in text:
                self._slash(text)
            elif text.startswith("!"):
                self.controller.shell(text)
            elif event.steer:
                self.controller.steer(text, event.typed)
            elif self.controller.state.driving:
                self.controller.act(text)
            else:
                self.controller.say(text, event.typed)
        except RundryError as error:
            self.tell(str(error))
            self.fill(text)

    def _refused(self, refusal: Refusal) -> None:
        """The run cannot begin or go on: what the person typed is theirs again, and so is what they decided."""
        self.gate.review.take_back_unsent()
        if self.controller.is_commanded:
            later = isinstance(refusal, Unreachable) and self.controller.begun
            self.rundry.leave_refused(str(refusal), later=later)
            return
        self.tell(str(refusal))
        if not self.controller.begun and not self.message.box.text:
            self.fill(self.controller.draft)

    def _slash(self, text: str) -> None:
        action, argument = parse_slash(text)
        if action is None:
            raise RundryError(f"{text.split()[0]}: no such command; /help lists them")
        DOINGS[action.name](self, argument)

    def on_message_box_queue_asked(self) -> None:
        """The newest queued message."""
        self.action_do("queue")

    def on_message_box_help_asked(self) -> None:
        """All keys."""
        self.action_do("help")

    def on_message_box_scrolled(self, event: MessageBox.Scrolled) -> None:
        """The transcript scrolls though the box has the focus; Down goes to the board."""
        if event.key != "down":
            self.show_behind_gate()
        page = self.search.board if self.search.display else self.transcript
        match event.key:
            case "down":
                if self.search.display:
                    self.search.board.slide_in()
            case "pageup":
                page.action_page_up()
            case "pagedown":
                page.action_page_down()
            case "ctrl+home":
                self.transcript.action_scroll_home()
            case _:
                self.transcript.action_scroll_end()

    def on_message_box_keyed(self, event: MessageBox.Keyed) -> None:
        """The gate counts from here."""
        self.gate.arming.keyed(event.at, empty=event.empty)
        self.controller.expect_message()

    def on_transcript_searched(self, event: Transcript.Searched) -> None:
        """Older entries were searched, too."""
        if event.share < 1:
            self.tell(f"{event.found.current} of {event.found.total}; searching older entries: {event.share:.0%}")
        elif event.found.total:
            self.tell(f"{event.found.current} of {event.found.total}; n and N continue, esc returns")
            self.show_behind_gate()
            self.set_focus(self.transcript)
        else:
            self.tell("nothing found")

    def on_footer_picked(self, event: Footer.Picked) -> None:
        """A click on a word of the footer."""
        self.action_do(event.name)

    def action_steer(self) -> None:
        """Send what stands in the box at once; while the gate is edited in, keep that."""
        (self.focused or self).call_later(self._steer)  # behind the letters that came in one go with the key

    def _steer(self) -> None:
        if not self.gate.keep_edit():
            self.message.box.send(steer=True)

    def action_copy_or_leave(self) -> None:
        """Copies what is selected; without a selection, the second time in two seconds leaves."""
        selected = self.get_selected_text() or self.message.box.selected_text
        if selected:
            self.rundry.copy_to_clipboard(selected)
            self.tell("copied, if the terminal allows it (OSC 52)")
        else:
            self._leaving.press()

    # the board

    def on_board_acts(self, event: Board.Acts) -> None:
        """A key of the board."""
        self.action_do(event.name)

    def on_board_held(self) -> None:
        """Said, so that nobody wonders."""
        self.tell("this row has just moved here: check it, then press the key again")

    def on_board_left(self, event: Board.Left) -> None:
        """The person types a message, or is done with the board; `?` is for the keys, as in an empty box."""
        if event.text == "?" and not self.message.box.text:
            self.action_do("help")
            return
        self.set_focus(self.message.box)
        if event.text:
            self.message.box.insert(event.text)

    def on_board_panel_asked(self, event: BoardPanel.Asked) -> None:
        """Into the inbox."""
        try:
            command = event.command
            put = self.controller.judge(command) if isinstance(command, Judge | Merge) else self.controller.put(command)
            self.search.sent(put)
            self.tell(event.said)
        except RundryError as error:
            self.tell(str(error))

    # the gate

    def on_gate_panel_decided(self, event: GatePanel.Decided) -> None:
        """Into the inbox."""
        try:
            self.gate.sent(event.command, self.controller.decide(event.command))
        except RundryError as error:
            self.gate.not_sent(event.command, str(error))

    def on_gate_panel_left(self, event: GatePanel.Left) -> None:
        """The person types a message while a proposal waits; `?` is for the keys, as in an empty box."""
        if event.text == "?" and not self.message.box.text:
            self.action_do("help")
            return
        self.set_focus(self.message.box)
        self.message.box.insert(event.text)
        self.gate.arming.keyed(Message().time, empty=False)

    def on_gate_panel_edit_asked(self, event: GatePanel.EditAsked) -> None:
        """The new text in the person's editor."""
        edit_proposal(self.rundry, self.gate, event)

    # leaving

    def ask_to_leave(self) -> None:
        """At once where nothing would be lost, else asks what becomes of the run."""
        self._leaving.begin()

    def _leave(self, how: str | None) -> None:
        self.rundry.leave(how)

    def _ask(self, answered: Callable[[str | None], None]) -> None:
        self.rundry.push_screen(LeaveScreen(), answered)

    def _looked(self) -> None:
        self._leaving.go_once_over()

    # files for @

    def _files(self) -> Sequence[str]:
        if self._files_found is None:
            self._files_found = ()
            self.run_worker(self._find_files(), name="files", exit_on_error=False)
        return self._files_found

    async def _find_files(self) -> None:
        self._files_found = await asyncio.to_thread(list_files, self.controller.root)
        self.message.box.complete()
