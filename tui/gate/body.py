"""What a proposal would do, in full: a change as a diff, a command as its whole line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from rundry.agent import ProposalOpened, RundryError

from ..diff import Diff, DiffPane, HunkMark
from .command import CommandPane
from .decision.editing import opened
from .decision.following import Content
from .decision.pending_decision import Shown
from .decision.picks import Picks
from .decision.review import Review
from .decision.spans import Span, spans_in, spans_of
from .words import body, is_editable


class ProposalBody(Vertical):
    """One of two panes. It never has the focus: the panel drives it."""

    DEFAULT_CSS = """
    ProposalBody { height: auto; }
    """

    class Ready(Message):
        """What is painted from now on is the proposal."""

    class Scrolled(Message):
        """Other rows came into sight."""

    def __init__(self, content: Content) -> None:
        """`content` gives a blob's bytes."""
        super().__init__()
        self._content = content
        self.diff = DiffPane()
        self.diff.can_focus = False
        self.command = CommandPane()
        self.shown: Shown | None = None
        """What stands there; its hunks are known once it is ready."""
        self._edited = False
        self._is_core_text = False
        """The unified diff itself is shown: its hunks are the gate's own."""

    def compose(self) -> ComposeResult:
        """Both; one is shown."""
        yield self.diff
        yield self.command

    def on_mount(self) -> None:
        """Follow the scrolling."""
        self.watch(self.command, "scroll_y", self._say_scrolled, init=False)

    def _say_scrolled(self) -> None:
        self.post_message(self.Scrolled())

    def show(self, review: Review) -> None:
        """The proposal of the review that is to be shown, as the person edited it where they did."""
        proposal, edited = review.proposal, review.thoughts.edited
        if proposal is None:
            return
        is_file = proposal.path is not None
        self.diff.display, self.command.display = is_file, not is_file
        self.shown = Shown(proposal, review.rebasing)
        self._edited, self._is_core_text = edited is not None, False
        if proposal.path is None:
            self.command.show(body(proposal))
            self.post_message(self.Ready())
            return
        before, after, text = self._sides(proposal, edited)
        if (after is None and proposal.after is not None) or (after is None and before is None):
            self._show_text(proposal)
        else:
            self.shown = Shown(proposal, review.rebasing, text)
            self.diff.show_change(proposal.path, before, after)

    def _sides(self, proposal: ProposalOpened, edited: str | None) -> tuple[bytes | None, bytes | None, str]:
        """The bytes before and after, and the text before where an edited one stands against it."""
        try:
            before = self._content(proposal.before)
            if edited is not None:
                file = opened(before)
                form = file if before else opened(self._content(proposal.after))
                return before, form.bytes_of(edited), file.text
            merged = self.shown.rebasing.merged if self.shown and self.shown.rebasing else None
            return before, self._content(merged or proposal.after), ""
        except RundryError:
            return None, None if edited is None else edited.encode(), ""

    def _show_text(self, proposal: ProposalOpened) -> None:
        self._is_core_text = True
        self.diff.show_unified(proposal.path or "", proposal.diff)

    def starting_text(self, review: Review) -> str:
        """Where an edit begins: the person's own version, both in one text after a conflict, or what is proposed.

        Raises RundryError where it is no text.
        """
        proposal, thoughts, rebasing = review.proposal, review.thoughts, review.rebasing
        own = thoughts.edited if thoughts.edited is not None else thoughts.draft
        if own is not None or proposal is None:
            return own or ""
        merged = rebasing.merged if rebasing is not None and rebasing.conflict else None
        return opened(self._content(merged or proposal.after), self._content(proposal.before)).text

    def line_ends(self, proposal: ProposalOpened, edited: str) -> str:
        """What was edited, with the line ends of the file."""
        try:
            return opened(self._content(proposal.before or proposal.after)).back(edited)
        except RundryError:
            return edited

    def find_hunks(self, picks: Picks) -> Picks | None:
        """The choices for the hunks that stand there now; None: others are about to be shown, the gate's own."""
        shown, sheet = self.shown, self.diff.sheet
        if shown is None or sheet is None or not self.diff.display:
            return Picks()
        spans = self._spans(shown, sheet.diff)
        if spans is None:
            self._show_text(shown.proposal)
            return None
        self.shown = Shown(shown.proposal, shown.rebasing, shown.before, spans)
        return picks if picks.count == len(spans) else Picks(len(spans))

    def _spans(self, shown: Shown, diff: Diff) -> tuple[Span, ...] | None:
        """Of all hunks, also those that are not compared yet; None: what stands there is not what the gate has."""
        if not self._may_choose(shown):
            return ()
        there = spans_of(diff)
        if self._edited or self._is_core_text:
            return tuple(there) if diff.complete else ()
        gates = spans_in(shown.proposal.diff)
        as_far = gates if diff.complete else gates[: len(there)]
        return tuple(gates) if there == as_far else None

    def _may_choose(self, shown: Shown) -> bool:
        proposal = shown.proposal
        if self._edited:
            return True
        return is_editable(proposal) and not shown.in_conflict and (proposal.after is not None or self._is_core_text)

    def mark(self, picks: Picks, hunk: int | None = None) -> None:
        """Show what is taken and left: of one hunk, or of all."""
        if not self.spans:
            return
        if hunk is not None:
            self.diff.mark_hunk(hunk, _mark(picks, hunk))
            return
        everyone = dict.fromkeys(range(picks.count), _TAKEN) if picks.count > 1 or picks.left_count else {}
        self.diff.marks.clear()
        self.diff.marks.update(everyone)
        for index in picks.left:
            self.diff.marks[index] = _mark(picks, index)
        self.diff.forget(0)
        self.diff.repaint()

    @property
    def spans(self) -> tuple[Span, ...]:
        """Of the hunks that can be taken or left."""
        return self.shown.spans if self.shown is not None else ()

    @property
    def rows(self) -> int:
        """How many it would take to show all; a guess for what was never drawn."""
        return max(1, self.diff.heights.total if self.diff.display else self.command.rows)

    def fill(self, rows: int | None) -> None:
        """Take so many rows; None: all that there are."""
        self.styles.height = "1fr" if rows is None else "auto"
        self.diff.styles.height = "1fr" if rows is None else rows
        self.command.styles.height = "1fr" if rows is None else "auto"

    def shows_end(self) -> bool:
        """The last row is in sight just now."""
        if not self.diff.display:
            pane = self.command
            return bool(pane.size.height) and pane.scroll_offset.y >= pane.max_scroll_y
        return self.diff.shows_end

    def first_line(self) -> int:
        """Of the new text: where the current hunk begins, from 1."""
        diff, at = self.diff.diff, self.diff.current
        if diff is None or at >= len(diff.hunks):
            return 1
        start = diff.hunks[at].row
        return next((row.new for row in diff.rows[start : start + 100] if row.kind == "+"), 1)

    def scrolls(self, key: str) -> bool:
        """It is a key that scrolls."""
        return key in _MOVES

    def move(self, key: str) -> None:
        """Scroll by a key that does."""
        of_diff, of_command = _MOVES[key]
        if self.diff.display:
            of_diff(self.diff)
        else:
            of_command(self.command)
        self.call_after_refresh(self._say_scrolled)

    def show_current(self) -> None:
        """The current hunk is in sight, also where there is less room now."""
        if self.diff.display and self.spans:
            self.diff.go_to_hunk(self.diff.current)

    def on_diff_pane_begun(self, event: DiffPane.Begun) -> None:
        """The first screen can be read; more is compared meanwhile."""
        event.stop()
        self.post_message(self.Ready())

    def on_diff_pane_ready(self, event: DiffPane.Ready) -> None:
        """It was compared."""
        event.stop()
        self.post_message(self.Ready())

    def on_diff_pane_end_seen(self, event: DiffPane.EndSeen) -> None:
        """The wheel brought the end into sight."""
        event.stop()
        self.post_message(self.Scrolled())


_TAKEN = HunkMark(taken=True)


def _mark(picks: Picks, hunk: int) -> HunkMark:
    return _TAKEN if picks.is_taken(hunk) else HunkMark(taken=False, reason=picks.reason(hunk))


_MOVES: Mapping[str, tuple[Callable[[DiffPane], None], Callable[[CommandPane], None]]] = {
    "up": (DiffPane.action_scroll_up, lambda pane: pane.scroll_up(animate=False)),
    "down": (DiffPane.action_scroll_down, lambda pane: pane.scroll_down(animate=False)),
    "pageup": (DiffPane.action_page_up, lambda pane: pane.scroll_page_up(animate=False)),
    "pagedown": (DiffPane.action_page_down, lambda pane: pane.scroll_page_down(animate=False)),
    "space": (DiffPane.action_page_down, lambda pane: pane.scroll_page_down(animate=False)),
    "home": (DiffPane.action_scroll_home, lambda pane: pane.scroll_home(animate=False)),
    "end": (DiffPane.action_scroll_end, lambda pane: pane.scroll_end(animate=False)),
}
