"""Show a proposal in full: a change as a diff, a command as its whole line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from rundry.agent import ProposalOpened, RundryError, entry_name

from ..diff.diff_pane import DiffPane
from ..diff.renderer import HunkMark
from ..keys.screen_keymap import keymap_of
from ..keys.scrolling import scroll
from ..text.show_text import show
from .edited_text import opened
from .entry_choices import ENTRY
from .entry_list import EntriesPane
from .hunk_choices import HunkChoices
from .hunk_lines import spans_in, spans_of
from .pending_decision import Shown
from .proposal_words import body, is_editable

if TYPE_CHECKING:
    from ..diff.diff_rows import Diff
    from .gate_review import ProposalSource, Review


class ProposalBody(Vertical):
    """The panes for a change, for a command and for a list of entries. It never has the focus: the panel drives it."""

    DEFAULT_CSS = """
    ProposalBody { height: auto; }
    """

    class Ready(Message):
        """The proposal is ready to be painted."""

    class Scrolled(Message):
        """Other rows became visible."""

    def __init__(self, source: ProposalSource) -> None:
        super().__init__()
        self._source = source
        self.diff = DiffPane()
        self.diff.can_focus = False
        self.command = CommandPane()
        self.entries = EntriesPane()
        self.entries.display = False
        self.shown: Shown | None = None
        """What is shown; its hunks are known once it is ready."""
        self._edited = False
        self._cuts: Mapping[int, list[int]] = {}
        self._is_core_text = False
        """The unified diff of the proposal itself is shown, so its hunks are those of the gate."""

    def compose(self) -> ComposeResult:
        """Yield the panes; one is visible."""
        yield self.diff
        yield self.command
        yield self.entries

    @property
    def current(self) -> int:
        """The current hunk, or the entry with the cursor, or -1 for a row that stands for several entries."""
        if not self.entries.display:
            return self.diff.current
        row = self.entries.current
        return row.entries[0] if row is not None and row.kind == "entry" else -1

    def name_of(self, choice: int) -> str:
        """Return the name of a hunk or entry, or an empty text if there is none."""
        if self.entries.display:
            effects = None if self.shown is None else self.shown.proposal.effects
            there = effects is not None and 0 <= choice < len(effects.entries)
            return entry_name(effects.entries[choice]) if effects is not None and there else ""
        return self.diff.hunks[choice].name if 0 <= choice < len(self.diff.hunks) else ""

    def other_hunk(self, hunk: int | None) -> str:
        """Return the name of a hunk that is not the current one, or an empty text if there is no such hunk."""
        return "" if hunk is None or hunk == self.current else self.name_of(hunk)

    def on_mount(self) -> None:
        """Report when the command pane is scrolled."""
        self.watch(self.command, "scroll_y", self._say_scrolled, init=False)

    def _say_scrolled(self) -> None:
        self.post_message(self.Scrolled())

    def show(self, review: Review) -> None:
        """Show the present proposal of the review, with the text that the person edited, if there is one."""
        proposal, edited = review.proposal, review.pending.edited
        if proposal is None:
            return
        is_file, is_list = proposal.path is not None, proposal.effects is not None
        self.diff.display, self.entries.display = is_file, is_list
        self.command.display = not is_file and not is_list
        self.shown = Shown(proposal, review.rebasing)
        self._edited, self._is_core_text, self._cuts = edited is not None, False, review.pending.cuts
        if proposal.effects is not None:
            self.shown = Shown(proposal, count=len(proposal.effects.entries))
            self.entries.show(proposal.effects, review.pending)
            self.post_message(self.Ready())
            return
        if proposal.path is None:
            self.command.show(body(proposal) if edited is None else show(edited.rstrip("\n")))
            self.post_message(self.Ready())
            return
        before, after, text = self._sides(proposal, edited)
        if (after is None and proposal.after is not None) or (after is None and before is None):
            self._show_text(proposal)
        else:
            self.shown = Shown(proposal, review.rebasing, text)
            self.diff.show_change(proposal.path, before, after, self._cuts)

    def _sides(self, proposal: ProposalOpened, edited: str | None) -> tuple[bytes | None, bytes | None, str]:
        """Return file content before and after the change, plus the original text if the person edited the proposal."""
        try:
            before = self._source.content(proposal.before)
            if edited is not None:
                file = opened(before)
                form = file if before else opened(self._source.content(proposal.after))
                return before, form.bytes_of(edited), file.text
            merged = self.shown.rebasing.merged if self.shown and self.shown.rebasing else None
            return before, self._source.content(merged or proposal.after), ""
        except RundryError:
            return None, None if edited is None else edited.encode(), ""

    def _show_text(self, proposal: ProposalOpened) -> None:
        self._is_core_text = True
        self.diff.show_unified(proposal.path or "", proposal.diff)

    def starting_text(self, review: Review) -> str:
        """Return the text with which an edit begins.

        It is the person's own version, both versions in one text after a conflict, or the proposed text. Raises
        RundryError if it is not text.
        """
        proposal, pending, rebasing = review.proposal, review.pending, review.rebasing
        if pending.edited is not None or proposal is None:
            return pending.edited or ""
        if pending.draft is not None:
            return self._with_disk(pending.draft, pending.fitted, proposal.before)
        merged = rebasing.merged if rebasing is not None and rebasing.conflict else None
        return opened(self._source.content(merged or proposal.after), self._source.content(proposal.before)).text

    def _with_disk(self, draft: str, fitted: str | None, now: str | None) -> str:
        """Return the person's version and the file as it is now in one text, with markers where both changed it."""
        from rundry.agent import merge  # the gate costs ~15 ms to import

        try:
            return merge(opened(self._source.content(fitted)).text, opened(self._source.content(now)).text, draft).text
        except RundryError:
            return draft

    def line_ends(self, proposal: ProposalOpened, edited: str) -> str:
        """Return the edited text with the line ends of the file."""
        try:
            return opened(self._source.content(proposal.before or proposal.after)).back(edited)
        except RundryError:
            return edited

    def find_hunks(self, picks: HunkChoices) -> HunkChoices | None:
        """Return the choices for the shown hunks, or None if the hunks of the gate are about to be shown instead."""
        if self.entries.display:
            return picks
        shown, renderer = self.shown, self.diff.renderer
        if shown is None or renderer is None or not self.diff.display:
            return HunkChoices()
        count = self._count(shown, renderer.diff)
        if count is None:
            self._show_text(shown.proposal)
            return None
        self.shown = Shown(shown.proposal, shown.rebasing, shown.before, count)
        return picks if picks.count == count else HunkChoices(count)

    def _count(self, shown: Shown, diff: Diff) -> int | None:
        """Return the number of hunks, also of those not compared yet, or None if the gate has other hunks."""
        if not self._may_choose(shown):
            return 0
        if self._edited or self._is_core_text:
            return len(diff.hunks) if diff.complete else 0
        gates = spans_in(shown.proposal.diff)
        if self._cuts:  # the cuts were made in whole hunks, which are those of the gate
            return len(gates) + sum(map(len, self._cuts.values()))
        there = spans_of(diff)
        as_far = gates if diff.complete else gates[: len(there)]
        return len(gates) if there == as_far else None

    def finer(self, review: Review) -> tuple[int, list[int]] | str:
        """Return the hunk of the proposal that contains the current one, and its cuts once that is split too.

        A text says why it cannot be split.
        """
        from rundry.agent import compare_contents, finer_cuts  # the gate costs ~15 ms to import

        proposal, pending = review.proposal, review.pending
        if proposal is None or not self.has_choice or self._is_core_text or self.diff.diff is None:
            return "there is no hunk that could be split"
        before, after, _ = self._sides(proposal, pending.edited)
        sides = compare_contents(before, after)
        return "this is not text" if sides is None else finer_cuts(sides, pending.cuts, self.diff.current)

    def _may_choose(self, shown: Shown) -> bool:
        proposal = shown.proposal
        if self._edited:
            return True
        if proposal.tool == ENTRY and not proposal.hunks:
            return False
        return is_editable(proposal) and not shown.in_conflict and (proposal.after is not None or self._is_core_text)

    def mark(self, picks: HunkChoices, hunk: int | None = None) -> None:
        """Show which hunks are accepted and skipped: one hunk, or all."""
        if self.entries.display:
            self.entries.update()
            return
        if not self.has_choice:
            return
        if hunk is not None:
            self.diff.mark_hunk(hunk, _mark(picks, hunk))
            return
        has_choice = picks.count > 1 or picks.skipped_count > 0
        self.diff.mark_hunks({index: _mark(picks, index) for index in range(picks.count if has_choice else 0)})

    @property
    def has_choice(self) -> bool:
        """Whether there are hunks that can be accepted or skipped."""
        return self.shown is not None and self.shown.count > 0

    @property
    def rows(self) -> int:
        """Return how many rows the whole proposal needs, an estimate for parts that were never drawn."""
        if self.command.display:
            return max(1, self.command.rows)
        return max(1, (self.diff if self.diff.display else self.entries).heights.total)

    def fill(self, rows: int | None) -> None:
        """Use at most this number of rows, or None for all that are available."""
        self.styles.height = "1fr" if rows is None else "auto"
        self.diff.styles.height = self.entries.styles.height = "1fr" if rows is None else rows
        self.command.styles.height = "1fr" if rows is None else "auto"

    def shows_end(self) -> bool:
        """Whether the last row is visible now."""
        if self.entries.display:
            return self.entries.shows_end
        if not self.diff.display:
            pane = self.command
            return bool(pane.size.height) and pane.scroll_offset.y >= pane.max_scroll_y
        return self.diff.shows_end

    def first_line(self) -> int:
        """Return the line of the new text at which the current hunk begins, from 1."""
        diff, at = self.diff.diff, self.diff.current
        if diff is None or at >= len(diff.hunks):
            return 1
        start = diff.hunks[at].row
        return next((row.new for row in diff.rows[start : start + 100] if row.kind == "+"), 1)

    def scrolls(self, key: str) -> bool:
        """Return whether a key scrolls."""
        return self._move_of(key) in _MOVES

    def press(self, key: str) -> None:
        """Scroll by a key for which `scrolls` is true."""
        self.move(self._move_of(key))

    def _move_of(self, key: str) -> str:
        return keymap_of(self).action_of(key, "scroll")

    def move(self, name: str) -> None:
        """Scroll as this action does."""
        if self.diff.display:
            _MOVES[name](self.diff)
        elif self.entries.display:
            _CURSOR[name](self.entries)
        else:
            scroll(self.command, name)
        self.call_after_refresh(self._say_scrolled)

    def show_current(self) -> None:
        """Make the current hunk visible, also when there is less room than before."""
        if self.diff.display and self.has_choice:
            self.diff.go_to_hunk(self.diff.current)

    def on_diff_pane_begun(self, event: DiffPane.Begun) -> None:
        """Report that the first rows can be read; the rest is still compared."""
        event.stop()
        self.post_message(self.Ready())

    def on_diff_pane_ready(self, event: DiffPane.Ready) -> None:
        """Report that the compared proposal can be painted."""
        event.stop()
        self.post_message(self.Ready())

    def on_entries_pane_end_seen(self, event: EntriesPane.EndSeen) -> None:
        """Report that the last row became visible."""
        event.stop()
        self.post_message(self.Scrolled())

    def on_diff_pane_end_seen(self, event: DiffPane.EndSeen) -> None:
        """Report that the last row became visible."""
        event.stop()
        self.post_message(self.Scrolled())


