"""The open proposal: what would happen, and the keys that decide on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from rundry.agent import Decide, ProposalOpened

from ..diff import DiffPane
from ..state import ViewState
from ..text import one_line
from .arming import Arming
from .command import CommandPane
from .reason import ReasonInput
from .words import body, headline, keys

END_FIRST = "the end was not seen yet: scroll down (space, End), or f for the whole height"


class GatePanel(Vertical, can_focus=True):
    """Docked between the transcript and the message box; shows the oldest proposal that waits."""

    DEFAULT_CSS = """
    GatePanel {
        height: auto; display: none; padding: 0 1 0 0; border-left: thick $dim;
        &:focus, &:focus-within { border-left: thick $needs-you; }
        & Static { height: auto; padding: 0 1; }
        & #asks { color: $dim; }
        & #asks.danger { color: $verdict-bad; text-style: bold; }
    }
    """

    class Decided(Message):
        """The person decided."""

        def __init__(self, command: Decide) -> None:
            super().__init__()
            self.command = command

    class EditAsked(Message):
        """The person wants the new text in an editor."""

        def __init__(self, proposal: ProposalOpened) -> None:
            super().__init__()
            self.proposal = proposal

    class Left(Message):
        """The person types a message instead: this was the first character (or a paste)."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FullAsked(Message):
        """The person wants the whole height, or no longer."""

    def __init__(self, actions: Mapping[str, str]) -> None:
        """`actions` maps a key to what it does at the gate."""
        super().__init__(id="gate")
        self.arming = Arming()
        self.full = False
        self._actions = actions
        self._proposal: ProposalOpened | None = None
        self._decided: tuple[str, str] | None = None
        self._edited: str | None = None
        self._always_shown = False
        self._said = ""
        self._waiting = 0
        self._news = ""
        self._title = Static("", id="title", markup=False)
        self._asks = Static("", id="asks", markup=False)
        self._diff = DiffPane()
        self._command = CommandPane()
        self._reason = ReasonInput()
        self._keys = Static("", id="keys", markup=False)

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield self._title
        yield self._asks
        yield self._diff
        yield self._command
        yield self._reason
        yield self._keys

    def on_mount(self) -> None:
        """Follow the scrolling: an end that was seen arms the approval."""
        self._reason.display = False
        for pane in (self._diff, self._command):
            self.watch(pane, "scroll_y", self._look_for_end, init=False)

    @property
    def proposal(self) -> ProposalOpened | None:
        """What stands there."""
        return self._proposal

    def show(self, state: ViewState) -> None:
        """The oldest waiting proposal, shown anew where its digest moved."""
        proposal = next(iter(state.proposals.values()), None)
        news = state.rebased.get(proposal.proposal_id, "") if proposal is not None else ""
        self._waiting = len(state.proposals)
        if proposal == self._proposal and news == self._news:
            self._look_for_refusal(state)
            return
        self._news = news
        before, self._proposal = self._proposal, proposal
        self.display = proposal is not None
        if proposal is None:
            self.arming.blank()
            return
        if before is None or before.proposal_id != proposal.proposal_id:
            self.full = False
        self._edited, self._always_shown, self._decided, self._said = None, False, None, ""
        self._show_body(proposal.diff)

    def show_edited(self, proposal: ProposalOpened, text: str, diff: str) -> None:
        """The person's own version of the new text stands there, and is what `y` approves."""
        if self._proposal is None or self._proposal.proposal_id != proposal.proposal_id:
            return
        self._edited, self._said = text, "edited by you: y approves your version"
        self._show_body(diff)

    def say(self, text: str) -> None:
        """A line for the person, beside the keys."""
        self._said = text
        self._show_words()

    def _show_body(self, diff: str) -> None:
        proposal = self._proposal
        if proposal is None:
            return
        self.arming.blank()
        is_file = proposal.path is not None
        self._diff.display, self._command.display = is_file, not is_file
        if is_file:
            self._diff.show(diff, proposal.path or "")
        else:
            self._command.show(body(proposal))
        self._leave_reason()
        self._show_words()
        self.fit()
        self.call_after_refresh(self._painted_once, proposal.proposal_id, proposal.digest)

    def _painted_once(self, proposal_id: str, digest: str) -> None:
        # a pane that was hidden is laid out in the first refresh and drawn in the second
        self.fit()
        self.call_after_refresh(self._painted, proposal_id, digest)

    def _painted(self, proposal_id: str, digest: str) -> None:
        if self._proposal is None or (self._proposal.proposal_id, self._proposal.digest) != (proposal_id, digest):
            return
        self.arming.paint(proposal_id, digest, Message().time)
        self._look_for_end()

    def _look_for_end(self) -> None:
        pane = self._pane
        if self.arming.painted is not None and pane.size.height and pane.scroll_offset.y >= pane.max_scroll_y:
            self.arming.end_seen = True

    @property
    def _pane(self) -> DiffPane | CommandPane:
        return self._diff if self._diff.display else self._command

    def on_resize(self) -> None:
        """The room changed."""
        self._show_words()
        self.call_after_refresh(self._look_for_end)

    def fit(self) -> None:
        """Half of the screen at most; all of it when asked for, or when half is too little on a small screen."""
        if self._proposal is None:
            return
        height = self.screen.size.height
        around = 3 + len(self._proposal.asks) + bool(self._news)
        room = height // 2 - around
        rows = max(1, self._pane.virtual_size.height)
        whole = self.full or (height <= 30 and rows > room)
        self.screen.set_class(whole, "gate-full")
        if self._diff.display:
            self._diff.styles.height = "1fr" if whole else min(rows, room)
        else:
            self._command.styles.max_height = "1fr" if whole else room

    def _show_words(self) -> None:
        proposal = self._proposal
        if proposal is None:
            return
        title, right = headline(proposal)
        count = f"1 of {self._waiting} waiting" if self._waiting > 1 else ""
        self._title.update(
            Content("   ").join(
                [Content.styled(title, "bold $bright"), Content.styled(right, "$dim"), Content.styled(count, "$dim")]
            )
        )
        lines = [one_line(line) for line in (*([self._news] if self._news else []), *proposal.asks)]
        self._asks.update(Content("\n".join(lines)))
        self._asks.set_class(proposal.danger or self._news.startswith("conflict"), "danger")
        self._asks.display = bool(lines)
        words: list[Content] = []
        for key, what in keys(proposal, always_shown=self._always_shown, narrow=self.size.width < 70):
            words.append(Content.assemble((key, "bold $needs-you"), " ", (what, "$foreground")))
        line = Content("   ").join(words)
        if self._always_shown and proposal.rule is not None:
            self._said = f"always would write: {one_line(proposal.rule)}"
        if self._said:
            line = Content("\n").join([Content.styled(self._said, "$verdict-partly"), line])
        self._keys.update(line)

    def _look_for_refusal(self, state: ViewState) -> None:
        if self._decided is None:
            return
        command_id, why = self._decided[0], None
        if command_id.isdigit():
            why = state.refused.get(int(command_id))
        if why is not None:
            self._decided = None
            self.say(f"not taken: {why}")

    def sent(self, command_id: int) -> None:
        """The decision was put into the inbox under this id."""
        if self._decided is not None:
            self._decided = (str(command_id), self._decided[1])

    async def _on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self:
            return
        action = self._actions.get(event.key)
        if action is not None:
            event.stop()
            event.prevent_default()
            if self.arming.counts(event.time) and self._decided is None:
                self._do(action)
            return
        move = _MOVES.get(event.key)
        if move is not None:
            event.stop()
            event.prevent_default()
            move(self._pane)
            return
        if event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self.post_message(self.Left(event.character))

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Left(event.text))

    def _do(self, action: str) -> None:
        proposal = self._proposal
        if proposal is None:
            return
        match action:
            case "approve" | "always" if not self.arming.end_seen:
                self.say(END_FIRST)
            case "approve":
                self._decide("approve")
            case "always":
                self._always(proposal)
            case "reject":
                self._decide("reject")
            case "edit" if proposal.path is not None:
                self.post_message(self.EditAsked(proposal))
            case "reason":
                self._ask_reason()
            case "full":
                self.full = not self.full
                self.fit()
            case "next_hunk" if self._diff.display:
                self._diff.next_hunk()
            case "previous_hunk" if self._diff.display:
                self._diff.previous_hunk()
            case _:
                pass

    def _always(self, proposal: ProposalOpened) -> None:
        if proposal.rule is None or proposal.danger:
            self.say("there is no always for this: it is asked about each time")
        elif self._always_shown:
            self._decide("approve", always=True)
        else:
            self._always_shown = True
            self._show_words()

    def _decide(self, verdict: str, *, always: bool = False, reason: str | None = None) -> None:
        painted = self.arming.painted
        if painted is None or self._decided is not None:
            return
        text = self._edited if verdict == "approve" else None
        self._decided = ("", painted.proposal_id)
        self.post_message(
            self.Decided(
                Decide(
                    proposal_id=painted.proposal_id,
                    digest=painted.digest,
                    verdict=verdict,
                    text=text,
                    reason=reason,
                    always=always,
                )
            )
        )

    def _ask_reason(self) -> None:
        self._reason.display = True
        self._reason.value = ""
        self._reason.focus()

    def _leave_reason(self) -> None:
        if self._reason.display:
            held = self._reason.has_focus
            self._reason.display = False
            if held:
                self.focus()

    def on_reason_input_given(self, message: ReasonInput.Given) -> None:
        """Reject with these words; none: back to the gate."""
        message.stop()
        self._leave_reason()
        if message.text is not None:
            self._decide("reject", reason=message.text)


def _to_end(pane: DiffPane | CommandPane) -> None:
    pane.scroll_end(animate=False, force=True)


_MOVES: Mapping[str, Callable[[DiffPane | CommandPane], None]] = {
    "up": lambda pane: pane.scroll_up(animate=False),
    "down": lambda pane: pane.scroll_down(animate=False),
    "pageup": lambda pane: pane.scroll_page_up(animate=False),
    "pagedown": lambda pane: pane.scroll_page_down(animate=False),
    "space": lambda pane: pane.scroll_page_down(animate=False),
    "home": lambda pane: pane.scroll_home(animate=False),
    "end": _to_end,
}
