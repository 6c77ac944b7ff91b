"""The proposal as it stands on the screen: shown, fitted, painted. What its keys do is the panel's."""

from __future__ import annotations

from collections.abc import Callable

from textual.containers import Vertical
from textual.message import Message

from rundry.agent import ProposalOpened, ViewState

from ..diff import DiffPane
from ..text import one_line
from .body import ProposalBody
from .decision.arming import Arming
from .decision.following import Content
from .decision.pending_decision import Shown, Thoughts
from .decision.review import Review
from .foot import GateFoot
from .head import ROOMY, GateHead
from .words import asking, keys, reasons

ELSEWHERE = 14
"""Rows that the header, the message box and a glance at the transcript take."""
EDITING = [("^s", "keep your version"), ("esc", "discard it")]


class GateView(Vertical):
    """One of the proposals that wait, and what a person should know of it. Keys count once it was painted."""

    DEFAULT_CSS = """
    GateView {
        height: auto; display: none; padding: 0 1 0 0; border-left: outer $dim;
        &.-whole { height: 1fr; }
        &:focus, &:focus-within { border-left: outer $needs-you; }
        &.-editing ProposalBody { display: none; }
        &.-airy GateHead, &.-airy ProposalBody, &.-airy GateEditor { margin: 0 0 1 0; }
    }
    """

    def __init__(self, content: Content, on_painted: Callable[[], None]) -> None:
        """`content` gives a blob's bytes."""
        super().__init__(id="gate")
        self._on_painted = on_painted
        self.content = content
        self.arming = Arming()
        self.review = Review(content)
        self.body = ProposalBody(content)
        self.head, self.foot = GateHead(), GateFoot()
        self.is_full: bool | None = None
        """The person said whether it takes the whole height; None: where it is long, it does."""
        self.takes_all = False
        """It has the transcript's room as well."""
        self.always_shown = False
        """The rule that `always` writes stands there."""
        self.editing: ProposalOpened | None = None
        """What the person edits in the proposal's place: nothing else is shown meanwhile."""
        self._stands: object = None
        """What was handed to the body last."""
        self.just_left: int | None = None
        """The hunk that the last key left: Tab asks why."""
        self._place = (0, 0)
        self._said = ""

    @property
    def proposal(self) -> ProposalOpened | None:
        """What stands there."""
        return self.review.proposal

    @property
    def shown(self) -> Shown:
        """What is painted, or about to be."""
        found = self.body.shown
        assert found is not None, "keys count only once a proposal stands there"
        return found

    @property
    def end_seen(self) -> bool:
        """All of what is painted was in sight."""
        return self.arming.end_seen or self.body.shows_end()

    def show(self, state: ViewState) -> None:
        """One of the waiting proposals, shown anew where it is another than it was."""
        self.review.look(state)
        refused = self.review.refusal(state)
        if self.editing is None:
            self.show_current()
        if refused is not None:
            self.say(refused)

    def show_current(self) -> None:
        """What the review is at."""
        proposal = self.review.proposal
        stands = None if proposal is None else (proposal, self.review.rebasing)
        if stands == self._stands:
            if self.review.place != self._place:
                self.show_words()
            return
        before, self._stands = self._stands, stands
        self.always_shown, self._said = False, ""
        self.display = proposal is not None
        is_other = before is None or proposal is None or self.shown.proposal.proposal_id != proposal.proposal_id
        if is_other:
            self.is_full = None
            self.left_behind()
        if proposal is None:
            self.arming.blank()
            self.takes_all = False
        else:
            self.show_body()

    def show_again(self) -> None:
        """The review's proposal from the start, also where it is the one that stands there."""
        self._stands = None
        self.show_current()

    def show_body(self) -> None:
        """Show it anew: keys count again once it was painted."""
        self.arming.blank()
        self.just_left = None
        self.body.show(self.review)
        self.fit()
        self.show_words()
        self.sync_reason()

    def left_behind(self) -> None:
        """Another proposal is about to stand there."""

    def sync_reason(self) -> None:
        """The line for a reason is there while one is asked for."""

    def say(self, text: str) -> None:
        """A line for the person, above the keys."""
        self._said = one_line(text)
        self.show_words()

    def hush(self) -> None:
        """What was said no longer holds."""
        if self._said:
            self.say("")

    # painting

    def on_proposal_body_ready(self, event: ProposalBody.Ready) -> None:
        """What is painted from now on is the proposal."""
        event.stop()
        self.arming.blank()
        proposal, thoughts = self.review.proposal, self.review.thoughts
        picks = self.body.find_hunks(thoughts.picks)
        if proposal is None or picks is None:
            return
        thoughts.picks = picks
        self.body.mark(picks)
        self.paint_soon()

    def paint_soon(self) -> None:
        """Keys count after the next paint."""
        self.arming.blank()
        proposal = self.review.proposal
        if proposal is not None:
            self.fit()
            self.show_words()
            self.call_after_refresh(self._painted_once, proposal.proposal_id, proposal.digest)

    def _painted_once(self, proposal_id: str, digest: str, rounds: int = 2) -> None:
        # a pane that was hidden is laid out in the first refresh and drawn in the second, which then knows how long it
        # is where its lines are wrapped
        self.fit()
        if self.body.diff.display:
            self.body.diff.look_at_change()
        self.call_after_refresh(self._painted_again, proposal_id, digest, self.body.rows, rounds)

    def _painted_again(self, proposal_id: str, digest: str, rows: int, rounds: int) -> None:
        if rounds and self.body.rows != rows:
            self._painted_once(proposal_id, digest, rounds - 1)
        else:
            self._painted(proposal_id, digest)

    def _painted(self, proposal_id: str, digest: str) -> None:
        stands = self.body.shown.proposal if self.body.shown is not None else None
        if self.editing is not None or stands is None or stands != self.review.proposal:
            return
        if (stands.proposal_id, stands.digest) == (proposal_id, digest):
            self.arming.paint(proposal_id, digest, Message().time)
            self._look_for_end()
            self._on_painted()  # the focus is decided on before the keys are shown
            self.show_words()

    def on_proposal_body_scrolled(self, event: ProposalBody.Scrolled) -> None:
        """The end may be in sight."""
        event.stop()
        self._look_for_end()

    def on_diff_pane_hunk_moved(self, event: DiffPane.HunkMoved) -> None:
        """A reason would be for another one."""
        event.stop()
        self.show_words()

    def _look_for_end(self) -> None:
        if self.arming.painted is not None and self.body.shows_end():
            self.arming.end_seen = True

    def on_resize(self) -> None:
        """The room changed."""
        self.show_words()
        self.call_after_refresh(self._look_for_end)

    def fit(self) -> None:
        """As high as it is long, some rows of the transcript left; the whole height where it is longer, or as said."""
        if self.review.proposal is None:
            return
        height = self.screen.size.height
        around = 1 + self.head.rows + self.foot.rows
        room = max(height // 2, height - ELSEWHERE) - around
        rows = self.body.rows
        is_full = rows > room if self.is_full is None else self.is_full
        self.takes_all = is_full or self.editing is not None
        self.set_class(height >= ROOMY and rows + 2 <= room, "-airy")
        self.set_class(self.takes_all, "-whole")
        self.body.fill(None if self.takes_all else min(rows, room))

    def make_room(self) -> None:
        """The person wants to see what is above it: it takes no more than its share until they want it whole."""
        if self.takes_all and self.editing is None:
            self.is_full = False
            self.fit()
            self.show_words()
            self.call_after_refresh(self.body.show_current)

    def show_words(self) -> None:
        """The lines above and below the proposal, as they are now."""
        shown, thoughts = self.body.shown, self.review.thoughts
        if shown is None or self.review.proposal is None:
            return
        self._place = self.review.place
        width = max(20, (self.size.width or self.screen.size.width) - 4)
        is_edited = self.editing is not None
        diff = self.body.diff.diff if self.body.diff.display else None
        self.head.tell(self.review, shown, diff, editing=is_edited, full=self.takes_all, width=width)
        self.foot.tell(
            self._keys(shown, thoughts),
            counts=self.has_focus_within,
            said=self._said,
            reason="" if is_edited or thoughts.asking else reasons(thoughts),
            width=width,
        )

    def _keys(self, shown: Shown, thoughts: Thoughts) -> list[tuple[str, str]]:
        if self.editing is not None:
            return EDITING
        pane = self.body.diff
        if thoughts.asking:
            return asking(None if thoughts.target is None else pane.hunks[thoughts.target].name)
        if self.arming.painted is None:
            return []
        return keys(
            shown,
            thoughts,
            always_shown=self.always_shown,
            current=pane.current,
            left=self._name_of_left(),
            hunks=len(pane.hunks) if pane.display else 0,
        )

    def _name_of_left(self) -> str:
        """Of the hunk that was just left, where another one is the current one by now."""
        pane, hunk = self.body.diff, self.just_left
        if hunk is None or hunk == pane.current or hunk >= len(pane.hunks):
            return ""
        return pane.hunks[hunk].name