_TAKEN = HunkMark(accepted=True)


def _mark(picks: HunkChoices, hunk: int) -> HunkMark:
    return _TAKEN if picks.is_accepted(hunk) else HunkMark(accepted=False, reason=picks.reason(hunk))


_MOVES: Mapping[str, Callable[[DiffPane], None]] = {
    "scroll_up": DiffPane.action_scroll_up,
    "scroll_down": DiffPane.action_scroll_down,
    "scroll_page_up": DiffPane.action_page_up,
    "scroll_page_down": DiffPane.action_page_down,
    "scroll_start": DiffPane.action_scroll_home,
    "scroll_end": DiffPane.action_scroll_end,
}
_CURSOR: Mapping[str, Callable[[EntriesPane], None]] = {
    "scroll_up": lambda pane: pane.move(-1),
    "scroll_down": lambda pane: pane.move(1),
    "scroll_page_up": lambda pane: pane.page(-1),
    "scroll_page_down": lambda pane: pane.page(1),
    "scroll_start": lambda pane: pane.move(-len(pane.rows)),
    "scroll_end": lambda pane: pane.move(len(pane.rows)),
}


class CommandPane(VerticalScroll, can_focus=False):
    """The whole line of a command, wrapped and never cut. It scrolls if it is longer than the pane."""

    DEFAULT_CSS = """
    CommandPane { height: auto; padding: 0 1; & Static { width: 1fr; color: $bright; } }
    """

    def __init__(self) -> None:
        super().__init__()
        self._line = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Yield the widget with the command line."""
        yield self._line

    @property
    def rows(self) -> int:
        """Return how many rows the whole line needs, whatever the height of the pane is."""
        return self._line.size.height

    def show(self, command: str) -> None:
        """Show a command that has passed through `tui.text.show_text`."""
        self._line.update(Content(command))
        self.scroll_home(animate=False)
