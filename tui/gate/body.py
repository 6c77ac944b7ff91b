"""What a proposal would do, in full: a change as a diff, a command as its whole line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from rundry.agent import ProposalOpened, RundryError

from ..diff import DiffPane
from .command import CommandPane
from .words import body


class ProposalBody(Vertical):
    """One of two panes. It never has the focus: the panel drives it."""

    DEFAULT_CSS = """
    ProposalBody { height: auto; }
    """

    class Ready(Message):
        """What is painted from now on is the proposal."""

    class Scrolled(Message):
        """Other rows came into sight."""

    def __init__(self, content: Callable[[str | None], bytes | None]) -> None:
        """`content` gives a blob's bytes."""
        super().__init__()
        self._content = content
        self.diff = DiffPane()
        self.diff.can_focus = False
        self.command = CommandPane()

    def compose(self) -> ComposeResult:
        """Both; one is shown."""
        yield self.diff
        yield self.command

    def on_mount(self) -> None:
        """Follow the scrolling."""
        self.watch(self.command, "scroll_y", self._say_scrolled, init=False)

    def _say_scrolled(self) -> None:
        self.post_message(self.Scrolled())

    def show(self, proposal: ProposalOpened, edited: str | None) -> None:
        """`edited`: the person's own new text, in place of the proposed one."""
        is_file = proposal.path is not None
        self.diff.display, self.command.display = is_file, not is_file
        if proposal.path is None:
            self.command.show(body(proposal))
            self.post_message(self.Ready())
            return
        try:
            before = self._content(proposal.before)
            after = self._content(proposal.after) if edited is None else edited.encode()
        except RundryError:
            before = after = None
        if after is None:
            self.diff.show_unified(proposal.path, proposal.diff)
        else:
            self.diff.show_change(proposal.path, before, after)

    @property
    def rows(self) -> int:
        """How many it would take to show all; a guess for what was never drawn."""
        return max(1, self.diff.heights.total if self.diff.display else self.command.virtual_size.height)

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
        lines, pane = self.diff.lines, self.diff
        if not lines or pane.diff is None or len(lines) > pane.size.height:
            return False
        last = lines[-1].place
        return last.item == len(pane.heights) - 1 and last.row == pane.parts(last.item)[-1].height - 1

    def move(self, key: str) -> bool:
        """Scroll; false where the key is none that scrolls."""
        found = _MOVES.get(key)
        if found is None:
            return False
        if self.diff.display:
            found[0](self.diff)
        else:
            found[1](self.command)
        self.call_after_refresh(self._say_scrolled)
        return True

    def on_diff_pane_ready(self, event: DiffPane.Ready) -> None:
        """It was compared."""
        event.stop()
        self.post_message(self.Ready())

    def on_diff_pane_end_seen(self, event: DiffPane.EndSeen) -> None:
        """The wheel brought the end into sight."""
        event.stop()
        self.post_message(self.Scrolled())


_MOVES: Mapping[str, tuple[Callable[[DiffPane], None], Callable[[CommandPane], None]]] = {
    "up": (DiffPane.action_scroll_up, lambda pane: pane.scroll_up(animate=False)),
    "down": (DiffPane.action_scroll_down, lambda pane: pane.scroll_down(animate=False)),
    "pageup": (DiffPane.action_page_up, lambda pane: pane.scroll_page_up(animate=False)),
    "pagedown": (DiffPane.action_page_down, lambda pane: pane.scroll_page_down(animate=False)),
    "space": (DiffPane.action_page_down, lambda pane: pane.scroll_page_down(animate=False)),
    "home": (DiffPane.action_scroll_home, lambda pane: pane.scroll_home(animate=False)),
    "end": (DiffPane.action_scroll_end, lambda pane: pane.scroll_end(animate=False)),
}
