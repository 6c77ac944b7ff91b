"""Leave the screen: immediately, or after asking what happens to the run. Does not import textual."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rundry.agent import RundryError, Stop, StopHow

if TYPE_CHECKING:
    from ..control.run_controller import RunController

TWICE_SECONDS = 2.0


class LeftView(Protocol):
    """The view that the person leaves: the main screen, or the session in lines."""

    def tell(self, text: str) -> None:
        """Show a notice to the person."""
        ...

    def leave(self, stop: StopHow | None) -> None:
        """Close the view; `stop` says how the run is stopped, if at all."""
        ...

    def ask_how_to_leave(self) -> None:
        """Ask what happens to the run, and give the answer to `Leaving.answered`."""
        ...


class Leaving:
    """Handles the keys and questions with which the person leaves the screen."""

    def __init__(self, controller: RunController, view: LeftView, key: str) -> None:
        """`key`: the one that leaves if it is pressed twice."""
        self._controller, self._view, self._key = controller, view, key
        self._waits_for_end = False
        self._pressed_at = 0.0

    def press(self, first: Callable[[], str] | None = None) -> None:
        """Leave if this is the second time in two seconds.

        `first`: called if it is the first time; returns the notice for it.
        """
        now = time.monotonic()
        if now - self._pressed_at < TWICE_SECONDS:
            self.begin()
        else:
            self._pressed_at = now
            done = "" if first is None else f"{first()}; "
            self._view.tell(f"{done}press {self._key} again to leave")

    def begin(self) -> None:
        """Leave immediately if nothing would be lost, else ask what happens to the run."""
        controller = self._controller
        if self._waits_for_end or controller.status.is_over or not controller.begun or controller.is_read_only:
            self._view.leave(None)
        elif self._controller.status.is_idle:
            self._view.leave("now")
        else:
            self._view.ask_how_to_leave()

    def go_once_over(self) -> None:
        """Leave if the run that was asked to wrap up has ended."""
        if self._waits_for_end and self._controller.status.is_over:
            self._view.leave(None)

    def answered(self, choice: str | None) -> None:
        """Do what the person chose: `background`, `now`, `wrap_up`, or anything else to stay."""
        match choice:
            case "background":
                self._view.leave(None)
            case "now":
                self._view.leave("now")
            case "wrap_up":
                self._wrap_up()
            case _:
                pass

    def _wrap_up(self) -> None:
        try:
            self._controller.put(Stop(how="wrap_up"))
        except RundryError as error:
            self._view.tell(str(error))
            return
        self._waits_for_end = True
        self._view.tell(f"wraps up, then leaves; {self._key} twice leaves immediately")
