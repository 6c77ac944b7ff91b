"""The replay on the screen: the transcript or the board at one position of the run, and the scrubber below."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from rundry.agent import RundryError

from ...head.header import HeaderLine, MeterLine
from ...head.progress_line import ProgressLine
from ...keys.bindings import bindings
from ...keys.clicks import press_clicked_key
from ...keys.close_dialog import ClosesOnce
from ...transcript.transcript import Transcript
from .player import SPEEDS, Player
from .replayed_board import ReplayBoard
from .scrubber import Scrubber

if TYPE_CHECKING:
    from ...board.board import BoardActed

FRAME_SECONDS = 1 / 30
BOARD_SECONDS = 0.1
"""Seconds between two drawings of a board while it plays. All numbers on the screen belong to the same moment."""
CLOCK_SECONDS = 0.25
"""Seconds between two drawings without events, because clocks continue."""


_METHODS: Mapping[str, str] = {
    "replay_play": "play",
    **{f"replay_speed_{number}": f"speed({speed})" for number, speed in enumerate(SPEEDS, 1)},
    "replay_faster": "faster(1)",
    "replay_slower": "faster(-1)",
    "replay_step_back": "step(-1)",
    "replay_step": "step(1)",
    "replay_event_back": "event(-1)",
    "replay_event": "event(1)",
    "replay_start": "seek(0)",
    "replay_end": "seek(1)",
    "replay_page_up": "page(-1)",
    "replay_page_down": "page(1)",
    "replay_unfold": "unfold",
    "replay_board": "turn",
    "replay_leave": "leave",
}
"""By the action: the method that does it."""


class ReplayScreen(ClosesOnce[str]):
    """Returns an empty text when the person leaves, or why the replay cannot continue. The run is not changed."""

    CSS = """
    ReplayScreen { layout: vertical; background: $background; color: $foreground; }
    ReplayScreen Transcript, ReplayScreen Board { margin: 1 0 0 0; }
    """
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("replay", _METHODS)]

    def __init__(self, player: Player, board_keys: Mapping[str, str], *, board_wanted: bool = True) -> None:
        """`board_keys`: key to the name of the board's action. `board_wanted`: show the board of a search."""
        super().__init__()
        self.player = player
        self.board_wanted = board_wanted
        self.header = HeaderLine()
        self.meters = MeterLine()
        self.transcript = Transcript()
        self._replay_board = ReplayBoard(player.timeline, board_keys)
        self.board = self._replay_board.widget
        self.progress = ProgressLine()
        self.scrubber = Scrubber(player)

    def compose(self) -> ComposeResult:
        """Yield the header, the views of the run, and the scrubber."""
        yield self.header
        yield self.meters
        yield self.transcript
        yield self.board
        yield self.progress
        yield self.scrubber

    def on_mount(self) -> None:
        """Show the present position and start the player."""
        self.refresh_view()
        self.run_worker(self._play(), name="replay")

    def on_resize(self) -> None:
        """Redraw the scrubber, whose track is as wide as the screen."""
        self.call_after_refresh(self.refresh_view)

    async def _play(self) -> None:
        before = drawn = time.monotonic()
        moved = False
        while True:
            await asyncio.sleep(FRAME_SECONDS)
            now = time.monotonic()
            passed, before = now - before, now
            playing = self.player.playing
            try:
                moved = self.player.advance(passed) or moved or playing != self.player.playing
            except RundryError as error:
                self.dismiss(str(error))
                return
            if now - drawn > (CLOCK_SECONDS if not moved else BOARD_SECONDS if self.board.display else 0.0):
                drawn, moved = now, False
                self.refresh_view()

    def refresh_view(self) -> None:
        """Show the run at this position."""
        state = self.player.timeline.state
        self.header.show(state, f"replay, {state.phase}")
        self.meters.show(state, state.last_at)
        is_board = state.finder is not None and self.board_wanted
        self.transcript.display, self.board.display = not is_board, is_board
        count, first = len(state.blocks), state.take_changes()
        if first <= count:
            self.transcript.show(state.blocks, first)
        if is_board:
            self._replay_board.show(state, self.player.now)
        self.set_focus(self.board if is_board else None)
        self.progress.show(state, state.last_at, self.size.width)
        self.scrubber.show()

    def on_board_acted(self, event: BoardActed) -> None:
        """Handle a key of the board."""
        self._replay_board.do(event.name)

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def on_scrubber_picked(self, event: Scrubber.Picked) -> None:
        """Go to the clicked position of the track."""
        self._go(round(event.share * self.player.timeline.last))

    def action_play(self) -> None:
        """Play or pause; at the end, play from the start."""
        self._guarded(self.player.toggle)

    def action_speed(self, speed: int) -> None:
        """Choose this speed, and play."""
        self.player.speed, self.player.playing = speed, True
        self.refresh_view()

    def action_faster(self, by: int) -> None:
        """Change to the next higher or lower speed."""
        self.player.faster(by)
        self.refresh_view()

    def action_step(self, by: int) -> None:
        """Go to the start of the previous or next step or pass."""
        timeline, place = self.player.timeline, self.player.place
        self._go(timeline.mark_after(place) if by > 0 else timeline.mark_before(place))

    def action_event(self, by: int) -> None:
        """Go to the next or previous event, and pause."""
        self.player.playing = False
        self._go(self.player.place + by)

    def action_seek(self, share: int) -> None:
        """Go to the start or to the end."""
        self._go(share * self.player.timeline.last)

    def action_page(self, by: int) -> None:
        """Scroll the board or the transcript by a page."""
        page = self.board if self.board.display else self.transcript
        if by < 0:
            page.action_page_up()
        else:
            page.action_page_down()

    def action_unfold(self) -> None:
        """Unfold the last visible entry."""
        self.transcript.action_unfold()

    def action_turn(self) -> None:
        """Switch between the board of a search and its transcript."""
        self.board_wanted = not self.board_wanted
        self.refresh_view()

    def action_leave(self) -> None:
        """Close what is open on the board or show all its rows, or else leave the replay."""
        if not (self.board.display and self.board.close_step()):
            self.dismiss("")

    def _go(self, seq: int) -> None:
        def go() -> None:
            self.player.go_to(seq)

        self._guarded(go)

    def _guarded(self, work: Callable[[], None]) -> None:
        before = self.player.timeline.position
        try:
            work()
        except RundryError as error:
            self.dismiss(str(error))
            return
        if self.player.timeline.position < before:
            self.transcript.forget(0)  # what streamed at that moment was part of a longer text
        self.refresh_view()
