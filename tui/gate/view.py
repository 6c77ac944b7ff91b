"""Show the current proposal in the gate panel, fit its height, and record when it was painted."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message
from textual.widget import Widget

from rundry.agent import ProposalOpened, ViewState

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
"""Rows for the header, the message box and a part of the transcript."""
EDITING = [("^s", "keep your version"), ("esc", "discard it")]


class ProposalView:
    """Shows one of the waiting proposals in the parts of the panel. Keys count once the proposal was painted."""

    def __init__(
        self,
        panel: Widget,
        content: Content,
        on_painted: Callable[[], None],
        *,
        sync_reason: Callable[[], None],
        on_other: Callable[[], None],
    ) -> None:
        """`content` returns the bytes of a blob.

        `sync_reason` shows or hides the line for a reason. `on_other` is called before another proposal is shown.
        """
        self._panel = panel
        self._on_painted, self._sync_reason, self._on_other = on_painted, sync_reason, on_other
        self.content = content
        self.arming = Arming()
        self.review = Review(content)
        self.body = ProposalBody(content)
        self.head, self.foot = GateHead(), GateFoot()
        self.is_full: bool | None = None
        """Whether the user wants the whole height; None: only a long proposal takes it."""
        self.takes_all = False
        """It takes the whole height, that of the transcript too."""
        self.always_shown = False
        """The rule that `always` writes is shown."""
        self.editing: ProposalOpened | None = None
        """The proposal that the user edits; nothing else is shown meanwhile."""
        self._stands: object = None
        """What the body shows."""
        self.just_left: int | None = None
        """The hunk that the last key skipped: Tab asks for the reason."""
        self._place = (0, 0)
        self._said = ""

    @property
    def proposal(self) -> ProposalOpened | None:
        """The proposal that is shown."""
        return self.review.proposal

    @property
    def shown(self) -> Shown:
        """What is painted, or will be with the next paint."""
        found = self.body.shown
        assert found is not None, "keys count only once a proposal stands there"
        return found

    @property
    def end_seen(self) -> bool:
        """Whether the last row was visible at least once."""
        return self.arming.end_seen or self.body.shows_end()

    def show(self, state: ViewState) -> None:
        """Show one of the waiting proposals, and redraw it if it changed."""
        self.review.look(state)
        refused = self.review.refusal(state)
        if self.editing is None:
            self.show_current()
        if refused is not None:
            self.say(refused)

    def show_current(self) -> None:
        """Show the proposal that the review is at."""
        proposal = self.review.proposal
        stands = None if proposal is None else (proposal, self.review.rebasing)
        if stands == self._stands:
            if self.review.place != self._place:
                self.show_words()
            return
        before, self._stands = self._stands, stands
        self.always_shown, self._said = False, ""
        self._panel.display = proposal is not None
        is_other = before is None or proposal is None or self.shown.proposal.proposal_id != proposal.proposal_id
        if is_other:
            self.is_full = None
            self._on_other()
        if proposal is None:
            self.arming.blank()
            self.takes_all = False
        else:
            self.show_body()

    def show_again(self) -> None:
        """Show the proposal of the review from its start, even if it is already shown."""
        self._stands = None
        self.show_current()

    def show_body(self) -> None:
        """Redraw the proposal; keys count again once it was painted."""
        self.arming.blank()
        self.just_left = None
        self.body.show(self.review)
        self.fit()
        self.show_words()
        self._sync_reason()

    def go(self, by: int) -> None:
        """Show the next or the previous waiting proposal."""
        self.review.go(by)
        self.show_current()

    def toggle_full(self) -> None:
        """Use the whole height, or only a share of it."""
        self.is_full = not self.takes_all
        self.fit()
        self.show_words()
        self._panel.call_after_refresh(self.body.show_current)

    def show_rule(self) -> None:
        """Show the rule that `always` writes."""
        self.always_shown = True
        self.say(f"always would write: {self.shown.proposal.rule}")

    def hide_rule(self) -> None:
        """Hide that rule, and the notice."""
        self.always_shown = False
        self.clear_notice()

    def skipped(self, hunk: int | None) -> None:
        """Remember the hunk that the last key skipped; None: it skipped none."""
        self.just_left = hunk

    def begin_edit(self) -> None:
        """Show the editor in place of the proposal."""
        self.editing = self.shown.proposal
        self._panel.add_class("-editing")
        self.arming.blank()
        self.fit()

    def end_edit(self) -> ProposalOpened | None:
        """Hide the editor, and return the proposal that was edited."""
        proposal, self.editing = self.editing, None
        self._panel.remove_class("-editing")
        return proposal

    def say(self, text: str) -> None:
        """Show a notice above the keys."""
        self._said = one_line(text)
        self.show_words()

    def clear_notice(self) -> None:
        """Remove the notice above the keys."""
        if self._said:
            self.say("")

    # painting

    def body_is_ready(self) -> None:
        """Take over the hunks of the proposal, which the next paint shows."""
        self.arming.blank()
        proposal, thoughts = self.review.proposal, self.review.thoughts
        picks = self.body.find_hunks(thoughts.picks)
        if proposal is None or picks is None:
            return
        thoughts.picks = picks
        self.body.mark(picks)
        self.paint_soon()

    def paint_soon(self) -> None:
        """Let keys count after the next paint."""
        self.arming.blank()
        proposal = self.review.proposal
        if proposal is not None:
            self.fit()
            self.show_words()
            self._panel.call_after_refresh(self._painted_once, proposal.proposal_id, proposal.digest)

    def _painted_once(self, proposal_id: str, digest: str, rounds: int = 2) -> None:
        # a pane that was hidden is laid out in the first refresh and drawn in the second, which then knows how long it
        # is where its lines are wrapped
        self.fit()
        if self.body.diff.display:
            self.body.diff.look_at_change()
        self._panel.call_after_refresh(self._painted_again, proposal_id, digest, self.body.rows, rounds)

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
            self.look_for_end()
            self._on_painted()  # the focus is decided on before the keys are shown
            self.show_words()

    def look_for_end(self) -> None:
        """Record whether the last row of the painted proposal is visible."""
        if self.arming.painted is not None and self.body.shows_end():
            self.arming.end_seen = True

    def resized(self) -> None:
        """Arrange the lines for the new size."""
        self.show_words()
        self._panel.call_after_refresh(self.look_for_end)

    def fit(self) -> None:
        """Set the height: the rows of the proposal, or the whole height if it is longer or the user wants it."""
        if self.review.proposal is None:
            return
        height = self._panel.screen.size.height
        around = 1 + self.head.rows + self.foot.rows
        room = max(height // 2, height - ELSEWHERE) - around
        rows = self.body.rows
        is_full = rows > room if self.is_full is None else self.is_full
        self.takes_all = is_full or self.editing is not None
        self._panel.set_class(height >= ROOMY and rows + 2 <= room, "-airy")
        self._panel.set_class(self.takes_all, "-whole")
        self.body.fill(None if self.takes_all else min(rows, room))

    def make_room(self) -> None:
        """Leave the whole height, so that the transcript is visible, until the user asks for it again."""
        if self.takes_all and self.editing is None:
            self.is_full = False
            self.fit()
            self.show_words()
            self._panel.call_after_refresh(self.body.show_current)

    def show_words(self) -> None:
        """Update the lines above and below the proposal."""
        shown, thoughts = self.body.shown, self.review.thoughts
        if shown is None or self.review.proposal is None:
            return
        self._place = self.review.place
        width = max(20, (self._panel.size.width or self._panel.screen.size.width) - 4)
        is_edited = self.editing is not None
        diff = self.body.diff.diff if self.body.diff.display else None
        self.head.tell(self.review, shown, diff, editing=is_edited, full=self.takes_all, width=width)
        self.foot.tell(
            self._keys(shown, thoughts),
            counts=self._panel.has_focus_within,
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
        """Return the name of the hunk that was just skipped, if it is not the current one."""
        pane, hunk = self.body.diff, self.just_left
        if hunk is None or hunk == pane.current or hunk >= len(pane.hunks):
            return ""
        return pane.hunks[hunk].name
