"""What a run staged, for a Python program: read it, apply it, drop it. The work runs in a thread with its own loop."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rundry.agent import Decide, EntryChoice, UserError, open_stage

from ..control.stage_decision import accepts, unprotected

if TYPE_CHECKING:
    from rundry.agent import Applied, EffectEntry, ProposalOpened

    from ..control.waiting import Wait

Result = TypeVar("Result")
_START_SECONDS = 0.005
_OTHER = "what is staged is not what was shown any more: read it again with staged()"


@dataclass(frozen=True, slots=True)
class Staged:
    """What a run staged, as one change. In the workspace, the files are as before."""

    digest: str
    """Names exactly this change. `apply` refuses if it is another one by then."""
    diff: str
    """Unified diff of the whole change; of a very long one, the beginning."""
    entries: tuple[EffectEntry, ...]
    """One for each file, and for what git records."""
    notes: tuple[str, ...]
    """What is never applied, and why."""

    @property
    def paths(self) -> list[str]:
        """The paths of the files."""
        return [entry.path for entry in self.entries if entry.kind != "git"]

    @property
    def protected(self) -> list[str]:
        """The paths that only a person accepts: guarded and protected files."""
        return [entry.path for entry in self.entries if entry.danger]


def staged_now(path: Path) -> Wait[Staged | None]:
    """Read what the run of this journal staged, or None if nothing is staged. Raises RundryError."""

    async def read() -> Staged | None:
        async with open_stage(path, dict(os.environ)) as review:
            return None if review.is_empty else _staged(review.shown, review.notes)

    return (yield from in_thread(read))


def apply_staged(path: Path, staged: Staged, skip: Sequence[str], *, person: bool, channel: str) -> Wait[Applied]:
    """Apply exactly this change, without the paths in `skip`. Raises UserError if it is another one by now."""

    async def apply() -> Applied:
        async with open_stage(path, dict(os.environ)) as review:
            if review.shown.digest != staged.digest:
                raise UserError(_OTHER)
            return await review.apply(_decision(review.shown, skip, person=person, channel=channel))

    return (yield from in_thread(apply))


def _staged(shown: ProposalOpened, notes: Sequence[str]) -> Staged:
    entries = () if shown.effects is None else tuple(shown.effects.entries)
    return Staged(digest=shown.digest, diff=shown.diff, entries=entries, notes=tuple(notes))


def _decision(shown: ProposalOpened, skip: Sequence[str], *, person: bool, channel: str) -> Decide:
    """Return the decision. Raises UserError for a path that is not staged, or if nothing is left to apply."""
    entries = [] if shown.effects is None else shown.effects.entries
    if unknown := [path for path in skip if path not in {entry.path for entry in entries}]:
        raise UserError(f"skip={unknown[0]!r}: this is not staged")
    skipped = {at: EntryChoice(skip=True) for at, entry in enumerate(entries) if entry.path in skip}
    if not person:
        skipped = {**unprotected(shown).entries, **skipped}
    base = unprotected(shown)
    chosen = Decide(
        proposal_id=shown.proposal_id,
        digest=shown.digest,
        verdict="part" if skipped else "approve",
        entries=skipped,
        channel=channel if person else base.channel,
    )
    if entries and not accepts(shown, chosen):
        raise UserError("nothing is left to apply: only a person accepts these files (person=True), or all are skipped")
    return chosen


def in_thread(work: Callable[[], Coroutine[Any, Any, Result]]) -> Wait[Result]:
    """Run a coroutine in a thread with its own event loop. If the wait is given up, cancel it and wait for its end."""
    began: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def main() -> Result:
        began.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await work()

    with ThreadPoolExecutor(1, "rundry-apply") as pool:  # its end waits for the thread
        working = pool.submit(lambda: asyncio.run(main()))
        try:
            while not working.done():
                yield
        finally:
            while not (working.done() or began):
                time.sleep(_START_SECONDS)
            if not working.done():
                loop, task = began[0]
                with suppress(RuntimeError):  # the loop closed meanwhile: the work is done
                    loop.call_soon_threadsafe(cast("asyncio.Task[Any]", task).cancel)
        return working.result()
