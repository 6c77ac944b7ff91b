"""Handle each action of the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rundry.agent import ProposalOpened, RundryError

from ..editor import command_set
from .answers import Answers
from .decision.editing import opened
from .decision.pending_decision import approval, rejection, way_out
from .in_place import InPlaceEdit
from .reasoning import ReasonRequest
from .view import ProposalView
from .words import can_be_joined, is_editable, may_always

END_FIRST = "scroll to the end first (PgDn, End)"
NO_ALWAYS = "always is not possible here: this needs a decision each time"
NO_ONE_RULE = "always is not possible here: no single rule would allow it"
NOT_JOINED = "the file has no text to edit: r asks the model again, m keeps it as it is, n rejects"
NOT_HERE = "mixed line ends can be edited only in your own editor: set EDITOR, then press e"


class GateActions:
    """The action of each key of the gate."""

    def __init__(
        self,
        view: ProposalView,
        answers: Answers,
        reason: ReasonRequest,
        in_place: InPlaceEdit,
        ask_for_edit: Callable[[ProposalOpened, str, bool], None],
    ) -> None:
        """`ask_for_edit` opens the user's editor: proposal, text, and whether the text is already theirs."""
        self._view, self._answers, self._reason, self._in_place = view, answers, reason, in_place
        self._ask_for_edit = ask_for_edit

    def table(self) -> Mapping[str, Callable[[], None]]:
        """Return the actions by name."""
        view = self._view
        diff = view.body.diff
        return {
            "approve": self._approve,
            "reject": self._reject,
            "again": lambda: self._resolve("again"),
            "mine": lambda: self._resolve("mine"),
            "always": self._always,
            "pick": self._pick,
            "take_all": self._of_diff(lambda: self._pick_all(taken=True)),
            "leave_all": self._of_diff(lambda: self._pick_all(taken=False)),
            "reason": self._reason.begin,
            "edit": self._edit,
            "edit_here": lambda: self._edit(here=True),
            "full": view.toggle_full,
            "next_waiting": lambda: view.go(1),
            "previous_waiting": lambda: view.go(-1),
            "next_hunk": self._of_diff(diff.action_next_hunk),
            "previous_hunk": self._of_diff(diff.action_previous_hunk),
            "split": self._of_diff(diff.action_split),
            "around": self._of_diff(diff.action_unfold),
            "whole": self._of_diff(diff.action_full),
        }

    def _of_diff(self, what: Callable[[], None]) -> Callable[[], None]:
        def do() -> None:
            diff = self._view.body.diff
            if diff.display:
                what()
                diff.call_after_refresh(self._view.fit)

        return do

    def _approve(self) -> None:
        view = self._view
        is_way_out_open = view.shown.in_conflict and view.review.thoughts.edited is None
        if view.end_seen or is_way_out_open:  # in a conflict `approval` names the keys that resolve it
            self._answers.decide(lambda digest: approval(view.shown, view.review.thoughts, digest))
        else:
            view.say(END_FIRST)

    def _reject(self) -> None:
        view = self._view
        self._answers.decide(lambda digest: rejection(view.shown, view.review.thoughts, digest))

    def _resolve(self, how: str) -> None:
        view = self._view
        self._answers.decide(lambda digest: way_out(view.shown, view.review.thoughts, digest, how))

    def _always(self) -> None:
        view = self._view
        proposal, thoughts = view.shown.proposal, view.review.thoughts
        if not may_always(proposal) or view.shown.in_conflict:
            is_open = proposal.command is not None and not proposal.danger and proposal.beyond is None
            view.say(NO_ONE_RULE if is_open else NO_ALWAYS)
        elif thoughts.edited is not None or thoughts.picks.left_count:
            view.say("always applies to the whole, unedited proposal: accept all, or press y for this once")
        elif not view.end_seen:
            view.say(END_FIRST)
        else:
            self._answers.always()

    def _pick(self) -> None:
        """Accept or skip the current hunk and go to the next. Without hunks, scroll a page."""
        body, picks = self._view.body, self._view.review.thoughts.picks
        if not body.spans:
            body.move("space")
        else:
            hunk = body.diff.current
            picks.toggle(hunk)
            self._view.skipped(None if picks.is_taken(hunk) else hunk)
            body.mark(picks, hunk if picks.count > 1 else None)
            body.diff.go_to_hunk(hunk + 1)
            self._view.show_words()

    def _pick_all(self, *, taken: bool) -> None:
        picks = self._view.review.thoughts.picks
        if taken:
            picks.take_all()
        else:
            picks.leave_all()
        self._view.body.mark(picks)
        self._view.show_words()

    def _edit(self, *, here: bool = False) -> None:
        """Edit the new text in the user's editor if one is set, else, or with `here`, in the panel."""
        view = self._view
        proposal = view.shown.proposal
        if not is_editable(proposal):
            view.say("there is no text to edit")
            return
        if view.shown.in_conflict and not can_be_joined(view.shown):
            view.say(NOT_JOINED)
            return
        try:
            text = view.body.starting_text(view.review)
            plain = opened(text.encode()).plain_ends
        except RundryError as error:
            view.say(str(error))
            return
        if command_set() and not here:
            self._ask_for_edit(proposal, text, view.review.thoughts.draft is not None)
        elif plain:
            self._in_place.open(text)
        else:
            view.say(NOT_HERE)
