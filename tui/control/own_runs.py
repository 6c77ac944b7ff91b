"""The runs that a server started or resumed. Each has a process of its own, which outlives the server."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from rundry.agent import (
    Journal,
    JournalError,
    ResumeChanges,
    RundryError,
    RunEnded,
    RunnerProcess,
    RunSpec,
    Session,
    Stop,
    UserError,
)

from .waiting import awaiting, begins, until_begun

STOP_SECONDS = 8.0
"""Seconds that stopping runs get at the exit of the server."""
_BEAT_SECONDS = 4.0
_LOOK_SECONDS = 0.5


class OwnRuns:
    """Starts and resumes runs, and stays attached to them until they end, so that their proposals wait."""

    def __init__(
        self, journals: Path, *, at_once: int | None = None, starts: int | None = None, stops_on_exit: bool = False
    ) -> None:
        """`journals`: the folder with the journals. `at_once`: most runs at the same time. `starts`: most runs in all.

        `stops_on_exit`: the runs stop when this is closed.
        """
        self._journals, self._at_once, self._starts = journals, at_once, starts
        self._stops_on_exit = stops_on_exit
        self._live: dict[str, tuple[Session, asyncio.Task[None]]] = {}
        self._beginning = self._started = 0

    @property
    def live(self) -> list[str]:
        """Ids of the runs that this server is attached to."""
        return list(self._live)

    async def begin(self, spec: RunSpec, notes: list[str]) -> None:
        """Start a run, and return once it has begun. Raises RundryError."""

        def hand_over(session: Session) -> None:
            session.begin(spec, self._journals, notes)

        await self._open(spec.run_id, hand_over, after=0)

    async def resume(self, journal: Journal, changes: ResumeChanges) -> None:
        """Resume a run, and return once it continues. Raises RundryError."""
        path = journal.path

        def hand_over(session: Session) -> None:
            session.resume(path, changes)

        await self._open(journal.spec.run_id, hand_over, after=journal.last_seq())

    async def leave(self, run_id: str) -> None:
        """Detach from a run that has ended, so that its process can exit."""
        if (known := self._live.get(run_id)) is not None:
            known[1].cancel()
            await asyncio.gather(known[1], return_exceptions=True)

    async def close(self, by: str) -> None:
        """Leave the runs, which continue, or stop them if the command line says so. `by`: who stops them."""
        if self._stops_on_exit:
            for session, _ in self._live.values():
                with contextlib.suppress(RundryError):
                    session.put(Stop(how="now", by=by))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await asyncio.gather(*(following for _, following in self._live.values()), return_exceptions=True)
        for session, following in list(self._live.values()):
            following.cancel()
            session.close()
        self._live.clear()

    async def _open(self, run_id: str, hand_over: Callable[[Session], None], *, after: int) -> None:
        """Let a new runner take the run. A client that cancels its call does not stop this half way.

        `after`: number of the newest event of the run so far.
        """
        if self._at_once is not None and len(self._live) + self._beginning >= self._at_once:
            raise UserError(
                f"{self._at_once} runs of this server are live, which is its limit (--max-runs): "
                "wait for one to end, or stop one"
            )
        if self._starts is not None and self._started >= self._starts:
            raise UserError(f"this server has started {self._started} runs, which is its limit (--max-starts)")
        self._beginning += 1
        self._started += 1
        await asyncio.shield(asyncio.ensure_future(self._hand_over(run_id, hand_over, after)))

    async def _hand_over(self, run_id: str, hand_over: Callable[[Session], None], after: int) -> None:
        session: Session | None = None
        try:
            session = Session.new(RunnerProcess(self._journals / "runner.log"))
            await asyncio.to_thread(session.start_runner)
            hand_over(session)
            if session.journal is not None:
                session.stored_state()  # so that only the newest events are read
            await awaiting(until_begun(session, lambda: begins(session.new_events(), after)))
        except BaseException:
            _close(session)
            raise
        finally:
            self._beginning -= 1
        self._live[run_id] = (session, asyncio.ensure_future(self._follow(run_id, session)))

    async def _follow(self, run_id: str, session: Session) -> None:
        """Stay attached until the run ends or its process is gone."""
        beaten = time.monotonic()
        try:
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                is_over = any(isinstance(stamped.event, RunEnded) for stamped in session.new_events())
                if is_over or session.runner_state() in ("ended", "gone"):
                    return
                if time.monotonic() - beaten >= _BEAT_SECONDS:
                    beaten = time.monotonic()
                    session.beat()
        except JournalError:  # it was deleted or damaged, which the next call reports
            return
        finally:
            if self._live.pop(run_id, None) is not None:
                session.close()


def _close(session: Session | None) -> None:
    if session is not None:
        session.close()
