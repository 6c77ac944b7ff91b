"""Read from the journals of other sessions what they wrote into the folder of this run (decisions/0043, 10)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..protocol import FileChanged, JournalError, RunSpec
from .encoding import decode
from .journal import Journal

MOST = 50
"""Maximum number of journals that are looked at: those that were written last. A folder with many delays nothing."""
_WRITES = (
    "SELECT at, type, body FROM events WHERE seq > ? AND seq <= ? AND type = 'file_changed' AND at >= ? ORDER BY seq"
)


class Written(NamedTuple):
    """What another session left at a path."""

    run_id: str
    digest: str | None
    """SHA-256 of the content. None means that it deleted the file."""
    at: float
    """Unix seconds."""


@dataclass(slots=True)
class _Session:
    """What is known of a journal."""

    spec: RunSpec | None = None
    """Of a run whose writes count."""
    stamp: tuple[int, ...] = ()
    """Differs when the journal was written."""
    seq: int = 0
    """The newest event that was read."""
    written: dict[str, Written] = field(default_factory=dict[str, Written])


class OtherSessions:
    """The other sessions in the folder of a run, as their journals are now. Several threads may ask."""

    def __init__(self, spec: RunSpec, own: Path, began: float) -> None:
        """`own`: the journal of this run. `began`: Unix seconds; what was written before does not count."""
        self._spec, self._own, self._began = spec, own, began
        self._known = dict[str, _Session]()
        self._lock = threading.Lock()

    def written(self) -> dict[str, Written]:
        """Return what other sessions wrote since this run began, by path; the newest of each. Blocks."""
        found = dict[str, Written]()
        with self._lock:
            for session in self._sessions():
                for path, one in session.written.items():
                    if path not in found or one.at >= found[path].at:
                        found[path] = one
        return found

    def writer(self, path: str, digest: str | None) -> str:
        """Return the run whose newest write at this path is this content, or empty if there is none. Blocks."""
        one = self.written().get(path)
        return one.run_id if one is not None and one.digest == digest else ""

    def _sessions(self) -> Iterator[_Session]:
        for path in journals_beside(self._own):
            session = self._known.setdefault(path.name, _Session())
            stamp = _stamp(path)
            if stamp == session.stamp or not self._is_new(stamp):
                yield session
                continue
            try:
                self._read(path, session)
            except (JournalError, OSError):  # `rundry runs` reports the problem, or its session closes it just now
                continue
            session.stamp = stamp
            yield session

    def _read(self, path: Path, session: _Session) -> None:
        journal = Journal.open_for_reading(path)
        try:
            spec = journal.spec
            there, here = Path(spec.workspace), Path(self._spec.workspace)
            if not overlap(there, here) or self._is_of_this_run(spec):
                return
            ((newest,),) = journal.rows("SELECT coalesce(max(seq), 0) FROM events")
            for at, kind, body in journal.rows(_WRITES, [session.seq, newest, self._began]):
                event = decode(kind, body)
                if not isinstance(event, FileChanged) or event.staged:
                    continue
                target = there / event.path
                if target.is_relative_to(here):
                    name = target.relative_to(here).as_posix()
                    session.written[name] = Written(spec.run_id, event.new, at)
            session.seq = newest
        finally:
            journal.close()

    def _is_new(self, stamp: tuple[int, ...]) -> bool:
        """Return whether a journal was written since this run began."""
        return max(stamp[::2], default=0) >= int(self._began * 1e9)

    def _is_of_this_run(self, spec: RunSpec) -> bool:
        own, parent = self._spec.parent, spec.parent
        above = "" if own is None else own.run_id
        return spec.run_id == above or (parent is not None and parent.run_id in (self._spec.run_id, above))


def journals_beside(own: Path) -> list[Path]:
    """Return the other journals in the folder of a journal that were written last, newest first."""
    try:
        found = [path for path in own.parent.iterdir() if path.suffix == ".db" and path.name != own.name]
    except OSError:  # nothing depends on it
        return []
    return sorted(found, key=lambda path: (max(_stamp(path)[::2], default=0), path.name), reverse=True)[:MOST]


def overlap(one: Path, other: Path) -> bool:
    """Return whether one folder is the other one, or in it."""
    return one.is_relative_to(other) or other.is_relative_to(one)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return the times and sizes of a journal and its log, which differ when it was written."""
    found = list[int]()
    for name in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            status = name.stat()
            found += [status.st_mtime_ns, status.st_size]
    return tuple(found)
