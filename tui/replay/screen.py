"""The replay on the screen: the run as it was at one point, and the scrubber below it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from rundry.agent import RundryError

from ..clockwork import ClockworkLine
from ..head import HeaderLine, MeterLine
from ..transcript import Transcript
from .bar import Scrubber
from .player import SPEEDS, Player

FRAME_SECONDS = 1 / 30


class ReplayScreen(Screen[str]):
    """Gives an empty text when it is left, else why it had to be. The run itself is not touched."""

    CSS = """
    ReplayScreen { layout: vertical; background: $background; color: $foreground; }
    ReplayScreen Transcript { margin: 1 0 0 0; }
    """
    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "Play, pause", priority=True),
        *(Binding(str(n), f"speed({speed})", f"{speed}x", priority=True) for n, speed in enumerate(SPEEDS, 1)),
        Binding("plus,equals_sign", "faster(1)", "Faster", priority=True),
        Binding("minus", "faster(-1)", "Slower", priority=True),
        Binding("left", "step(-1)", "Step back", priority=True),
        Binding("right", "step(1)", "Step on", priority=True),
        Binding("comma", "event(-1)", "Event back", priority=True),
        Binding("full_stop", "event(1)", "Event on", priority=True),
        Binding("home", "seek(0)", "Start", priority=True),
        Binding("end", "seek(1)", "End", priority=True),
        Binding("pageup", "page(-1)", "Page up", priority=True),
        Binding("pagedown", "page(1)", "Page down", priority=True),
        Binding("ctrl+o", "unfold", "Unfold", priority=True),
        Binding("escape,q", "leave", "Leave", priority=True),
    ]

    def __init__(self, player: Player) -> None:
        super().__init__()
        self.player = player
        self.header = HeaderLine()
        self.meters = MeterLine()
        self.transcript = Transcript()
        self.clockwork = ClockworkLine()
        self.scrubber = Scrubber(player)

    def compose(self) -> ComposeResult:
        """From above to below."""
        yield self.header
        yield self.meters
        yield self.transcript
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
        before = time.monotonic()
        while True:
            await asyncio.sleep(FRAME_SECONDS)
            now = time.monotonic()
            passed, before = now - before, now
            playing = self.player.playing
            try:
                moved = self.player.advance(passed)
            except RundryError as error:
                self.dismiss(str(error))
                return
            if moved or playing != self.player.playing:
                self.refresh_view()

    def refresh_view(self) -> None:
        """What stood there at this point."""
        state = self.player.film.state
        self.header.show(state, f"replay, {state.phase}")
        self.meters.show(state, state.last_at)
        count, first = len(state.blocks), state.take_changes()
        if first <= count:
            self.transcript.show(state.blocks, first)
        self.clockwork.show(state, state.last_at, self.size.width)
        self.scrubber.show()

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
        """To where the step before, or the next one, began."""
        film = self.player.film
        self._go(film.step_after(film.position) if by > 0 else film.step_before(film.position))

    def action_event(self, by: int) -> None:
        """One event on, or back; it stays there."""
        self.player.playing = False
        self._go(self.player.film.position + by)

    def action_seek(self, share: int) -> None:
        """The start or the end."""
        self._go(share * self.player.film.last)

    def action_page(self, by: int) -> None:
        """Scroll."""
        if by < 0:
            self.transcript.action_page_up()
        else:
            self.transcript.action_page_down()

    def action_unfold(self) -> None:
        """What stands last in sight."""
        self.transcript.action_unfold()

    def action_leave(self) -> None:
        """Back to the end."""
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
