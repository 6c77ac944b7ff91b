"""Handle each action of the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import GIT_HELD, ConflictVerdict, Decide, RundryError

from ..keys.screen_keymap import keymap_of
from ..keys.user_editor import command_set, editor_command
from .edited_text import opened
from .entry_choices import effects_approval, effects_rejection, has_text, is_held, state_of, unread_entry
from .entry_rows import unfolds
from .gate_review import ONE_FILE, plan_approval
from .pending_decision import approval, rejection, way_out
from .proposal_words import allow_question, can_be_joined, is_editable, may_always, rules_of

if TYPE_CHECKING:
    from .edit_proposal import ProposalEdit
    from .gate_review import ProposalSource
    from .proposal_view import ProposalView

ASKS_FIRST = ("always", "session", "approve_all", "prefix")
"""Actions that show what they do, and do it when their key is pressed again; or that answer what others show."""
END_FIRST = "scroll to the end first ({scroll_page_down}, {scroll_end})"
OUT_OF_SIGHT = "scrolled to the hunk: {pick} accepts or skips it"
SCROLLED = "scrolled down: {approve} approves after the end was shown"
NO_ALWAYS = "not possible here: this needs a decision each time"
NO_ONE_RULE = "not possible here: no rule would allow it"
NO_PREFIX = "this command has no prefix that a rule could allow"
ALLOW_FIRST = "press {session} or {always} first: it shows what {prefix} allows"
NOT_WHOLE = "this applies to the whole, unedited proposal: accept all, or press {approve} for this once"
NOT_JOINED = "the file has no text to edit: {again} asks the model again, {mine} keeps it as it is, {reject} rejects"
OPEN_FIRST = "open a file first: {open_entry}"
READ_FIRST = "this always needs your approval: read it, then {approve} accepts it"
NO_HUNK = "no hunk is accepted: {reject} skips the file, {pick} accepts a hunk, {take_all} accepts all"
NOT_HERE = "mixed line ends can be edited only in your own editor: set EDITOR, then press {edit}"


class GateActions:
    """The action of each key of the gate. A decision names the digest that was painted."""

    def __init__(self, view: ProposalView, edit: ProposalEdit, source: ProposalSource) -> None:
        self._view, self._edit_proposal, self._source = view, edit, source

    def table(self) -> Mapping[str, Callable[[], None]]:
        """Return the actions by name."""
        view = self._view
        diff = view.body.diff
        return {
            "approve": self._approve,
            "reject": self._reject,
            "again": lambda: self._resolve("again"),
            "mine": lambda: self._resolve("mine"),
            "always": lambda: self._allow(always=True),
            "session": lambda: self._allow(always=False),
            "prefix": self._allow_prefix,
            "approve_all": self._approve_all,
            "explain": view.explain,
            "pick": self._pick,
            "open_entry": self._open_entry,
            "take_all": lambda: self._pick_all(accepted=True),
            "leave_all": lambda: self._pick_all(accepted=False),
            "reason": view.ask_reason,
            "edit": self._edit,
            "edit_here": lambda: self._edit(here=True),
            "full": view.toggle_full,
            "next_waiting": lambda: view.go(1),
            "previous_waiting": lambda: view.go(-1),
            "next_hunk": self._of_list(1, self._of_diff(diff.action_next_hunk)),
            "previous_hunk": self._of_list(-1, self._of_diff(diff.action_previous_hunk)),
            "split_hunk": self._split_hunk,
            "join_hunk": self._join_hunk,
            "split": self._of_diff(diff.action_split),
            "around": self._of_diff(diff.action_unfold),
            "whole": self._of_diff(diff.action_full),
        }

    def _named(self, text: str) -> str:
        return keymap_of(self._view.body).named(text)

    def _key(self, name: str) -> str:
        return keymap_of(self._view.body).shown(name)

    def _of_diff(self, what: Callable[[], None]) -> Callable[[], None]:
        def do() -> None:
            diff = self._view.body.diff
            if diff.display:
                what()
                diff.call_after_refresh(self._view.fit)

        return do

    def _of_list(self, by: int, otherwise: Callable[[], None]) -> Callable[[], None]:
        """Return an action that moves the cursor of the list of entries; where there is none, does something else."""

        def do() -> None:
            if self._view.is_list:
                self._view.body.entries.move(by)
                self._view.skipped(None)
                self._view.show_words()
            else:
                otherwise()

        return do

    def _approve(self) -> None:
        view = self._view
        if view.is_list:
            self._approve_list()
            return
        is_way_out_open = view.shown.in_conflict and view.review.pending.edited is None
        if view.end_seen or is_way_out_open:  # in a conflict `approval` names the keys that resolve it
            self._approve_shown()
        else:
            view.body.move("scroll_page_down")
            view.arming.decided()
            view.say(self._named(SCROLLED))

    def _approve_shown(self) -> None:
        """Approve what is shown; in an entry of several, accept it and return to the list."""
        view = self._view
        review, whole = view.review, view.review.whole
        if whole is None or whole.effects is None:
            self._decide(approval(view.shown, review.pending, self._digest))
        elif review.is_only_entry:
            self._decide(effects_approval(whole, review.whole_pending, self._digest))
        elif review.pending.picks.count and not review.pending.picks.accepted_count:
            view.say(self._named(NO_HUNK))
        else:
            view.close_entry(accepted=True)

    def _approve_list(self) -> None:
        """Approve what is accepted, once the list and what asks in every mode were seen."""
        view = self._view
        whole, pending = view.review.whole, view.review.whole_pending
        if whole is None or whole.effects is None:
            return
        if not view.end_seen:
            view.body.move("scroll_page_down")
            view.arming.decided()
            view.say(self._named(SCROLLED))
        elif (unread := unread_entry(whole.effects, pending)) is not None:
            view.arming.decided()
            view.open_entry(unread)
            view.say(self._named(READ_FIRST))
        else:
            self._decide(effects_approval(whole, pending, self._digest))

    def _open_entry(self) -> None:
        """Open the text of the entry with the cursor; unfold a folder, or what belongs to an entry."""
        view, row = self._view, self._view.body.entries.current
        whole = view.review.whole
        if not view.is_list or row is None or whole is None or whole.effects is None:
            return
        entry = whole.effects.entries[row.entries[0]]
        if row.kind == "entry" and has_text(entry):
            view.open_entry(row.entries[0])
        elif row.kind == "folder" or unfolds(entry):
            view.review.whole_pending.entries.unfolded ^= {row.key}
            view.body.entries.update()
            view.fit()
        else:
            view.say("there is no text to show")

    def _reject(self) -> None:
        view = self._view
        whole = view.review.whole
        if view.review.is_entry_of_several:
            view.close_entry(accepted=False)
        elif whole is not None and whole.effects is not None:
            self._decide(effects_rejection(whole, view.review.whole_pending, self._digest))
        else:
            self._decide(rejection(view.shown, view.review.pending, self._digest))

    def _resolve(self, how: ConflictVerdict) -> None:
        view = self._view
        self._decide(way_out(view.shown, view.review.pending, self._digest, how))

    def _allow(self, *, always: bool) -> None:
        """Show first what is allowed from now on; then approve, and add the rules: to the config, or to this run."""
        view = self._view
        proposal, pending = view.shown.proposal, view.review.pending
        if not may_always(proposal) or view.shown.in_conflict:
            is_open = proposal.path is None and not proposal.danger and proposal.beyond is None
            view.say(NO_ONE_RULE if is_open else NO_ALWAYS)
        elif pending.edited is not None or pending.picks.skipped_count:
            view.say(self._named(NOT_WHOLE))
        elif not view.end_seen:
            view.say(self._named(END_FIRST))
        else:
            name = "always" if always else "session"
            question = allow_question(proposal, self._key(name), self._key("prefix"), always=always)
            if view.confirmed(name, *question) and rules_of(proposal):
                self._approve_with_rules(always=always, prefix=False)

    def _allow_prefix(self) -> None:
        """Approve, and add the rules for other arguments: to what the question names, the config or this run."""
        view = self._view
        if view.asked not in ("always", "session"):
            view.cancel_question()
            view.say(self._named(ALLOW_FIRST if view.shown.proposal.prefixes else NO_PREFIX))
        elif not view.shown.proposal.prefixes:
            view.say(NO_PREFIX)
        else:
            self._approve_with_rules(always=view.asked == "always", prefix=True)

    def _approve_with_rules(self, *, always: bool, prefix: bool) -> None:
        self._decide(
            Decide(
                proposal_id=self._view.shown.proposal.proposal_id,
                digest=self._digest,
                verdict="approve",
                always=always,
                session=not always,
                prefix=prefix,
                reason=self._view.review.pending.reason or None,
            )
        )

    def _pick(self) -> None:
        """Accept or skip the current hunk and go to the next. Scroll to it if it is not visible.

        Without hunks, scroll a page.
        """
        body, picks = self._view.body, self._view.review.pending.picks
        if self._view.is_list:
            self._pick_row()
        elif not body.has_choice:
            body.move("scroll_page_down")
        elif not body.diff.marks_current:
            body.show_current()
            self._view.say(self._named(OUT_OF_SIGHT))
        else:
            hunk = body.diff.current
            picks.toggle(hunk)
            self._view.skipped(None if picks.is_accepted(hunk) else hunk)
            body.mark(picks, hunk if picks.count > 1 else None)
            body.diff.go_to_hunk(hunk + 1)
            self._view.show_words()

    def _pick_row(self) -> None:
        """Accept or skip the entry with the cursor, or all of its folder, and go to the next row."""
        view, row = self._view, self._view.body.entries.current
        whole, pending = view.review.whole, view.review.whole_pending
        if row is None or whole is None or whole.effects is None:
            return
        free = [at for at in row.entries if not whole.effects.entries[at].conflict]
        states = {state_of(whole.effects, pending, at) for at in free}
        if not free:
            view.say("this path changed while the command ran: it stays as it is")
            return
        if any(pending.picks.is_accepted(at) and is_held(whole.effects, pending, at) for at in free):
            view.say(GIT_HELD)
            return
        for at in free:
            pending.set_accepted(at, accepted="skipped" in states)
        is_skipped = row.kind == "entry" and "skipped" not in states
        view.skipped(free[0] if is_skipped else None)
        view.body.mark(pending.picks)
        view.body.entries.move(1)
        view.show_words()

    def _split_hunk(self) -> None:
        """Split the current hunk at its unchanged lines; where it has none, into its rows."""
        view = self._view
        if view.is_list:
            view.say(self._named(OPEN_FIRST))
            return
        found = view.body.finer(view.review)
        if isinstance(found, str):
            view.say(found)
        else:
            current = view.body.diff.current
            view.review.pending.split(*found)
            view.show_hunks(current)

    def _join_hunk(self) -> None:
        """Join the hunks that were split from the same hunk of the proposal as the current one."""
        view, pending = self._view, self._view.review.pending
        if view.is_list:
            return
        hunk = pending.hunk_of(view.body.diff.current)
        if hunk in pending.cuts:
            view.show_hunks(pending.split(hunk, []))
        else:
            view.say(self._named("this hunk is not split: {split_hunk} splits it"))

    def _pick_all(self, *, accepted: bool) -> None:
        view, picks = self._view, self._view.review.pending.picks
        if not view.is_list and not view.body.diff.display:
            return
        if accepted:
            picks.accept_all()
        else:
            picks.skip_all()
        view.body.mark(picks)
        view.show_words()
        view.body.diff.call_after_refresh(view.fit)

    def _edit(self, *, here: bool = False) -> None:
        """Edit the new text in the user's editor if one is set, else, or with `here`, in the panel."""
        view = self._view
        proposal = view.shown.proposal
        if view.is_list:
            view.say(self._named(OPEN_FIRST))
            return
        if not is_editable(proposal):
            view.say("there is no text to edit")
            return
        if view.shown.in_conflict and not can_be_joined(view.shown):
            view.say(self._named(NOT_JOINED))
            return
        try:
            text = view.body.starting_text(view.review)
            plain = opened(text.encode()).plain_ends
        except RundryError as error:
            view.say(str(error))
            return
        if (command_set() if plain else editor_command()) and not here:
            self._edit_proposal.in_user_editor(text)
        elif plain:
            self._edit_proposal.in_panel(text)
        else:
            view.say(self._named(NOT_HERE))

    def _approve_all(self) -> None:
        """Approve the remaining files of the answer; if one was not read or stays, name the files first."""
        view, plan = self._view, plan_approval(self._view.review)
        if view.arming.painted is None or view.review.is_answered:
            return
        if not plan.decisions or len(plan.decisions) + len(plan.left_out) < 2:
            view.say("; ".join(plan.excluded) or self._named(ONE_FILE))
            return
        needs_asking = plan.unread or plan.left_out
        question = tuple((each.proposal_id, each.digest) for each in plan.decisions)
        if needs_asking and not view.confirmed(question, plan.question(self._key("approve_all"))):
            view.arming.decided()
            return
        view.arming.decided()
        view.cancel_question()
        for command in plan.decisions:
            view.review.answer(command)
        view.show_current()
        for at, command in enumerate(plan.decisions):
            if not self._send(command):
                for later in plan.decisions[at + 1 :]:
                    view.review.take_back(later.proposal_id)
                break

    @property
    def _digest(self) -> str:
        """The digest of what was painted."""
        painted = self._view.arming.painted
        return "" if painted is None else painted.digest

    def _decide(self, command: Decide | str) -> None:
        """Send a decision on what was painted; a text says why it cannot be decided."""
        view = self._view
        if view.arming.painted is None or view.review.is_answered:
            return
        if isinstance(command, str):
            view.say(self._named(command))
            return
        view.arming.decided()
        view.review.answer(command)
        view.show_current()
        self._send(command)

    def _send(self, command: Decide) -> bool:
        """Put the decision into the inbox. Return whether a runner can take another one."""
        review = self._view.review
        try:
            number = self._source.decide(command)
        except RundryError as error:
            review.take_back(command.proposal_id)
            self._view.say(str(error))
            return False
        review.sent(command.proposal_id, number)
        return number is not None
