"""Wait for a runner: each wait is a generator that yields while it waits, so that blocking and async views share it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from rundry.agent import (
    CommandRefused,
    CommandTaken,
    Decide,
    Journal,
    ProposalDecided,
    Refusal,
    RundryError,
    RunResumed,
    RunStarted,
    Session,
    Stamped,
    UserError,
    holder,
)

from ..text.show_text import one_line

Result = TypeVar("Result")
Wait = Generator[None, None, Result]
"""Yields when the caller should pause, and returns the result."""

BEGIN_SECONDS = 120.0
"""Seconds within which a run must begin; servers with models may have to load them first."""
DOING_SECONDS = 60.0
"""Seconds within which a command that was taken must be done, such as a check of a model, or an undo of files."""
LOOK_SECONDS = 1 / 50
_GONE_SECONDS = 1.0
"""Seconds after which a runner that left the command in the inbox is looked for."""


class NoAnswer(RundryError):
    """The runner did not answer a command."""

    def __init__(self, why: str, *, is_gone: bool = False) -> None:
        """`is_gone`: no process holds the run."""
        super().__init__(why)
        self.is_gone = is_gone


def blocking(wait: Wait[Result], pause: float = LOOK_SECONDS) -> Result:
    """Wait in this thread, and return the result."""
    try:
        while True:
            next(wait)
            time.sleep(pause)
    except StopIteration as end:
        return end.value
    finally:
        wait.close()


async def awaiting(wait: Wait[Result], pause: float = LOOK_SECONDS) -> Result:
    """Wait in this task, and return the result."""
    try:
        while True:
            next(wait)
            await asyncio.sleep(pause)
    except StopIteration as end:
        return end.value
    finally:
        wait.close()


def until_begun(session: Session, has_begun: Callable[[], bool]) -> Wait[None]:
    """Wait until the run has begun or continues. `has_begun`: reads the new events, see `begins`. Raises Refusal."""
    began = time.monotonic()
    while not has_begun():
        if session.journal is not None and session.runner_state() == "gone":
            raise Refusal("the process of the run has exited: read runner.log in the folder of the journals")
        if time.monotonic() - began > BEGIN_SECONDS:
            raise Refusal(f"the run did not begin within {BEGIN_SECONDS:.0f} s: read runner.log")
        yield


def begins(events: Sequence[Stamped], after: int) -> bool:
    """Return whether a run began or continued in these events, after the one with that number."""
    return any(one.seq > after and isinstance(one.event, RunStarted | RunResumed) for one in events)


def until_answered(
    journal: Journal, number: int, after: int, *, seconds: float, is_alone: bool = False
) -> Wait[str | None]:
    """Wait for the answer to a command. Return None if it was taken, otherwise why not. Raises NoAnswer.

    `number`: id of the command. `after`: the newest event before it was sent. `seconds`: within which it must leave the
    inbox. `is_alone`: no runner has the run, and a process carries out only this command.
    """
    began = time.monotonic()
    while True:
        if journal.changed():
            for stamped in journal.read(after):
                after = stamped.seq
                match stamped.event:
                    case CommandTaken(command_id=command_id) if command_id == number:
                        return None
                    case CommandRefused(command_id=command_id, why=why) if command_id == number:
                        return why
                    case _:
                        pass
        waited = time.monotonic() - began
        is_waiting = any(command_id == number for command_id, _ in journal.inbox.untaken())
        if is_waiting and not is_alone and waited > _GONE_SECONDS and holder(journal.path) is None:
            raise NoAnswer(f"its runner is gone: rundry resume {journal.spec.run_id}", is_gone=True)
        if waited > (seconds if is_waiting and not is_alone else DOING_SECONDS):
            state = "it is still in the inbox" if is_waiting else "accepted, but not done yet"
            raise NoAnswer(f"no answer within {waited:.0f} s: {state}")
        yield


def until_recorded(journal: Journal, command: Decide, after: int, *, seconds: float) -> Wait[None]:
    """Wait until a resumed run records the decision. Raises UserError if somebody else decided, or nobody."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for stamped in journal.read(after):
            after, event = stamped.seq, stamped.event
            if isinstance(event, ProposalDecided) and event.proposal_id == command.proposal_id:
                if (event.decision, event.by) != (command.verdict, command.by):
                    raise UserError(f"somebody else decided first: {event.decision} by {one_line(event.by)}")
                return
        yield
    raise UserError("the run was resumed, but has not recorded the decision: read it before you decide again")
