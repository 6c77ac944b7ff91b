"""Look for new events in the journal while the screen is open. Does not import textual."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from rundry.agent import Refusal, RundryError

if TYPE_CHECKING:
    from rundry.agent import Block

    from .run_controller import RunController

CLOCK_SECONDS = 0.25
"""Seconds between two redraws without new events, while a clock on the screen runs or the person is active."""
STILL_SECONDS = 2.0
"""Seconds between two looks while nothing happens, because the journal does not record the end of a runner."""
REST_SECONDS = 20.0
"""Seconds between two redraws while nothing happens."""
GRACE_SECONDS = 1 / 20
"""Seconds between two redraws while the gate waits for a moment without keys."""
TOUCHED_SECONDS = 1.0
"""Seconds after a key or a click in which the screen is redrawn as if a clock ran."""
BEHIND_SECONDS = 0.5
"""Seconds between two redraws while a long journal is read."""
BEAT_SECONDS = 6.0


class FollowedView(Protocol):
    """The view that a `RunFollower` keeps up to date."""

    def refresh_view(self) -> None:
        """Redraw what changed."""
        ...

    def tell(self, text: str) -> None:
        """Show a notice to the person."""
        ...

    def run_refused(self, refusal: Refusal) -> None:
        """Handle a run that cannot begin or continue."""
        ...

    @property
    def is_impatient(self) -> bool:
        """Whether the gate is about to take the focus."""
        ...

    @property
    def has_notice(self) -> bool:
        """Whether a notice is shown, which ends after some seconds."""
        ...

    def looked(self) -> None:
        """Do what is done after each look at the journal."""
        ...


class ShowsBlocks(Protocol):
    """The part of the view that shows a streamed text: `tui/transcript/transcript.py`."""

    def show(self, blocks: Sequence[Block], changed_from: int) -> None:
        """Show these blocks; those before `changed_from` are as they were."""
        ...


class RunFollower:
    """Keeps the controller up to date, and redraws the screen when something changed."""

    def __init__(self, controller: RunController, view: FollowedView, transcript: ShowsBlocks) -> None:
        """`transcript`: it alone is redrawn while a text streams, at a fifth of the cost of `refresh_view`."""
        self._controller, self._view, self._transcript = controller, view, transcript
        self._drawn_at = 0.0
        self._touched_at = float("-inf")
        self._startup_status = ""
        self._looked_at = 0.0
        self._was_impatient = False
        """The gate was about to take the focus at the last look: it does so in a redraw after its moment has passed."""
        self._drawn: tuple[str, str] = ("", "")
        """The runner's state and the activity when the screen was drawn last."""

    def draw_soon(self) -> None:
        """Redraw at the next look, even if there are no new events."""
        self._drawn_at = 0.0
        self._controller.link.writes.wake()

    def touch(self) -> None:
        """Redraw soon, because the person is active: they may have changed something without an event."""
        now, before = time.monotonic(), self._touched_at
        self._touched_at = now
        if now - before > TOUCHED_SECONDS:
            self._controller.link.writes.wake()

    async def follow(self, is_closing: Callable[[], bool]) -> None:
        """Read new events of the journal until the task is cancelled. `is_closing`: the app removes its widgets."""
        from textual.dom import NoScreen  # views without a screen import this module, too

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
        except NoScreen:  # a widget was removed while events were drawn
            if not is_closing():
                raise
        finally:
            writes.close()

    def _look(self) -> None:
        controller, view = self._controller, self._view
        try:
            moved = controller.catch_up()
        except Refusal as refusal:
            view.run_refused(refusal)
            moved, controller.is_text = True, False
        except RundryError as error:
            view.tell(str(error))
            moved = False
        if controller.startup_status != self._startup_status:
            self._startup_status = controller.startup_status
            if self._startup_status:
                view.tell(self._startup_status)
        now = time.monotonic()
        if moved and self._is_only_text(now):
            self._transcript.show(controller.state.blocks, controller.state.take_changes())
        elif self._is_due(now, moved):
            self._drawn_at, self._drawn = now, (self._runner(), controller.state.activity)
            view.refresh_view()
        view.looked()

    def _is_only_text(self, now: float) -> bool:
        controller = self._controller
        is_fresh = now - self._drawn_at < CLOCK_SECONDS and self._drawn[1] == controller.state.activity
        return controller.is_text and is_fresh and not controller.is_behind

    def _is_due(self, now: float, moved: bool) -> bool:
        """Return whether everything is to be redrawn."""
        age = now - self._drawn_at
        if self._controller.is_behind:
            return age > BEHIND_SECONDS
        is_due = moved or age >= self._redraw_after() or self._is_other_runner(now)
        is_impatient = self._view.is_impatient
        self._was_impatient = is_impatient or (self._was_impatient and not is_due)
        return is_due

    def _is_other_runner(self, now: float) -> bool:
        """Return whether the runner's state has changed since the last drawing; checked now and then."""
        if now - self._looked_at < CLOCK_SECONDS:
            return False
        self._looked_at = now
        return self._runner() != self._drawn[0]

    def _runner(self) -> str:
        return self._controller.link.runner_state() if self._controller.begun else ""

    def _redraw_after(self) -> float:
        """Seconds after which the screen is redrawn without news."""
        if self._was_impatient or self._view.is_impatient:
            return GRACE_SECONDS
        is_touched = time.monotonic() - self._touched_at < TOUCHED_SECONDS
        return CLOCK_SECONDS if is_touched or self._is_ticking() else REST_SECONDS

    def _is_ticking(self) -> bool:
        """Return whether something on the screen changes with the time."""
        controller = self._controller
        if self._view.has_notice:
            return True
        if not controller.begun or controller.status.is_at_rest:
            return False
        state = controller.state
        is_waiting = state.sleeping or state.awaits or state.background or state.finder or state.locks
        return state.is_timed or bool(is_waiting)

    def _until_redraw(self) -> float:
        left = self._drawn_at + self._redraw_after() - time.monotonic()
        return min(STILL_SECONDS, max(0.0, left))
