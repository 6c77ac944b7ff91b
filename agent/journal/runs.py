"""Where runs are kept, what they are called, and how one is found."""

from __future__ import annotations

import calendar
import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from ..protocol import (
    Charged,
    Confirmed,
    JournalError,
    NewerJournal,
    Reason,
    RunEnded,
    RunResumed,
    RunStarted,
    RunVerified,
    StepStarted,
    UserError,
)
from .claim import holder
from .journal import Journal

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_LIST = 8
_AFTER_END = 20
"""Events from the end of a journal, in which a verification is looked for."""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as lists show it."""

    run_id: str
    path: str
    state: str
    """`running`, `ended`, `interrupted` (its runner is gone, it can be resumed), `damaged`, or `newer`: a newer
    version of this program wrote it."""
    loop: str = ""
    task: str = ""
    workspace: str = ""
    model: str = ""
    started: float = 0.0
    """Unix seconds; of one that cannot be read as its id has it, else when its file was last written."""
    reason: Reason | None = None
    """Of its outcome; None: it has not ended."""
    detail: str = ""
    complete: bool = False
    steps: int = 0
    usd: float | None = 0.0
    """None: a call had no price."""
    verified: Confirmed | None = None
    """What the newest `rundry verify` since its end said; None: there was none."""
    forked_from: str | None = None
    """The run that it went on from, where it is a fork."""
    error: str | None = None
    """Why it cannot be read."""

    @property
    def is_unreadable(self) -> bool:
        """`error` says why; nothing else is known of it."""
        return self.state in ("damaged", "newer")

    @property
    def is_finished(self) -> bool:
        """Nothing is left to resume: the work is complete, or it was refused before it began."""
        return self.is_unreadable or (self.state == "ended" and (self.complete or self.reason is Reason.REFUSED))


def new_run_id(now: float) -> str:
    """`20261121-014233-k3f9x`: sorts by the time that is given (Unix seconds), within a second too; UTC."""
    part = int(now % 1 * 36**2)
    noise = int.from_bytes(os.urandom(4)) % 36**3
    letters = (part // 36, part % 36, noise // 36**2, noise // 36 % 36, noise % 36)
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(now)) + "".join(_LETTERS[n] for n in letters)


def runs_dir(explicit: str | None, env: Mapping[str, str]) -> Path:
    """The folder of all journals: as given (`--runs-dir`), RUNDRY_RUNS_DIR, or the system's place for state."""
    given = explicit or env.get("RUNDRY_RUNS_DIR")
    if given:
        return Path(given).expanduser().absolute()
    state = env.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():
        return Path(state) / "rundry" / "runs"
    from platformdirs import user_state_dir  # costs 10 ms

    return Path(user_state_dir("rundry")) / "runs"


def journal_path(folder: Path, run_id: str) -> Path:
    """Where that run's journal stands."""
    return folder / f"{run_id}.db"


def find_run(ref: str | None, folder: Path, workspace: Path | None) -> Path:
    """The journal of a run by its id, an unambiguous beginning of it, or a path.

    None: the newest run of the workspace (of all, where that is None) that is not finished. Raises UserError.
    """
    if ref is None:
        return _newest_unfinished(folder, workspace)
    given = Path(ref).expanduser()
    if given.name != ref or given.suffix == ".db":
        for path in (given, folder / given):
            if path.is_file():
                return path.absolute()
        raise UserError(f"there is no journal at {ref}: `rundry runs` lists the runs that exist")
    ids = [path.stem for path in _journals(folder)]
    fitting = [ref] if ref in ids else [run_id for run_id in ids if ref and run_id.startswith(ref)]
    if len(fitting) == 1:
        return journal_path(folder, fitting[0])
    if not fitting:
        raise UserError(f"no run {ref!r} in {folder}: `rundry runs` lists those that exist")
    shown = ", ".join(fitting[:_LONGEST_LIST]) + (", ..." if len(fitting) > _LONGEST_LIST else "")
    raise UserError(f"{ref!r} fits {len(fitting)} runs ({shown}): give more of the id")


def list_runs(folder: Path) -> list[RunLine]:
    """All runs, the newest first; one that cannot be read says why. Empty where there is no such folder."""
    return list(_lines(folder))


def _lines(folder: Path) -> Iterator[RunLine]:
    return map(_line, _journals(folder))


def _newest_unfinished(folder: Path, workspace: Path | None) -> Path:
    wanted = None if workspace is None else str(workspace.resolve())
    for line in _lines(folder):
        if not line.is_finished and wanted in (None, line.workspace):
            return Path(line.path)
    where = "" if wanted is None else f" of {wanted}"
    raise UserError(f"no unfinished run{where} in {folder}: `rundry runs` lists all runs")


def _journals(folder: Path) -> list[Path]:
    """The newest first."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".db" and path.is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"the runs in {folder} cannot be listed: {error.strerror}") from error
    return sorted(found, key=lambda path: path.name, reverse=True)


def _line(path: Path) -> RunLine:
    try:
        journal = Journal.open(path)
        try:
            return _read(path, journal)
        finally:
            journal.close()
    except JournalError as error:
        state = "newer" if isinstance(error, NewerJournal) else "damaged"
        return RunLine(run_id=path.stem, path=str(path), state=state, error=str(error), started=_began(path))


def _began(path: Path) -> float:
    """As far as it can be told from outside."""
    try:
        return float(calendar.timegm(time.strptime(path.stem[:15], "%Y%m%d-%H%M%S")))
    except ValueError:
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _read(path: Path, journal: Journal) -> RunLine:
    spec = journal.spec
    model, steps, usd, ended = spec.model.name, 0, 0.0, None
    for event in journal.landmarks():
        match event:
            case RunStarted():
                model = event.model
            case RunResumed():
                ended = None
            case StepStarted():
                steps += 1
            case Charged():
                usd = None if usd is None or event.usd is None else usd + event.usd
            case RunEnded():
                ended = event
            case _:
                pass
    state = "ended" if ended is not None else "running" if holder(path) is not None else "interrupted"
    return RunLine(
        run_id=spec.run_id,
        path=str(path),
        state=state,
        loop=spec.loop,
        task=spec.task,
        workspace=spec.home,
        model=model,
        started=float(journal.meta("created") or 0),
        forked_from=journal.meta("forked_from"),
        verified=_verified(journal) if ended is not None else None,
        reason=ended.reason if ended else None,
        detail=ended.detail if ended else "",
        complete=ended.complete if ended else False,
        steps=ended.steps if ended else steps,
        usd=ended.usd if ended else usd,
    )


def _verified(journal: Journal) -> Confirmed | None:
    """Looked for among the newest events: few come after an end."""
    after = max(0, journal.last_seq() - _AFTER_END)
    events = [stamped.event for stamped in journal.read(after)]
    found = [event for event in events if isinstance(event, RunEnded | RunVerified)]
    return found[-1].result if found and isinstance(found[-1], RunVerified) else None
