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

from ..state import ViewState
from ..text import one_line
from .arming import Arming
from .body import ProposalBody
from .reason import ReasonInput
from .words import headline, keys

ELSEWHERE = 14
"""Rows that the header, the message box and a glance at the transcript take."""
END_FIRST = "the end was not seen yet: scroll down (space, End), or f for the whole height"


class GatePanel(Vertical, can_focus=True):
    """Docked between the transcript and the message box; shows the oldest proposal that waits."""

    DEFAULT_CSS = """
    GatePanel {
        height: auto; display: none; padding: 0 1 0 0; border-left: outer $dim;
        &.-whole { height: 1fr; }
        &:focus, &:focus-within { border-left: outer $needs-you; }
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

    def __init__(
        self,
        actions: Mapping[str, str],
        content: Callable[[str | None], bytes | None],
        on_painted: Callable[[], None],
    ) -> None:
        """`actions` maps a key to what it does at the gate; `content` gives a blob's bytes."""
        super().__init__(id="gate")
        self._on_painted = on_painted
        self.arming = Arming()
        self.full = False
        self.takes_all = False
        """It has the transcript's room as well."""
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
        self._body = ProposalBody(content)
        self._reason = ReasonInput()
        self._keys = Static("", id="keys", markup=False)

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield self._title
        yield self._asks
        yield self._body
        yield self._reason
        yield self._keys

    def on_mount(self) -> None:
        """The reason is asked for later."""
        self._reason.display = False

    @property
    def proposal(self) -> ProposalOpened | None:
        """What stands there."""
        return self._proposal

    def show(self, state: ViewState) -> None:
        """The oldest waiting proposal, shown anew where its digest moved."""
        proposal = next(iter(state.proposals.values()), None)
        news = state.rebased.get(proposal.proposal_id, "") if proposal is not None else ""
        if proposal == self._proposal and (news, len(state.proposals)) == (self._news, self._waiting):
            self._look_for_refusal(state)
            return
        is_same = proposal is not None and proposal == self._proposal and news == self._news
        before, self._proposal = self._proposal, proposal
        self._news, self._waiting = news, len(state.proposals)
        self.display = proposal is not None
        if proposal is None:
            self.arming.blank()
            self.takes_all = False
        elif is_same:
            self._show_words()
        else:
            if before is None or before.proposal_id != proposal.proposal_id:
                self.full = False
            self._edited, self._always_shown, self._decided, self._said = None, False, None, ""
            self._show_body(proposal)

    def show_edited(self, proposal: ProposalOpened, text: str) -> None:
        """The person's own version of the new text stands there, and is what `y` approves."""
        if self._proposal == proposal:
            self._edited, self._said = text, "edited by you: y approves your version"
            self._show_body(proposal)

    def say(self, text: str) -> None:
        """A line for the person, beside the keys."""
        self._said = text
        self._show_words()

    def _show_body(self, proposal: ProposalOpened) -> None:
        self.arming.blank()
        self._show_words()
        self._leave_reason()
        self._body.show(proposal, self._edited)

    def on_proposal_body_ready(self, event: ProposalBody.Ready) -> None:
        """What is painted from now on is the proposal."""
        event.stop()
        self.arming.blank()
        self._wait_for_paint()

    def _wait_for_paint(self) -> None:
        proposal = self._proposal
        if proposal is not None:
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
        self._on_painted()  # the focus is decided on before the keys are shown
        self._show_words()

    def on_proposal_body_scrolled(self, event: ProposalBody.Scrolled) -> None:
        """The end may be in sight."""
        event.stop()
        self._look_for_end()

    def _look_for_end(self) -> None:
        if self.arming.painted is not None and self._body.shows_end():
            self.arming.end_seen = True

    def on_descendant_focus(self) -> None:
        """The keys count, or no longer."""
        self._show_words()

    on_descendant_blur = on_focus = on_blur = on_descendant_focus

    def on_resize(self) -> None:
        """The room changed."""
        self._show_words()
        self.call_after_refresh(self._look_for_end)

    def fit(self) -> None:
        """As high as it is long, some rows of the transcript left; the whole height where it is longer than that."""
        if self._proposal is None:
            return
        height = self.screen.size.height
        around = 3 + len(self._proposal.asks) + bool(self._news) + self._reason.display
        room = max(height // 2, height - ELSEWHERE) - around
        rows = self._body.rows
        self.takes_all = self.full or rows > room
        self.set_class(self.takes_all, "-whole")
        self._body.fill(None if self.takes_all else rows)

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
        self._keys.update(self._key_line(proposal))

    def _key_line(self, proposal: ProposalOpened) -> Content:
        """The keys, once they count: not before what they decide on was painted."""
        if self.arming.painted is None:
            return Content(" ")
        found = keys(proposal, always_shown=self._always_shown, narrow=self.size.width < 70)
        line = Content("   ").join(
            [Content.assemble((key, "bold $needs-you"), " ", (what, "$foreground")) for key, what in found]
            if self.has_focus_within
            else [
                Content.assemble(("F2", "bold $needs-you"), " to decide"),
                *(Content.styled(f"{k} {w}", "$dim") for k, w in found),
            ]
        )
        said = self._said
        if self._always_shown and proposal.rule is not None:
            said = f"always would write: {one_line(proposal.rule)}"
        return Content("\n").join([Content.styled(one_line(said), "$verdict-partly"), line]) if said else line

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
        if self._body.move(event.key):
            event.stop()
            event.prevent_default()
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
            case "approve" | "always" if not (self.arming.end_seen or self._body.shows_end()):
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
            case "next_hunk" if self._body.diff.display:
                self._body.diff.action_next_hunk()
            case "previous_hunk" if self._body.diff.display:
                self._body.diff.action_previous_hunk()
            case "whole" if self._body.diff.display:
                self._body.diff.action_full()
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
        self.screen.set_focus(self._reason)

    def _leave_reason(self) -> None:
        if self._reason.display:
            held = self._reason.has_focus
            self._reason.display = False
            if held:
                self.screen.set_focus(self)

    def on_reason_input_given(self, message: ReasonInput.Given) -> None:
        """Reject with these words; none: back to the gate."""
        message.stop()
        self._leave_reason()
        if message.text is not None:
            self._decide("reject", reason=message.text)
