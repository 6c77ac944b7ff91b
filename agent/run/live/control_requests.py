"""Requests of the person to stop the run or to take control of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol import Finish, Reason, StopHow

if TYPE_CHECKING:
    from ...gate.gate import Gate
    from ...step.resources.activity import Activity


class UserRequests:
    """Requests of the person, on which the driver acts between two steps."""

    def __init__(self, activity: Activity, gate: Gate) -> None:
        self._activity, self._gate = activity, gate
        self._stop: StopHow | None = None
        self._stop_detail = ""
        self._refused: str | None = None
        self._wants_control = False
        self.parked = asyncio.Event()
        """Set once a view asked the runner to exit, which does not end the run."""
        self._followers: list[Callable[[StopHow], None]] = []

    @property
    def stop(self) -> StopHow | None:
        """How the person asked the run to stop, or None if no stop was requested."""
        return self._stop

    @property
    def stop_detail(self) -> str:
        """The reason for the stop, for the person."""
        return self._stop_detail

    def follow_stops(self, follower: Callable[[StopHow], None]) -> None:
        """Call `follower` with each requested stop."""
        self._followers.append(follower)

    def ask_to_stop(self, how: StopHow, detail: str) -> None:
        """Interrupt the running work and stop the run. `how`: `wrap_up`, or `now`, which also ends a wrap-up."""
        if self._stop != "now":
            self._stop, self._stop_detail = how, detail
        self._gate.cancel_all(detail)
        self._activity.interrupt("stop")
        for follower in self._followers:
            follower(how)
        self._activity.wake()

    def forget_stop(self) -> None:
        """Drop the requested end, because the run has ended."""
        self._stop = self._refused = None

    def refuse_start(self, detail: str) -> None:
        """End the run before its next step, because a hook refused it."""
        self._refused = detail

    def requested_end(self) -> Finish | None:
        """Return the end that the person requested or a hook demands, or None."""
        if self._stop is None:
            return None if self._refused is None else Finish(reason=Reason.REFUSED, detail=self._refused)
        return Finish(reason=Reason.USER, detail=self._stop_detail, wrap_up=self._stop == "wrap_up")

    @property
    def wants_control(self) -> bool:
        """Whether the person asked for control and has not got it yet."""
        return self._wants_control

    def ask_for_control(self) -> None:
        """Interrupt the running work, so that the driver gives control to the person."""
        self._wants_control = True
        self._gate.cancel_all("a person took control")
        self._activity.interrupt("wheel")
        self._activity.wake()

    def answer_control(self) -> None:
        """Drop the request for control, because it was granted or refused."""
        self._wants_control = False
        self._activity.wake()
