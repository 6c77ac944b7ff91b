"""Choose where to rewind to: a message of the person, or with Tab a step. The newest is selected."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import Blocks, Changes, Point, plural

from ..control.run_reader import step_title
from ..keys.clicks import clickable, clicked_action, press_clicked_key
from ..keys.close_dialog import ClosesOnce
from ..keys.marking import moves
from ..keys.screen_keymap import keymap_of
from ..text.shorten_cells import cells_fit
from ..text.show_text import one_line
from .page_size import inner_width

TITLE = 50
"""Width of a message."""
WIDTH = 76
_BESIDE = 18
"""Cells of a row that are not the message."""
CHROME = 10
"""Rows of the dialog that are not entries."""


class RewindScreen(ClosesOnce[Point | None], ModalScreen[Point | None]):
    """Returns the point that was chosen."""

    DEFAULT_CSS = """
    RewindScreen { align: center middle; background: $background; }
    RewindScreen Vertical { width: 76; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    RewindScreen Static { height: auto; }
    """

    def __init__(self, points: Sequence[Point], blocks: Blocks, changes: Changes, marked: Point | None = None) -> None:
        """`points`: oldest first. `blocks`: the transcript, for the titles of steps. `marked`: None for the newest."""
        super().__init__()
        self._points, self._blocks, self._changes = points, blocks, changes
        is_step = marked is not None and marked.text is None
        self._with_steps = is_step or not any(point.text is not None for point in points)
        self._at = len(self._shown) - 1 if marked is None else self._shown.index(marked)
        self._seen_at = float("inf")
        self._page = Static("", markup=False)

    @property
    def _shown(self) -> Sequence[Point]:
        return [point for point in self._points if self._with_steps or point.text is not None]

    def compose(self) -> ComposeResult:
        """Yield the list, what would be reverted, and the keys."""
        with Vertical():
            yield self._page

    def on_mount(self) -> None:
        """Ignore keys that were pressed before the dialog was painted."""
        self._draw()
        self.call_after_refresh(self._see)

    def on_resize(self) -> None:
        """Show as many rows as fit."""
        self._draw()

    def _see(self) -> None:
        self._seen_at = Message().time

    def on_key(self, event: events.Key) -> None:
        """Mark a row, rewind to it, show the steps too, or close."""
        keymap, count = keymap_of(self), len(self._shown)
        name = keymap.action_of(event.key, "rewind", "list")
        if keymap.closes(event.key):
            self.dismiss(None)
        elif name == "take":
            if event.time > self._seen_at:
                self.dismiss(self._shown[self._at])
        elif name == "rewind_steps":
            self._toggle_steps()
            self._draw()
        elif by := moves(name, count):
            self._at = max(0, min(count - 1, self._at + by))
            self._draw()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key, or select the clicked row; a click on the selected row rewinds to it."""
        press_clicked_key(self, event)
        action, _, number = clicked_action(event).partition(" ")
        if action != "row":
            return
        if int(number) == self._at and event.time > self._seen_at:
            self.dismiss(self._shown[self._at])
        else:
            self._at = int(number)
            self._draw()

    def _toggle_steps(self) -> None:
        picked = self._shown[self._at].seq
        self._with_steps = not self._with_steps
        if not self._shown:
            self._with_steps = True
        places = [i for i, point in enumerate(self._shown) if point.seq <= picked]
        self._at = places[-1] if places else 0

    def _draw(self) -> None:
        self._page.update(Content("\n").join(self._rows()))

    def _rows(self) -> Iterator[Content]:
        which = "message or step" if self._with_steps else "message"
        yield Content.styled(f"Rewind to before which {which}?", "bold $bright")
        yield Content("")
        room = max(3, min(self.size.height - CHROME - 2, 16))
        start = max(0, min(self._at - room // 2, len(self._shown) - room))
        for i, point in enumerate(self._shown[start : start + room], start):
            yield clickable(self._row(point, is_picked=i == self._at), f"row {i}")
        yield Content("")
        yield Content.styled(self._told(self._shown[self._at]), "$dim")
        yield Content.styled("The spend is not restored; the journal keeps everything.", "$dim")
        yield Content("")
        steps = "messages only" if self._with_steps else "also steps"
        yield keymap_of(self).foot(
            ("take", "rewind" if not self._changes.after(self._shown[self._at].seq) else "diffs"),
            ("mark_up mark_down", "pick"),
            ("rewind_steps", steps),
            ("close_dialog", "stay"),
            style="bold $needs-you",
            about="$foreground",
            width=inner_width(self.size.width, WIDTH),
        )

    def _row(self, point: Point, *, is_picked: bool) -> Content:
        if point.text is not None:
            title = one_line(point.text.strip())
        else:
            title = f"  step {point.step}  {one_line(step_title(self._blocks, point))}"
        column = max(8, min(TITLE, inner_width(self.size.width, WIDTH) - _BESIDE))
        clock = time.strftime("%H:%M", time.localtime(point.at))
        files = len({path for change in self._changes.after(point.seq) for path in change.files})
        back = plural(files, "file") if files else ""
        mark, style = ("▸ ", "bold $bright") if is_picked else ("  ", "$foreground" if point.text else "$dim")
        return Content.assemble((mark, "$accent"), (cells_fit(title, column), style), (f"{back:>9}{clock:>7}", "$dim"))

    def _told(self, point: Point) -> str:
        changes = self._changes.after(point.seq)
        if not changes:
            return "No changes since; the files stay as they are."
        files = len({path for each in changes for path in each.files})
        return f"Would restore {plural(files, 'file')} ({plural(len(changes), 'change')}); changes by others are kept."
