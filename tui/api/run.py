"""The two faces of a run: `Run` for blocking code, `AsyncRun` for async code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from ..control.waiting import LOOK_SECONDS, awaiting, blocking
from .held_run import HeldRun, Request

if TYPE_CHECKING:
    from types import TracebackType

    from rundry.agent import Applied, LimitValue, ProposalOpened, RunEnded, Stamped

    from ..start.confirmed_findings import FindingState, FoundRow
    from .staged import Staged

Item = TypeVar("Item")
_FOUND: tuple[FindingState, ...] = ("confirmed", "unverified")


class Run(HeldRun):
    """A run, for blocking code. Use it in a `with` block: the end of the block stops a run that was started there.

    Use one object from one thread. Methods raise `UserError` for what is not possible now, `Refused` if the run
    refuses it, and `Interrupted` if the process of the run was killed.
    """

    def events(self, after: int = 0) -> Iterator[Stamped]:
        """Yield the events after that number, waiting for new ones, until the run ends."""
        return _blocking_items(self._stream(after))

    def requests(self) -> Iterator[Request]:
        """Yield each proposal and each question once, waiting for new ones, until the run ends.

        A proposal whose file changed meanwhile is yielded again, as it is then. Needs `attended=True`.
        """
        return _blocking_items(self._request_stream())

    def findings(self, states: Sequence[FindingState] = _FOUND) -> Iterator[FoundRow]:
        """Yield the findings of a search as they are judged, each once, until the search ends."""
        return _blocking_items(self._finding_stream(states))

    def wait(self) -> RunEnded:
        """Wait for the end of the run, and return its outcome."""
        return blocking(self._until_end())

    def approve(self, proposal: ProposalOpened, *, hunks: Sequence[int] | None = None, person: bool = False) -> None:
        """Approve exactly this proposal, or some of its hunks, counted from 1.

        `person`: a person has seen it and decided. Without it the journal names this program, and guarded and protected
        files, hunks, and more than the sandbox allows are refused. An ended run is resumed with the decision.
        """
        blocking(self._approved(proposal, hunks, person=person))

    def reject(self, proposal: ProposalOpened, reason: str = "", *, person: bool = False) -> None:
        """Reject a proposal. The model reads the reason. An ended run is resumed with the decision."""
        blocking(self._decided(proposal, "reject", person=person, reason=reason or None))

    def answer(self, text: str, *, person: bool = False) -> None:
        """Answer the question that waits, with a text or with the number of an option."""
        blocking(self._answer(text, person=person))

    def send(self, text: str) -> None:
        """Send a message. The model reads it after this step."""
        blocking(self._sent(text))

    def stop(self, *, now: bool = False) -> None:
        """End the run after a last summary of the model, or immediately. `wait()` returns its outcome."""
        blocking(self._stopped(now=now))

    def pause(self, *, now: bool = False) -> None:
        """Pause the run after this step, or interrupt the step."""
        blocking(self._paused(now=now))

    def unpause(self) -> None:
        """Continue after a pause."""
        blocking(self._unpaused())

    def set_limits(self, **limits: LimitValue) -> None:
        """Change limits of the running run: `steps`, `tokens`, `usd`, `time` (seconds) and others, see `rundry ctl`."""
        blocking(self._limited(limits))

    def resume(self, message: str | None = None, **limits: LimitValue) -> None:
        """Continue a run that ended or lost its process, with a message and with other limits."""
        blocking(self._continued(message, limits))

    def staged(self) -> Staged | None:
        """Return what the ended run staged, or None."""
        return blocking(self._staged())

    def apply(self, staged: Staged, *, skip: Sequence[str] = (), person: bool = False) -> Applied:
        """Apply exactly what was shown, without the paths in `skip`, then run the checks in the workspace.

        What is skipped stays staged, and so do guarded and protected files unless `person` is set.
        """
        return blocking(self._applied(staged, skip, person=person))

    def drop(self) -> None:
        """Delete what is staged."""
        blocking(self._dropped())

    def detach(self) -> None:
        """Release the run without stopping it. `rundry.attach(run.id)` opens it again."""
        self._release()

    def close(self) -> None:
        """Stop the run if this object started it and it has not ended, and release it. Raises StillRunning."""
        blocking(self._left())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncRun(HeldRun):
    """A run, for async code: `Run` with the same methods, to be awaited."""

    def events(self, after: int = 0) -> AsyncIterator[Stamped]:
        """Do what `Run.events` does, in async code."""
        return _async_items(self._stream(after))

    def requests(self) -> AsyncIterator[Request]:
        """Do what `Run.requests` does, in async code."""
        return _async_items(self._request_stream())

    def findings(self, states: Sequence[FindingState] = _FOUND) -> AsyncIterator[FoundRow]:
        """Do what `Run.findings` does, in async code."""
        return _async_items(self._finding_stream(states))

    async def wait(self) -> RunEnded:
        """Do what `Run.wait` does, in async code."""
        return await awaiting(self._until_end())

    async def approve(
        self, proposal: ProposalOpened, *, hunks: Sequence[int] | None = None, person: bool = False
    ) -> None:
        """Do what `Run.approve` does, in async code."""
        await awaiting(self._approved(proposal, hunks, person=person))

    async def reject(self, proposal: ProposalOpened, reason: str = "", *, person: bool = False) -> None:
        """Do what `Run.reject` does, in async code."""
        await awaiting(self._decided(proposal, "reject", person=person, reason=reason or None))

    async def answer(self, text: str, *, person: bool = False) -> None:
        """Do what `Run.answer` does, in async code."""
        await awaiting(self._answer(text, person=person))

    async def send(self, text: str) -> None:
        """Do what `Run.send` does, in async code."""
        await awaiting(self._sent(text))

    async def stop(self, *, now: bool = False) -> None:
        """Do what `Run.stop` does, in async code."""
        await awaiting(self._stopped(now=now))

    async def pause(self, *, now: bool = False) -> None:
        """Do what `Run.pause` does, in async code."""
        await awaiting(self._paused(now=now))

    async def unpause(self) -> None:
        """Do what `Run.unpause` does, in async code."""
        await awaiting(self._unpaused())

    async def set_limits(self, **limits: LimitValue) -> None:
        """Do what `Run.set_limits` does, in async code."""
        await awaiting(self._limited(limits))

    async def resume(self, message: str | None = None, **limits: LimitValue) -> None:
        """Do what `Run.resume` does, in async code."""
        await awaiting(self._continued(message, limits))

    async def staged(self) -> Staged | None:
        """Do what `Run.staged` does, in async code."""
        return await awaiting(self._staged())

    async def apply(self, staged: Staged, *, skip: Sequence[str] = (), person: bool = False) -> Applied:
        """Do what `Run.apply` does, in async code."""
        return await awaiting(self._applied(staged, skip, person=person))

    async def drop(self) -> None:
        """Do what `Run.drop` does, in async code."""
        await awaiting(self._dropped())

    def detach(self) -> None:
        """Do what `Run.detach` does, in async code."""
        self._release()

    async def close(self) -> None:
        """Do what `Run.close` does, in async code."""
        await awaiting(self._left())


def _blocking_items(items: Generator[Item | None]) -> Iterator[Item]:
    for item in items:
        if item is None:
            time.sleep(LOOK_SECONDS)
        else:
            yield item


async def _async_items(items: Generator[Item | None]) -> AsyncIterator[Item]:
    for item in items:
        if item is None:
            await asyncio.sleep(LOOK_SECONDS)
        else:
            yield item
