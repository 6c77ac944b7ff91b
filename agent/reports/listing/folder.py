"""Read the lines and the totals of all runs of a folder, from the index where a journal has not changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ...journal.claim import holder
from ...journal.journal import Journal
from ...protocol import JournalError, UserError
from .index import Index, key_of
from .line import RunLine, line_of
from .tally import RunTally, tally_of


def journals(folder: Path) -> list[Path]:
    """Return the paths of all journals, newest first. Raises UserError if the folder cannot be listed."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".db" and path.is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"the runs in {folder} cannot be listed: {error.strerror}") from error
    return sorted(found, key=lambda path: path.name, reverse=True)


class RunsFolder:
    """Context manager for a folder of runs. On exit it stores in the index what it read from journals."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError if the folder cannot be listed."""
        self._paths = journals(folder)
        self._index = Index(folder)

    def lines(self) -> Iterator[RunLine]:
        """Yield a line per run, newest first; for an unreadable run, the line says why."""
        for path in self._paths:
            known = self._index.entry(path)
            yield self._read(path) if known is None else _as_of_now(known.line, path)

    def tally(self, line: RunLine) -> RunTally:
        """Return the totals of the run for a report. Raises JournalError."""
        if line.is_unreadable:
            raise JournalError(line.error or line.state)
        path = Path(line.path)
        known = self._index.entry(path)
        if known is not None and known.current is not None:
            return known.current
        key = key_of(path)
        journal = Journal.open_for_reading(path)
        try:
            tally = tally_of(journal, self._index.older(path))
        finally:
            journal.close()
        self._index.put(path, key, line, tally)
        return tally

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._index.save({path.name for path in self._paths})

    def _read(self, path: Path) -> RunLine:
        key = key_of(path)
        line = line_of(path)
        self._index.put(path, key, line)
        return line


def _as_of_now(line: RunLine, path: Path) -> RunLine:
    """Add to a line from the index what the journal does not contain: whether it has a runner, and its present path."""
    try:
        state = line.state if line.state == "ended" else "running" if holder(path) is not None else "interrupted"
    except JournalError:
        return line_of(path)
    return msgspec.structs.replace(line, state=state, path=str(path))
