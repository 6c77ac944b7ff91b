"""Handle each action of the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import RundryError

from ..editor import command_set
from .decision.editing import opened
from .decision.pending_decision import approval, rejection, way_out
from .words import can_be_joined, is_editable, may_always

if TYPE_CHECKING:
    from .panel import GatePanel

END_FIRST = "scroll to the end first (PgDn, End)"
NO_ALWAYS = "always is not possible here: this needs a decision each time"
NO_ONE_RULE = "always is not possible here: no single rule would allow it"
NOT_JOINED = "the file has no text to edit: r asks the model again, m keeps it as it is, n rejects"
NOT_HERE = "mixed line ends can be edited only in your own editor: set EDITOR, then press e"


def approve(panel: GatePanel) -> None:
    """Approve the proposal, or its accepted hunks."""
    is_way_out_open = panel.shown.in_conflict and panel.review.thoughts.edited is None
    if panel.end_seen or is_way_out_open:  # which `approval` says then, and not that the end comes first
        panel.decide(lambda digest: approval(panel.shown, panel.review.thoughts, digest))
    else:
        panel.say(END_FIRST)


def reject(panel: GatePanel) -> None:
    """Reject the proposal."""
    panel.decide(lambda digest: rejection(panel.shown, panel.review.thoughts, digest))


def again(panel: GatePanel) -> None:
    """Ask the model to read the file and make its change again."""
    panel.decide(lambda digest: way_out(panel.shown, panel.review.thoughts, digest, "again"))


def mine(panel: GatePanel) -> None:
    """Keep the content of the disk."""
    panel.decide(lambda digest: way_out(panel.shown, panel.review.thoughts, digest, "mine"))


def always(panel: GatePanel) -> None:
    """Show the rule; the second time, write it."""
    thoughts = panel.review.thoughts
    if not may_always(panel.shown.proposal) or panel.shown.in_conflict:
        proposal = panel.shown.proposal
        is_open = proposal.command is not None and not proposal.danger and proposal.beyond is None
        panel.say(NO_ONE_RULE if is_open else NO_ALWAYS)
    elif thoughts.edited is not None or thoughts.picks.left_count:
        panel.say("always applies to the whole, unedited proposal: accept all, or press y for this once")
    elif not panel.end_seen:
        panel.say(END_FIRST)
    else:
        panel.always()


def pick(panel: GatePanel) -> None:
    """Accept or skip the current hunk and go to the next. Without hunks, scroll a page."""
    body, picks = panel.body, panel.review.thoughts.picks
    if not body.spans:
        body.move("space")
    else:
        hunk = body.diff.current
        picks.toggle(hunk)
        panel.just_left = None if picks.is_taken(hunk) else hunk
        body.mark(picks, hunk if picks.count > 1 else None)
        body.diff.go_to_hunk(hunk + 1)
        panel.show_words()


def take_all(panel: GatePanel) -> None:
    """Accept every hunk."""
    panel.review.thoughts.picks.take_all()
    panel.body.mark(panel.review.thoughts.picks)
    panel.show_words()


def leave_all(panel: GatePanel) -> None:
    """Skip every hunk."""
    panel.review.thoughts.picks.leave_all()
    panel.body.mark(panel.review.thoughts.picks)
    panel.show_words()


def reason(panel: GatePanel) -> None:
    """Ask for one: for the hunk that was just left, for the current one where it is left, else for the whole answer."""
    thoughts = panel.review.thoughts
    hunk = panel.body.diff.current if panel.just_left is None else panel.just_left
    on_left = bool(panel.body.spans) and not thoughts.picks.is_taken(hunk)
    thoughts.asking, thoughts.target = True, hunk if on_left else None
    panel.sync_reason()


def edit(panel: GatePanel, *, here: bool = False) -> None:
    """Edit the new text, in the user's editor if one is set."""
    proposal = panel.shown.proposal
    if not is_editable(proposal):
        panel.say("there is no text to edit")
        return
    if panel.shown.in_conflict and not can_be_joined(panel.shown):
        panel.say(NOT_JOINED)
        return
    try:
        text = panel.body.starting_text(panel.review)
        plain = opened(text.encode()).plain_ends
    except RundryError as error:
        panel.say(str(error))
        return
    if command_set() and not here:
        is_own = panel.review.thoughts.draft is not None
        panel.post_message(panel.EditAsked(proposal, text, is_own=is_own))
    elif plain:
        panel.edit_here(text)
    else:
        panel.say(NOT_HERE)


def edit_here(panel: GatePanel) -> None:
    """Edit the new text in place of the proposal."""
    edit(panel, here=True)


def full(panel: GatePanel) -> None:
    """Toggle the full height."""
    panel.is_full = not panel.takes_all
    panel.fit()
    panel.show_words()
    panel.call_after_refresh(panel.body.show_current)


def next_waiting(panel: GatePanel) -> None:
    """Show another proposal without a decision."""
    panel.go(1)


def previous_waiting(panel: GatePanel) -> None:
    """Show another proposal without a decision."""
    panel.go(-1)


def _of_diff(what: Callable[[GatePanel], None]) -> Callable[[GatePanel], None]:
    def do(panel: GatePanel) -> None:
        if panel.body.diff.display:
            what(panel)
            panel.call_after_refresh(panel.fit)

    return do


DOING: Mapping[str, Callable[[GatePanel], None]] = {
    "approve": approve,
    "reject": reject,
    "again": again,
    "mine": mine,
    "always": always,
    "pick": pick,
    "take_all": _of_diff(take_all),
    "leave_all": _of_diff(leave_all),
    "reason": reason,
    "edit": edit,
    "edit_here": edit_here,
    "full": full,
    "next_waiting": next_waiting,
    "previous_waiting": previous_waiting,
    "next_hunk": _of_diff(lambda panel: panel.body.diff.action_next_hunk()),
    "previous_hunk": _of_diff(lambda panel: panel.body.diff.action_previous_hunk()),
    "split": _of_diff(lambda panel: panel.body.diff.action_split()),
    "around": _of_diff(lambda panel: panel.body.diff.action_unfold()),
    "whole": _of_diff(lambda panel: panel.body.diff.action_full()),
}
