"""The replay on the screen: the run as it was at one point, a search with its board, and the scrubber below it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from rundry.agent import RundryError

from ..board.board import Board
from ..clockwork import ClockworkLine
from ..head import HeaderLine, MeterLine
from ..transcript import Transcript
from .bar import Scrubber
from .board import PastBoard
from .player import SPEEDS, Player

FRAME_SECONDS = 1 / 30
BOARD_SECONDS = 0.1
"""Between two drawings of a board that plays: all its numbers, and those around it, are of one moment."""
CLOCK_SECONDS = 0.25
"""Without events the view is drawn again this often: clocks go on."""


class ReplayScreen(Screen[str]):
    """Gives an empty text when it is left, else why it had to be. The run itself is not touched."""

    CSS = """
    ReplayScreen { layout: vertical; background: $background; color: $foreground; }
    ReplayScreen Transcript, ReplayScreen PastBoard { margin: 1 0 0 0; }
    """
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "Play or pause", priority=True),
        *(Binding(str(n), f"speed({speed})", f"{speed}x", priority=True) for n, speed in enumerate(SPEEDS, 1)),
        Binding("plus,equals_sign", "faster(1)", "Faster", priority=True),
        Binding("minus", "faster(-1)", "Slower", priority=True),
        Binding("left", "step(-1)", "Previous step", priority=True),
        Binding("right", "step(1)", "Next step", priority=True),
        Binding("comma", "event(-1)", "Previous event", priority=True),
        Binding("full_stop", "event(1)", "Next event", priority=True),
        Binding("home", "seek(0)", "Go to start", priority=True),
        Binding("end", "seek(1)", "Go to end", priority=True),
        Binding("pageup", "page(-1)", "Page up", priority=True),
        Binding("pagedown", "page(1)", "Page down", priority=True),
        Binding("ctrl+o", "unfold", "Unfold", priority=True),
        Binding("ctrl+l", "turn", "Toggle board", priority=True),
        Binding("escape,q", "leave", "Leave", priority=True),
    ]

    def __init__(self, player: Player, board_keys: Mapping[str, str], *, board_wanted: bool = True) -> None:
        """`board_keys`: key to the name of the board's action. `board_wanted`: of a search the board is to be seen."""
        super().__init__()
        self.player = player
        self.board_wanted = board_wanted
        self.header = HeaderLine()
        self.meters = MeterLine()
        self.transcript = Transcript()
        self.board = PastBoard(player.film, board_keys)
        self.clockwork = ClockworkLine()
        self.scrubber = Scrubber(player)

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield self.header
        yield self.meters
        yield self.transcript
        yield self.board
        yield self.clockwork
        yield self.scrubber

    def on_mount(self) -> None:
        """Begins to play."""
        self.refresh_view()
        self.run_worker(self._play(), name="replay")

    def on_resize(self) -> None:
        """The track is as wide as the screen."""
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
        """What stood there at this point."""
        state = self.player.film.state
        self.header.show(state, f"replay, {state.phase}")
        self.meters.show(state, state.last_at)
        is_board = state.finder is not None and self.board_wanted
        self.transcript.display, self.board.display = not is_board, is_board
        count, first = len(state.blocks), state.take_changes()
        if first <= count:
            self.transcript.show(state.blocks, first)
        if is_board:
            self.board.see(state, self.player.now)
        self.set_focus(self.board if is_board else None)
        self.clockwork.show(state, state.last_at, self.size.width)
        self.scrubber.show()

    def on_board_acts(self, event: Board.Acts) -> None:
        """A key of the board."""
        self.board.obey(event.name)

    def on_scrubber_picked(self, event: Scrubber.Picked) -> None:
        """A click on the track."""
        self._go(round(event.share * self.player.film.last))

    def action_play(self) -> None:
        """Play or pause; at the end: from the start."""
        self._guarded(self.player.toggle)

    def action_speed(self, speed: int) -> None:
        """That speed, and go on."""
        self.player.speed, self.player.playing = speed, True
        self.refresh_view()

    def action_faster(self, by: int) -> None:
        """The next speed."""
        self.player.faster(by)
        self.refresh_view()

    def action_step(self, by: int) -> None:
        """To where the step or the pass before, or the next one, began."""
        film, place = self.player.film, self.player.place
        self._go(film.mark_after(place) if by > 0 else film.mark_before(place))

    def action_event(self, by: int) -> None:
        """One event on, or back; it stays there."""
        self.player.playing = False
        self._go(self.player.place + by)

    def action_seek(self, share: int) -> None:
        """The start or the end."""
        self._go(share * self.player.film.last)

    def action_page(self, by: int) -> None:
        """Scroll."""
        page = self.board if self.board.display else self.transcript
        if by < 0:
            page.action_page_up()
        else:
            page.action_page_down()

    def action_unfold(self) -> None:
        """What stands last in sight."""
        self.transcript.action_unfold()

    def action_turn(self) -> None:
        """Of a search: its board, or its transcript."""
        self.board_wanted = not self.board_wanted
        self.refresh_view()

    def action_leave(self) -> None:
        """Out of what is open on the board, else back to the end."""
        if self.board.display and self.board.view.is_open:
            self.board.open()
        else:
            self.dismiss("")

    def _go(self, seq: int) -> None:
        def go() -> None:
            self.player.go_to(seq)

        self._guarded(go)

    def _guarded(self, work: Callable[[], None]) -> None:
        before = self.player.film.position
        try:
            work()
        except RundryError as error:
            self.dismiss(str(error))
            return
        if self.player.film.position < before:
            self.transcript.forget(0)  # what streamed then was cut from a longer text
        self.refresh_view()
