"""Record the digests of a run's dependency folders at its start, and compare them when its result is confirmed."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import DependenciesFound, DependenciesRecorded, DependencyFolder
from ...protocol.text.counts import plural
from ...repo.checkout.dependency_folders import FolderKind, dependency_folders
from ...repo.checkout.folder_manifest import Manifest, TooManyFiles, compare, record
from .checkout_failed import CheckoutFailed

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder

_MOST_MASKED = 200
"""Maximum number of folders that a check sees empty, each of which needs its own mount."""
_NAMED = 3


class Dependencies:
    """Record the dependency folders of one run in the background."""

    def __init__(self, events: Recorder, journal: Journal, facts: RunFacts, root: Path) -> None:
        self._events, self._journal, self._facts, self._root = events, journal, facts, root
        self._task: asyncio.Task[None] | None = None
        self._closed = threading.Event()

    def begin(self) -> None:
        """Start reading the folders, unless an earlier runner did or a tool may have changed them already."""
        facts = self._facts
        if facts.spec.predicates.confirming and facts.verdicts.dependencies is None and not facts.actions:
            self._task = asyncio.ensure_future(self._record())

    async def ready(self) -> None:
        """Wait until the folders are recorded."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def close(self) -> None:
        """Stop reading, and wait until the reader has ended."""
        self._closed.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _record(self) -> None:
        root = self._root
        began = time.monotonic()
        found = await asyncio.to_thread(dependency_folders, root)
        if found:
            self._events.record(DependenciesFound(paths=sorted(found)))
        folders = [await self._folder(root, path, kind) for path, kind in sorted(found.items())]
        self._events.record(DependenciesRecorded(folders=folders, seconds=time.monotonic() - began), durable=True)

    async def _folder(self, root: Path, path: str, kind: FolderKind) -> DependencyFolder:
        def wanted() -> bool:
            return not self._closed.is_set()

        try:
            manifest = await asyncio.to_thread(record, root / path, kind.caches, wanted)
        except TooManyFiles as error:
            return DependencyFolder(path=path, why_not=str(error))
        except OSError as error:
            return DependencyFolder(path=path, why_not=f"{error.filename}: {error.strerror}")
        blob = self._journal.blobs.keep(msgspec.msgpack.encode(manifest))
        return DependencyFolder(path=path, files=len(manifest.files), bytes=manifest.bytes, manifest=blob)


class Mounted(msgspec.Struct, frozen=True):
    """The unchanged dependency folders, which a checkout mounts."""

    paths: list[str] = []
    """Paths relative to the workspace."""
    empty: list[str] = []
    """Paths of caches in these folders that a check must not see."""


def unchanged(journal: Journal, facts: RunFacts, root: Path) -> Mounted:
    """Compare the dependency folders with those of the start. Raises CheckoutFailed with the differences."""
    present = dependency_folders(root)
    recorded = facts.verdicts.dependencies
    if recorded is None:
        if present:
            raise CheckoutFailed(f"the start of {_few(sorted(present))} was not recorded: this needs --confirm")
        return Mounted()
    known = {folder.path: folder for folder in recorded.folders}
    if new := sorted(present.keys() - known.keys()):
        raise CheckoutFailed(f"{_few(new)} did not exist at the start")
    if gone := sorted(known.keys() - present.keys()):
        raise CheckoutFailed(f"{_few(gone)} existed at the start, but does not exist now")
    empty: list[str] = []
    for path, folder in known.items():
        empty += _compared(journal, folder, root / path, present[path])
    if len(empty) > _MOST_MASKED:
        raise CheckoutFailed(f"byte code in {len(empty)} folders of {_few(sorted(known))} changed since the start")
    return Mounted(sorted(known), empty)


def _compared(journal: Journal, folder: DependencyFolder, place: Path, kind: FolderKind) -> list[str]:
    """Return the caches in the folder. Raises CheckoutFailed if anything else differs."""
    if folder.manifest is None:
        raise CheckoutFailed(f"{folder.path} could not be recorded at the start: {folder.why_not}")
    try:
        known = msgspec.msgpack.decode(journal.blobs.load(folder.manifest), type=Manifest)
        found = compare(known, place, kind.caches)
    except (KeyError, msgspec.DecodeError):
        raise CheckoutFailed(f"the record of {folder.path} is missing in the journal") from None
    except OSError as error:
        raise CheckoutFailed(f"{error.filename} cannot be read: {error.strerror}") from error
    if found.files:
        count = plural(len(found.files), "file")
        raise CheckoutFailed(f"{folder.path} changed since the start ({count}: {_few(found.files)})")
    caches = [name for name in (*kind.caches, *found.byte_code) if (place / name).is_dir()]
    return [f"{folder.path}/{name}" for name in caches]


def _few(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
