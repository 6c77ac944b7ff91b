"""A prompt turn: when it has ended, and the stop reason that the editor gets."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acp import RequestError
from acp.schema import StopReason

from rundry.agent import (
    HandoffOpened,
    Interrupt,
    JournalError,
    LimitName,
    Pause,
    Paused,
    QuestionAsked,
    Reason,
    Refusal,
    ReplyFinished,
    RunEnded,
    Stamped,
    Stop,
    Waiting,
    limit_in,
    reached_limit,
)

if TYPE_CHECKING:
    from ..control.run_controller import RunController

_QUIET_SECONDS = 0.4
"""Seconds of rest after which a slash command has had its effect."""
_AGAIN_SECONDS = 0.2
_INTERRUPTS = 3
"""Number of refused interrupts after which the run is paused instead."""
GONE = "the runner of this session was killed or crashed: send a message to resume the run"


@dataclass(slots=True)
class Rest:
    """What the newest events say about why the run rests."""

    seq: int = 0
    """Number of the newest event after which the run waits or has ended."""
    reply: str = ""
    """How the newest answer of the model ended."""
    limit: str = ""
    """The limit that ended the last turn of a chat."""

    def take(self, stamped: Stamped) -> None:
        """Take in the next event."""
        match stamped.event:
            case RunEnded() | QuestionAsked() | HandoffOpened() | Paused():
                self.seq = stamped.seq
            case Waiting(why=why, detail=detail) if why != "gate":
                self.seq, self.limit = stamped.seq, detail
            case ReplyFinished(finish=finish):
                self.reply = finish
            case _:
                pass


@dataclass(slots=True)
class Turn:
    """One prompt that the editor waits for."""

    controller: RunController
    sent: set[int]
    """Ids of all commands that this view sent."""
    rest: Rest
    since: int
    """Number of the newest event when the message was sent."""
    is_command: bool = False
    """It was a slash command, which may start nothing."""
    is_cancelled: bool = False
    owes: bool = False
    """A command waits for the runner that was started for it."""
    ended: asyncio.Future[StopReason] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _rests_since: float = 0.0
    _interrupts: int = 0
    _interrupted_at: float = 0.0

    def look(self, *, gave_up: bool) -> None:
        """End the turn if the run rests. `gave_up`: the editor will not decide on what waits at the gate."""
        if self.ended.done():
            return
        if self.controller.status.is_gone:
            self.fail(GONE)
        elif self._is_settled(gave_up=gave_up):
            self.ended.set_result(self._stop_reason())
        elif self.is_cancelled:
            self._interrupt()

    def fail(self, why: str) -> None:
        """End the turn with an error."""
        if not self.ended.done():
            self.ended.set_exception(RequestError(-32603, why))

    def cancel(self) -> None:
        """Interrupt the run, as soon as it can be interrupted."""
        self.is_cancelled = True
        self._interrupt()

    def _is_settled(self, *, gave_up: bool) -> bool:
        controller = self.controller
        state, link = controller.state, controller.link
        if self.owes and not self.is_cancelled:
            return False
        if not controller.begun:
            return self.is_command or self.is_cancelled
        if any(number not in state.taken and number not in state.refused for number in self.sent):
            return False
        if link.runner_state() == "warming" or (state.common.queue.in_order and not controller.status.is_orphaned):
            return False
        if state.proposals and state.outcome is None:
            return gave_up
        rests = state.outcome is not None or state.question is not None or state.is_user_in_control
        rests = rests or state.waiting not in ("", "gate") or (state.paused and not state.activity)
        if not rests:
            self._rests_since = 0.0
            return False
        if self.rest.seq > self.since:
            return True
        self._rests_since = self._rests_since or time.monotonic()
        was_refused = self.sent <= state.refused.keys() | state.taken and bool(self.sent & state.refused.keys())
        is_quiet = time.monotonic() - self._rests_since > _QUIET_SECONDS
        return (self.is_command or self.is_cancelled or was_refused) and is_quiet

    def _interrupt(self) -> None:
        """Send an interrupt unless one is on its way. A run that sleeps refuses it and is paused."""
        controller = self.controller
        state = controller.state
        waits = any(number not in state.taken and number not in state.refused for number in self.sent)
        if waits or not controller.begun or time.monotonic() - self._interrupted_at < _AGAIN_SECONDS:
            return
        self._interrupted_at = time.monotonic()
        try:
            if controller.link.journal is None:
                controller.put(Stop(how="now"))
            else:
                controller.put(Interrupt() if self._interrupts < _INTERRUPTS else Pause(now=True))
                self._interrupts += 1
        except Refusal:
            self.ended.set_result("cancelled")
        except JournalError as error:
            self.fail(str(error))

    def _stop_reason(self) -> StopReason:
        state = self.controller.state
        if self.is_cancelled:
            return "cancelled"
        if (ended := state.outcome) is not None:
            return _limit_reason(reached_limit(ended)) if ended.reason is Reason.BUDGET else self._of_reply()
        if state.waiting == "message" and self.rest.limit:
            return _limit_reason(limit_in(self.rest.limit))
        return self._of_reply()

    def _of_reply(self) -> StopReason:
        match self.rest.reply:
            case "refusal":
                return "refusal"
            case "length":
                return "max_tokens"
            case _:
                return "end_turn"


def _limit_reason(limit: LimitName | None) -> StopReason:
    return "max_tokens" if limit == "tokens" else "max_turn_requests"
