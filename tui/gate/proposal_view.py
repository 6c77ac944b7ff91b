"""Show the current proposal in the gate panel, fit its height, and record when it was painted."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from textual.message import Message
from textual.widget import Widget

from ..text.show_text import one_line
from .ask_reason import ReasonRequest
from .entry_choices import STAGE
from .entry_rows import entry_key
from .gate_arming import Arming
from .gate_foot import GateFoot
from .gate_review import Review
from .proposal_body import ProposalBody
from .proposal_head import ROOMY, TIGHT, GateHead
from .proposal_words import EDITING, asking, entry_keys, keys, list_keys, reasons, stage_keys

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened

    from ..keys.letters import LetterKeys
    from .gate_review import ProposalSource, Waiting
    from .pending_decision import PendingDecision, Shown

_ELSEWHERE = 14
"""Rows for the header, the message box and a part of the transcript."""
_ROUNDS = 2
"""Refreshes after which the length of a proposal is taken as final."""


class GateScreen(Protocol):
    """The screen with a gate panel: the main screen, or the review of a stage."""

    def proposal_painted(self) -> None:
        """Give the gate the focus if it may take it now. A call, because the keys are drawn for the focus."""
        ...


class ProposalView:
    """Shows one of the waiting proposals in the parts of the panel. Keys count once the proposal was painted."""

    def __init__(self, panel: Widget, source: ProposalSource, screen: GateScreen, keyboard: LetterKeys) -> None:
        self._panel, self._screen = panel, screen
        self.arming = Arming()
        self.review = Review(source)
        self.body = ProposalBody(source)
        self.head, self.foot = GateHead(), GateFoot()
        self.reason = ReasonRequest(self.review, self.body, panel, keyboard)
        self._is_full: bool | None = None
        """Whether the person wants the whole height, or None if the size of the proposal and of the screen decides."""
        self.takes_all = False
        """It takes the whole height, that of the transcript too."""
        self.asked: Hashable = None
        """The question that the same key confirms."""
        self.editing: ProposalOpened | None = None
        """The proposal that the person edits; nothing else is shown meanwhile."""
        self._stands: object = None
        """The content of the body."""
        self._go_to: int | None = None
        """The hunk to show after the next paint, if the same change is shown with other hunks."""
        self._was_read = False
        """Whether the end of that change was visible before."""
        self.is_explained = False
        """The reasons why it waits are shown in full."""
        self.just_skipped: int | None = None
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
    def is_list(self) -> bool:
        """Whether the list of what a command would change is shown."""
        return self.body.entries.display

    @property
    def end_seen(self) -> bool:
        """Whether the last row was visible at least once."""
        return self.arming.end_seen or self.body.shows_end()

    def show(self, state: Waiting) -> None:
        """Show one of the waiting proposals, and redraw it if it changed."""
        self.review.update(state)
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
        self.asked, self._said = None, ""
        self._panel.display = proposal is not None
        is_other = before is None or proposal is None or self.shown.proposal.proposal_id != proposal.proposal_id
        if is_other:
            self._is_full, self.is_explained = None, False
            self.reason.move_to_message()
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
        self.just_skipped = self._go_to = None
        self._was_read = False
        self.body.show(self.review)
        self.fit()
        self.reason.sync()
        self.show_words()

    def show_hunks(self, hunk: int) -> None:
        """Show the same change, whose hunks were split or joined, at this hunk. What was read stays read."""
        end_seen = self.end_seen
        self.show_body()
        self._go_to = hunk
        self._was_read = end_seen

    def open_entry(self, index: int) -> None:
        """Show the text of an entry instead of the list."""
        self.review.whole_pending.entries.opened = index
        self.show_current()

    def close_entry(self, *, accepted: bool | None = None) -> None:
        """Return to the list. The cursor moves if the entry was accepted or skipped; with None, it was neither."""
        pending, opened = self.review.whole_pending, self.review.opened
        own = self.review.pending
        pending.entries.opened = None
        if opened is None:
            return
        pending.entries.row = entry_key(opened)
        if accepted is not None:
            pending.set_accepted(opened, accepted=accepted)
            if not accepted and own.reason:
                pending.picks.give_reason(opened, own.reason)
        self.show_current()
        if accepted is not None:
            self.body.entries.move(1)

    def go(self, by: int) -> None:
        """Show the next or the previous waiting proposal."""
        self.review.go(by)
        self.show_current()

    def toggle_full(self) -> None:
        """Use the whole height, or only a share of it."""
        self._is_full = not self.takes_all
        self.fit()
        self.show_words()
        self._panel.call_after_refresh(self.body.show_current)

    def step_back(self) -> bool:
        """Close one thing that is open on the proposal, the newest kind first. Return False if nothing is open."""
        if self.asked is not None:
            self.cancel_question()
            self.show_words()
        elif self.is_explained:
            self.explain()
        elif self.body.diff.display and self.body.diff.close_folds():
            self.body.diff.call_after_refresh(self.fit)
        elif self.review.is_entry_of_several:
            self.close_entry()
        elif self._is_full:
            self.toggle_full()
        else:
            return False
        return True

    def confirmed(self, question: Hashable, *lines: str) -> bool:
        """Return whether this question was shown already; otherwise show its lines."""
        if self.asked == question:
            return True
        self.asked = question
        self.say(*lines)
        return False

    def cancel_question(self) -> None:
        """Hide the question, and the notice."""
        self.asked = None
        self.clear_notice()

    def explain(self) -> None:
        """Show each reason in full, or one line."""
        self.is_explained = not self.is_explained
        self.fit()
        self.show_words()

    def skipped(self, hunk: int | None) -> None:
        """Remember the hunk that the last key skipped, or None if it skipped none."""
        self.just_skipped = hunk

    def ask_reason(self) -> None:
        """Ask for the reason of the hunk just skipped, of the current one if it is skipped, or of the whole answer."""
        self.reason.begin(self.just_skipped)
        self.show_words()

    def end_reason(self, text: str, *, kept: bool) -> None:
        """Store a reason for the answer; if not `kept`, only for the next time that it is asked for."""
        self.reason.end(text, kept=kept)
        self.skipped(None)
        self.show_words()

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

    def say(self, *lines: str) -> None:
        """Show a notice above the keys."""
        self._said = "\n".join(map(one_line, lines))
        self.show_words()

    def clear_notice(self) -> None:
        """Remove the notice above the keys."""
        if self._said:
            self.say("")

    def body_is_ready(self) -> None:
        """Take over the hunks of the proposal, which the next paint shows."""
        self.arming.blank()
        proposal, pending = self.review.proposal, self.review.pending
        picks = self.body.find_hunks(pending.picks)
        if proposal is None or picks is None:
            return
        pending.choose(picks)
        self.body.mark(picks)
        self.paint_soon()

    def paint_soon(self) -> None:
        """Let keys count after the next paint."""
        self.arming.blank()
        proposal = self.review.proposal
        if proposal is not None:
            self.fit()
            self.show_words()
            self._panel.call_after_refresh(self._drawn, proposal.proposal_id, proposal.digest, _ROUNDS)

    def _drawn(self, proposal_id: str, digest: str, rounds: int) -> None:
        # a pane that was hidden is laid out in the first refresh and drawn in the second, which then knows how long it
        # is where its lines are wrapped
        self.fit()
        if self.body.diff.display:
            self.body.diff.scroll_to_change()
        self._panel.call_after_refresh(self._measured, proposal_id, digest, self.body.rows, rounds)

    def _measured(self, proposal_id: str, digest: str, rows: int, rounds: int) -> None:
        if rounds and self.body.rows != rows:
            self._drawn(proposal_id, digest, rounds - 1)
        else:
            self._painted(proposal_id, digest)

    def _painted(self, proposal_id: str, digest: str) -> None:
        stands = self.body.shown.proposal if self.body.shown is not None else None
        if self.editing is not None or stands is None or stands != self.review.proposal:
            return
        if (stands.proposal_id, stands.digest) == (proposal_id, digest):
            self.arming.paint(proposal_id, digest, Message().time)
            was_read = self._was_read or (self.is_list and self.review.whole_pending.entries.list_read)
            self.arming.end_seen, self._was_read = was_read, False
            if self._go_to is not None:
                self.body.diff.go_to_hunk(self._go_to)
                self._go_to = None
            self.look_for_end()
            self._screen.proposal_painted()
            self.show_words()

    def look_for_end(self) -> None:
        """Record whether the last row of the painted proposal is visible."""
        if self.arming.painted is not None and self.body.shown is not None:
            self.arming.end_seen = self.arming.end_seen or self.body.shows_end()
            self.review.note_painted(self.body.shown, read=self.arming.end_seen)
            if self.is_list and self.arming.end_seen:
                self.review.whole_pending.entries.list_read = True

    def resized(self) -> None:
        """Arrange the lines for the new size."""
        self.show_words()
        self._panel.call_after_refresh(self.look_for_end)

    def fit(self) -> None:
        """Set the height: the rows of the proposal, or all of it if it is longer, edited, or the person wants it."""
        if self.review.proposal is None:
            return
        height = self._panel.screen.size.height
        room = max(height // 2, height - _ELSEWHERE) - 1 - self.head.rows - self.foot.rows
        rows = self.body.rows
        is_full = (rows > room or height < TIGHT) if self._is_full is None else self._is_full
        took_all, self.takes_all = self.takes_all, is_full or self.editing is not None
        self._panel.set_class(height >= ROOMY and rows + 2 <= room, "-airy")
        self._panel.set_class(self.takes_all, "-whole")
        self.body.fill(None if self.takes_all else min(rows, room))
        if took_all != self.takes_all:
            self.show_words()  # the title says what `f` does

    def make_room(self) -> None:
        """Leave the whole height, so that the transcript is visible, until the person asks for it again."""
        if self.takes_all and self.editing is None:
            self._is_full = False
            self.fit()
            self.show_words()
            self._panel.call_after_refresh(self.body.show_current)

    def show_words(self) -> None:
        """Update the lines above and below the proposal."""
        shown, pending = self.body.shown, self.review.pending
        if shown is None or self.review.proposal is None:
            return
        self._place = self.review.place
        width = max(20, self._panel.size.width - 2 if self._panel.size else self._panel.screen.size.width - 4)
        is_edited = self.editing is not None
        self.head.show_title(
            self.review,
            shown,
            self.body.diff if self.body.diff.display else None,
            editing=is_edited,
            full=self.takes_all,
            explained=self.is_explained,
            asking=bool(self._said),
            width=width,
        )
        self.foot.show_keys(
            EDITING if is_edited else self._keys(shown, pending),
            counts=self._panel.has_focus_within,
            said=self._said,
            reason="" if is_edited or pending.asking else reasons(pending),
            width=width,
            place="line" if is_edited or pending.asking else "gate",
        )

    def _keys(self, shown: Shown, pending: PendingDecision) -> list[tuple[str, str]]:
        whole = self.review.whole
        found = self._keys_of(shown, pending)
        is_stage = whole is not None and whole.tool == STAGE and not pending.asking
        return stage_keys(found) if is_stage and not self.review.is_entry_of_several else found

    def _keys_of(self, shown: Shown, pending: PendingDecision) -> list[tuple[str, str]]:
        pane = self.body.diff
        if pending.asking:
            return asking(None if pending.target is None else self.body.name_of(pending.target))
        if self.arming.painted is None:
            return []
        whole = self.review.whole
        if self.is_list and whole is not None and whole.effects is not None:
            other = self.body.other_hunk(self.just_skipped)
            return list_keys(whole.effects, pending, current=self.body.current, other=other, asked=whole.asks)
        found = keys(
            shown,
            pending,
            asked=self.asked,
            current=pane.current,
            other=self.body.other_hunk(self.just_skipped),
            hunks=len(pane.hunks) if pane.display else 0,
            files=len(self.review.rest_of_answer()),
        )
        return entry_keys(found, pending.picks) if self.review.is_entry_of_several else found
