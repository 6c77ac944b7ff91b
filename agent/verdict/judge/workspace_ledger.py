"""The ledger of a workspace: changes of all its runs that nobody decided on yet (decision 0040).

It lies next to the journals, where neither tools nor commands of a run can write, whether layers work or not.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...host.plain_files import LARGEST
from ...layers.layer_effects import Side
from ...layers.occupied import workspace_key
from ...layers.orders import write_durably

_INDEX, _CONTENTS, _LOCK = "index", "contents", "lock"


class UndecidedChange(NamedTuple):
    """A change of a file that nobody decided on."""

    path: str
    before: Side | None
    """What would be at the path without any such change."""
    after: Side | None
    run: str
    """Id of the run that noted it."""
    start: Side | None
    """What was there before the first of them. If the run is resumed, its own journal has only its own changes."""
    head: str = ""
    """The commit of HEAD when it was noted, or empty if there was none."""


class Noted(NamedTuple):
    """What the ledger has."""

    entries: tuple[UndecidedChange, ...] = ()
    outputs: frozenset[str] = frozenset()
    """Folders and files with output that runs wrote."""
    commits: frozenset[str] = frozenset()
    """Commits that runs made: that a file is in one of them decides nothing."""


class _Stored(msgspec.Struct, frozen=True):
    entries: list[tuple[bytes, Side | None, Side | None, str, Side | None, str]]
    outputs: list[bytes]
    commits: list[str]


class Ledger:
    """The ledger of one workspace."""

    def __init__(self, workspace: Path, runs: Path) -> None:
        """`runs`: the folder of the journals."""
        self._folder = runs / "undecided" / workspace_key(workspace)
        self._contents = self._folder / _CONTENTS

    def read(self) -> Noted:
        """Return what is noted. Raises OSError, and ValueError if the file is damaged."""
        file = self._folder / _INDEX
        try:
            stored = msgspec.msgpack.decode(file.read_bytes(), type=_Stored)
        except FileNotFoundError:
            return Noted()
        except msgspec.MsgspecError as error:
            raise ValueError(f"the list of undecided changes {file} is damaged ({error}): delete it") from error
        entries = tuple(UndecidedChange(os.fsdecode(line[0]), *line[1:]) for line in stored.entries)
        return Noted(entries, frozenset(map(os.fsdecode, stored.outputs)), frozenset(stored.commits))

    @contextmanager
    def locked(self) -> Generator[None]:
        """Let no other process change the ledger during the block."""
        self._contents.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def write(self, noted: Noted, contents: Mapping[str, bytes | Path]) -> None:
        """Store what is noted, durably. Only while it is `locked`. Raises OSError.

        `contents`: old contents that the ledger does not have yet, by SHA-256.
        """
        sides = (side for entry in noted.entries for side in (entry.before, entry.start) if side is not None)
        needed = {side.digest for side in sides if side.digest}
        for digest in needed & contents.keys():
            self._keep(digest, contents[digest])
        stored = _Stored(
            [(os.fsencode(entry.path), *entry[1:]) for entry in noted.entries],
            sorted(map(os.fsencode, noted.outputs)),
            sorted(noted.commits),
        )
        write_durably(self._folder / _INDEX, msgspec.msgpack.encode(stored))
        for file in self._contents.iterdir():
            if file.name not in needed:
                file.unlink()

    def find(self, digest: str) -> Path | None:
        """Return the file with an old content, or None if there is none."""
        file = self._contents / digest
        return file if digest and file.exists() else None

    def texts_before(self) -> dict[str, str]:
        """Return each undecided path with its text before; empty if it has none. Raises OSError, ValueError."""
        found = dict[str, str]()
        for entry in self.read().entries:
            kept = self.find(entry.before.digest) if entry.before is not None else None
            data = b"" if kept is None or kept.stat().st_size > LARGEST else kept.read_bytes()
            found[entry.path] = data.decode("utf-8", "replace")
        return found

    def _keep(self, digest: str, content: bytes | Path) -> None:
        """Store a content, unless it is there or has changed meanwhile."""
        file = self._contents / digest
        if file.exists():
            return
        if isinstance(content, bytes):
            write_durably(file, content)
            return
        making = file.with_name(f"{digest}.new")
        shutil.copyfile(content, making)
        with making.open("rb") as copied:
            is_same = hashlib.file_digest(copied, "sha256").hexdigest() == digest
        if is_same:
            making.rename(file)
        else:
            making.unlink()


def replaced(
    noted: Noted, known: Collection[str], entries: Collection[UndecidedChange], outputs: Collection[str]
) -> Noted:
    """Return the ledger after all paths that a run knows were decided on again.

    `known`: these paths. `entries`: those of them that are still undecided. `outputs`: output that is still there.
    """
    kept = [entry for entry in noted.entries if entry.path not in known]
    added = sorted(entries, key=lambda entry: entry.path)
    return Noted((*kept, *added), frozenset(outputs), noted.commits)
