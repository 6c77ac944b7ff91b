"""Look for news in the journal as long as the screen is open. No textual in here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from rundry.agent import Refusal, RundryError

from ..run_controller import RunController

CLOCK_SECONDS = 0.25
"""Between two redraws without news, while a clock on the screen runs or the person does something."""
STILL_SECONDS = 2.0
"""Between two looks while nothing happens: the end of a runner is not written to the journal."""
REST_SECONDS = 20.0
"""Between two redraws while nothing happens."""
GRACE_SECONDS = 1 / 20
"""Between two redraws while the gate waits for a moment without keys."""
TOUCHED_SECONDS = 1.0
"""How long after a key or a click the screen is redrawn as if a clock ran."""
BEHIND_SECONDS = 0.5
"""While a long journal is read, so much of it is not drawn in between."""
BEAT_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Onlooker:
    """Callbacks of the view that follows a run."""

    redraw: Callable[[], None]
    redraw_text: Callable[[], None]
    """Nothing but more of a streamed text is new: this costs a fifth of `redraw`."""
    tell: Callable[[str], None]
    """A line for the person."""
    refused: Callable[[Refusal], None]
    """The run cannot begin or go on."""
    is_impatient: Callable[[], bool]
    """The gate is about to take the focus."""
    has_notice: Callable[[], bool]
    """Whether a notice is shown, which ends after some seconds."""
    looked: Callable[[], None]
    """After each look."""


class Looking:
    """Brings the controller up to date, and has drawn what is worth it."""

    def __init__(self, controller: RunController, onlooker: Onlooker) -> None:
        self._controller, self._onlooker = controller, onlooker
        self._drawn_at = 0.0
        self._touched_at = float("-inf")
        self._said = ""
        self._looked_at = 0.0
        self._drawn: tuple[str, str] = ("", "")
        """The runner's state and the activity as they were drawn."""

    def draw_soon(self) -> None:
        """At the next look, whatever it brings."""
        self._drawn_at = 0.0
        self._controller.link.writes.wake()

    def touch(self) -> None:
        """The person does something: what they changed without an event in the journal is drawn soon."""
        now, before = time.monotonic(), self._touched_at
        self._touched_at = now
        if now - before > TOUCHED_SECONDS:
            self._controller.link.writes.wake()

    async def follow(self) -> None:
        """Follow the journal forever."""
        beat_at = time.monotonic()
        writes = self._controller.link.writes
        try:
            while True:
                self._look()
                if time.monotonic() - beat_at > BEAT_SECONDS:
                    beat_at = time.monotonic()
                    self._controller.link.beat()
                if self._controller.is_behind:
                    await asyncio.sleep(0)
                else:
                    await writes.wait(self._until_redraw())
        finally:
            writes.close()

    def _look(self) -> None:
        controller, onlooker = self._controller, self._onlooker
        try:
            moved = controller.catch_up()
        except Refusal as refusal:
            onlooker.refused(refusal)
            moved, controller.is_text = True, False
        except RundryError as error:
            onlooker.tell(str(error))
            moved = False
        if controller.said != self._said:
            self._said = controller.said
            if self._said:
                onlooker.tell(self._said)
        now = time.monotonic()
        if moved and self._is_only_text(now):
            onlooker.redraw_text()
        elif self._is_due(now, moved):
            self._drawn_at, self._drawn = now, (self._runner(), controller.state.activity)
            onlooker.redraw()
        onlooker.looked()

    def _is_only_text(self, now: float) -> bool:
        controller = self._controller
        is_fresh = now - self._drawn_at < CLOCK_SECONDS and self._drawn[1] == controller.state.activity
        return controller.is_text and is_fresh and not controller.is_behind

    def _is_due(self, now: float, moved: bool) -> bool:
        """Whether all is to be drawn again."""
        age = now - self._drawn_at
        if self._controller.is_behind:
            return age > BEHIND_SECONDS
        return moved or age >= self._redraw_after() or self._is_other_runner(now)

    def _is_other_runner(self, now: float) -> bool:
        """Whether the runner's state is not what was drawn; looked at now and then."""
        if now - self._looked_at < CLOCK_SECONDS:
            return False
        self._looked_at = now
        return self._runner() != self._drawn[0]

    def _runner(self) -> str:
        return self._controller.link.runner_state() if self._controller.begun else ""

    def _redraw_after(self) -> float:
        """Seconds after which the screen is redrawn without news."""
        if self._onlooker.is_impatient():
            return GRACE_SECONDS
        is_touched = time.monotonic() - self._touched_at < TOUCHED_SECONDS
        return CLOCK_SECONDS if is_touched or self._is_ticking() else REST_SECONDS

    def _is_ticking(self) -> bool:
        """Return whether something on the screen changes with the time."""
        controller = self._controller
        if self._onlooker.has_notice():
            return True
        if not controller.begun or controller.status.is_at_rest:
            return False
        state = controller.state
        return state.busy.since is not None or bool(state.sleeping or state.background or state.finder)

    def _until_redraw(self) -> float:
        left = self._drawn_at + self._redraw_after() - time.monotonic()
        return min(STILL_SECONDS, max(0.0, left))
