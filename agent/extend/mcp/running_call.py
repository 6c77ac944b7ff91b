"""A call of a tool while it runs: its time limit, its progress, and what its server asks the person."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from .forms import Answers, CannotAsk, Person, answers_to
from .tool_listing import clean

if TYPE_CHECKING:
    from ...protocol import McpServer

MOST_ASKED = 10
"""Requests of one call that a person is asked about."""
MOST_DECLINED = 2
"""Requests of one call that a person declines before the others are declined, too."""
MOST_SECONDS = 3_600.0
"""How long a call may take at most whose progress extends its limit, without the time of the person."""
_LONGEST_LINE = 150
_ASKED = "The server asked the person for something during this call"


class Caller(Person, Protocol):
    """Made the call, and answers for it."""

    def report(self, line: str) -> None:
        """Show how far the call is."""
        ...

    def note(self, line: str) -> None:
        """Tell the model what happened during the call."""
        ...


class RunningCall:
    """A call that waits for its result. `limit` is entered."""

    def __init__(
        self, server: McpServer, caller: Caller, limit: asyncio.Timeout, seconds: float, longest: float
    ) -> None:
        """`seconds`: the time limit. `longest`: what progress can extend it to."""
        self._server, self._caller, self._limit, self._seconds = server, caller, limit, seconds
        self._until = asyncio.get_running_loop().time() + longest
        self._asking: set[asyncio.Task[Answers | None]] = set()
        self._turn = asyncio.Lock()
        self._asked = self._declined = 0
        self._stands = False
        self.error: BaseException | None = None
        """What went wrong in the program while it asked the person."""

    async def answer(self, params: Mapping[str, Any]) -> Answers | None:
        """Ask the person, while the time limit stands still. Returns None if the request is declined."""
        task = asyncio.ensure_future(self._answered(params))
        self._asking.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._asking.discard(task)
            task.cancel()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, CannotAsk):
            self._caller.note(f"{_ASKED}, which was declined: {error}.")
        elif error is not None:
            self.error = error
        return None if error is not None or task.cancelled() else task.result()

    async def _answered(self, params: Mapping[str, Any]) -> Answers | None:
        async with self._turn:
            self._asked += 1
            if self._asked > MOST_ASKED or self._declined >= MOST_DECLINED:
                return None
            with self._standing():
                answers = await answers_to(params, self._server, self._caller)
            if answers is None:
                self._declined += 1
                self._caller.note(f"{_ASKED}, and it was declined.")
            return answers

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Show the progress, and start the time limit again if the person configured that."""
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        words = " ".join(clean(message or "").split())[:_LONGEST_LINE]
        self._caller.report(f"{share}  {words}".rstrip())
        if self._server.progress_extends and not self._stands and not self._limit.expired():
            self._limit.reschedule(min(asyncio.get_running_loop().time() + self._seconds, self._until))

    async def close(self) -> None:
        """End the questions that are still open."""
        for task in self._asking:
            task.cancel()
        if self._asking:
            await asyncio.wait(self._asking)

    @contextmanager
    def _standing(self) -> Generator[None]:
        """Let the time limit stand still."""
        loop, due = asyncio.get_running_loop(), self._limit.when()
        began = loop.time()
        if self._limit.expired() or due is None:
            yield
            return
        self._limit.reschedule(None)
        self._stands = True
        try:
            yield
        finally:
            self._stands, stood = False, loop.time() - began
            self._until += stood
            if not self._limit.expired():
                self._limit.reschedule(due + stood)
