"""Start runs and searches, attach to a run, list runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

import msgspec

from rundry.agent import RunnerProcess, Session, list_runs

from ..control.waiting import awaiting, blocking
from ..start.find_setup import FindSetup, requested_search
from ..start.new_run import Setup
from ..start.resuming import find as find_journal
from ..start.run_folders import folder_of
from .options import Options, SearchOptions, flags_of
from .run import AsyncRun, Run

if TYPE_CHECKING:
    from rundry.agent import RunLine, RunSpec

    from .held_run import HeldRun

Held = TypeVar("Held", bound="HeldRun")
_TO_HAND_OVER = "handoff"


class _Attended(Setup):
    """The options of a run that the program answers: it asks, and hands over once the program is gone."""

    _has_default_gate = False

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the run for this task. Raises UserError."""
        spec = super().spec(task)
        gate = msgspec.structs.replace(spec.gate, on_ask=spec.gate.on_ask or _TO_HAND_OVER)
        return msgspec.structs.replace(spec, gate=gate)


class _AttendedSearch(_Attended, FindSetup):
    """The same for a search."""


def start(task: str, *, attended: bool = False, **options: Unpack[Options]) -> Run:
    """Start a run with this task, and return it once it has begun. Raises RundryError if it cannot begin.

    Without `attended`, nobody decides while the run works: a run that would change files stages them, see `Run.staged`.
    With it the program answers what `Run.requests` yields, and the gate is `ask` unless an option or the user's config
    says otherwise.
    """
    setup = _setup(options, attended=attended)
    run = _held(Run, setup, attended=attended)
    blocking(run.begin(setup, task))
    return run


@asynccontextmanager
async def start_async(task: str, *, attended: bool = False, **options: Unpack[Options]) -> AsyncGenerator[AsyncRun]:
    """Start a run for an `async with` block, at whose end it is stopped. See `start`."""
    async with _begun(_setup(options, attended=attended), task, attended=attended) as run:
        yield run


def find(*words: str, attended: bool = False, **options: Unpack[SearchOptions]) -> Run:
    """Start a search, as `rundry find` does: of a spec file, or with `recipe="crawl"`. Raises RundryError.

    `Run.findings` yields what it finds.
    """
    setup = _search_setup(words, options, attended=attended)
    run = _held(Run, setup, attended=attended)
    blocking(run.begin(setup, setup.wanted.task))
    return run


@asynccontextmanager
async def find_async(*words: str, attended: bool = False, **options: Unpack[SearchOptions]) -> AsyncGenerator[AsyncRun]:
    """Start a search for an `async with` block, at whose end it is stopped. See `find`."""
    setup = _search_setup(words, options, attended=attended)
    async with _begun(setup, setup.wanted.task, attended=attended) as run:
        yield run


def attach(run: str | Path, *, runs_dir: str | Path | None = None, attended: bool = False, trust: bool = False) -> Run:
    """Open a run that is live or has ended: its id, the beginning of one, or its journal. Raises RundryError.

    `attended`: the program answers it. `trust`: a journal from elsewhere can be continued and applied, too. The end of
    a `with` block leaves the run as it is.
    """
    return _attached(Run, run, runs_dir, attended=attended, trust=trust)


@asynccontextmanager
async def attach_async(
    run: str | Path, *, runs_dir: str | Path | None = None, attended: bool = False, trust: bool = False
) -> AsyncGenerator[AsyncRun]:
    """Open a run for an `async with` block, at whose end it continues. See `attach`."""
    held = _attached(AsyncRun, run, runs_dir, attended=attended, trust=trust)
    try:
        yield held
    finally:
        await held.close()


def runs(*, runs_dir: str | Path | None = None) -> list[RunLine]:
    """Return the runs and how they ended, newest first."""
    return list(list_runs(folder_of(_where(runs_dir))))


@asynccontextmanager
async def _begun(setup: Setup, task: str, *, attended: bool) -> AsyncGenerator[AsyncRun]:
    run = _held(AsyncRun, setup, attended=attended)
    await awaiting(run.begin(setup, task))
    try:
        yield run
    finally:
        await run.close()


def _setup(options: Mapping[str, object], *, attended: bool) -> Setup:
    return (_Attended if attended else Setup)(flags_of(options), headless=True)


def _search_setup(words: Sequence[str], options: Mapping[str, object], *, attended: bool) -> FindSetup:
    flags = flags_of(options, searches=True)
    return (_AttendedSearch if attended else FindSetup)(requested_search(words, flags), flags, headless=True)


def _held(kind: type[Held], setup: Setup, *, attended: bool) -> Held:
    runner = RunnerProcess(setup.folder / "runner.log")
    link = Session.new(runner, attends=attended, lingers=False)
    return kind(link, runner, journals=setup.folder, is_own=True, attended=attended)


def _attached(kind: type[Held], run: str | Path, runs_dir: str | Path | None, *, attended: bool, trust: bool) -> Held:
    flags = _where(runs_dir)
    runner = RunnerProcess(None)
    link = Session.attach(find_journal(str(run), flags), runner, attends=attended, lingers=False)
    journals = None if trust else folder_of(flags)
    return kind(link, runner, journals=journals, is_own=False, attended=attended)


def _where(runs_dir: str | Path | None) -> dict[str, object]:
    return {} if runs_dir is None else flags_of({"runs_dir": runs_dir})
