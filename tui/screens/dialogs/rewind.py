"""Where to go back to: the person's messages, and with Tab the steps; the newest is picked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import Changes, Point, plural

from ...text import one_line

TITLE = 50
"""Cells of a message."""
CHROME = 10
"""Rows of the dialogue that are no entries."""


class RewindScreen(ModalScreen[Point | None]):
    """Gives the point that was chosen."""

    DEFAULT_CSS = """
    RewindScreen { align: center middle; background: $background 60%; }
    RewindScreen Vertical { width: 76; max-width: 96%; height: auto; padding: 1 2; background: $surface; }
    RewindScreen Static { height: auto; }
    """

    def __init__(self, points: Sequence[Point], title: Callable[[Point], str], changes: Changes) -> None:
        """`points`: oldest first; `title`: what a step did, in a few words."""
        super().__init__()
        self._points, self._title, self._changes = points, title, changes
        self._with_steps = not any(point.text is not None for point in points)
        self._at = len(self._shown) - 1
        self._seen_at = float("inf")
        self._page = Static("", markup=False)

    @property
    def _shown(self) -> Sequence[Point]:
        return [point for point in self._points if self._with_steps or point.text is not None]

    def compose(self) -> ComposeResult:
        """The list, what it would take back, and the keys."""
        with Vertical():
            yield self._page

    def on_mount(self) -> None:
        """What was typed before this was painted does not choose."""
        self._draw()
        self.call_after_refresh(self._see)

    def on_resize(self) -> None:
        """As many rows as fit."""
        self._draw()

    def _see(self) -> None:
        self._seen_at = Message().time

    def on_key(self, event: events.Key) -> None:
        """Arrows pick, Enter goes back, Tab shows the steps too, Esc leaves everything as it is."""
        event.stop()
        last = len(self._shown) - 1
        match event.key:
            case "escape" | "q" | "ctrl+c" | "ctrl+q":
                self.dismiss(None)
                return
            case "enter" if event.time > self._seen_at:
                self.dismiss(self._shown[self._at])
                return
            case "up" | "k":
                self._at = max(0, self._at - 1)
            case "down" | "j":
                self._at = min(last, self._at + 1)
            case "pageup":
                self._at = max(0, self._at - 10)
            case "pagedown":
                self._at = min(last, self._at + 10)
            case "home" | "g":
                self._at = 0
            case "end" | "G":
                self._at = last
            case "tab":
                self._toggle_steps()
            case _:
                return
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
            yield self._row(point, is_picked=i == self._at)
        yield Content("")
        yield Content.styled(self._told(self._shown[self._at]), "$dim")
        yield Content.styled("The spend is not restored; the journal keeps everything.", "$dim")
        yield Content("")
        steps = "messages only" if self._with_steps else "also steps"
        yield Content("   ").join(
            Content.assemble((key, "bold $needs-you"), f" {about}")
            for key, about in (("⏎", "rewind"), ("↑ ↓", "pick"), ("tab", steps), ("esc", "stay"))
        )

    def _row(self, point: Point, *, is_picked: bool) -> Content:
        if point.text is not None:
            title = one_line(point.text.strip())
        else:
            title = f"  step {point.step}  {one_line(self._title(point))}"
        title = title if len(title) <= TITLE else title[: TITLE - 1] + "…"
        clock = time.strftime("%H:%M", time.localtime(point.at))
        files = len({path for landed in self._changes.after(point.seq) for path in landed.files})
        back = plural(files, "file") if files else ""
        mark, style = ("▸ ", "bold $bright") if is_picked else ("  ", "$foreground" if point.text else "$dim")
        return Content.assemble((mark, "$accent"), (f"{title:<{TITLE}}", style), (f"{back:>9}{clock:>7}", "$dim"))

    def _told(self, point: Point) -> str:
        landed = self._changes.after(point.seq)
        if not landed:
            return "No changes since; the files stay as they are."
        files = len({path for each in landed for path in each.files})
        back = f"Reverts {plural(len(landed), 'change')} in {plural(files, 'file')}"
        return f"{back}; changes by others are kept."
