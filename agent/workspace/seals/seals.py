"""The approved state of guarded paths, and the differences from it.

Paths inside the workspace are relative; absolute paths are outside of it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from .bytecode import Bytecode, caches_below
from .links import LinkedFiles, through_links
from .marks import ABSENT, DIVERTED, FILE, FOLDER, LARGEST_STORED, LINK, Mark, Stamp, StampedMark, read_mark, stamp_of
from .names import NameIndex

MOST_STORED = 256_000_000
MOST_NAMES = 2_000_000
"""Names of files and folders that are read at the start: about 20 s."""
ALWAYS_READ = 64_000_000
"""Bytes that each full comparison reads. After that, files are read only if their stat fields changed."""
_NOTHING = Mark(ABSENT)


class Difference(msgspec.Struct, frozen=True):
    """A guarded path whose content differs from the approved content."""

    path: str
    approved: Mark
    now: Mark


class Sealed(msgspec.Struct, frozen=True):
    """The approved state in its stored form."""

    marks: dict[str, Mark]
    lost: list[str] = []
    """Paths whose approved bytes are not stored."""
    known: list[str] = []
    """Modules that existed at the start and could be mistaken for new ones."""


class Seals:
    """The approved marks of one workspace. The methods block, and may be called in a thread."""

    def __init__(
        self,
        root: Path,
        accepts: Callable[[str], bool],
        keep: Callable[[bytes], str],
        private: frozenset[str] = frozenset(),
        installed: Collection[str] = (),
        goals: Collection[str] = (),
        *,
        most_names: int = MOST_NAMES,
    ) -> None:
        """`accepts`: whether an existing file of this name is guarded. `keep` stores approved bytes by their SHA-256.

        `installed`: folders that are searched even inside skipped ones. `goals`: paths where a folder counts as a file.
        """
        self.root = root
        self._goals = frozenset(goals)
        self._installed = sorted(installed)
        self._bytecode, self._most_names = Bytecode(root), most_names
        self._accepts, self._keep = accepts, keep
        self._unkept: list[bytes] = []
        self._index = NameIndex(root, accepts, private, installed, accepts_link=self._accepts_link)
        self._marks: dict[str, Mark] = {}
        self._seen: dict[str, StampedMark] = {}
        self._outputs: dict[str, Mark] = {}
        """New data files that checks created."""
        self._room = MOST_STORED
        self._lock = threading.Lock()
        self._private = frozenset(str(Path(path).parent.resolve()) for path in private)
        self._linked = LinkedFiles(self._private)
        self.lost: set[str] = set()
        """Paths whose approved bytes are not stored, so that they cannot be restored."""

    def __len__(self) -> int:
        return len(self._marks)

    @property
    def existing(self) -> list[str]:
        """Return the guarded paths below the workspace that have an approved file or link."""
        return [path for path, mark in self._marks.items() if mark.kind in (FILE, LINK) and not path.startswith("/")]

    @property
    def cut_links(self) -> set[str]:
        """Return links to folders with too many files: not all files behind them are guarded."""
        return self._linked.cut

    def mark_of(self, path: str) -> Mark | None:
        """Return the approved mark; None if the path is not guarded by digest."""
        return self._marks.get(path)

    @property
    def listed(self) -> int:
        """Number of names that `capture` has read so far."""
        return self._index.listed

    def stop(self) -> None:
        """End a running `capture` from another thread: it raises UpdateStopped."""
        self._index.stop()

    def capture(self, paths: Iterable[str]) -> None:
        """Approve the present state of these paths and of all files whose names `accepts` allows.

        Raises TooManyNames, because a guard that does not see all files would not keep its promise.
        """
        with self._lock:
            self._index.update(self._most_names)
            self._linked = LinkedFiles(self._private)
            for path in sorted({*self._expanded(paths), *self._expanded(self._index.paths())}):
                if path not in self._marks:
                    self._approve(path)
            self._bytecode.remember(self._caches())

    def drop_bytecode(self) -> list[str]:
        """Remove Python bytecode that appeared since `capture`. Return the files that could not be removed."""
        with self._lock:
            self._index.update()
            return self._bytecode.drop(list(self._caches()))

    def approve(self, paths: Iterable[str]) -> None:
        """Approve the present state of these paths, which the person accepted."""
        with self._lock:
            for path in self._expanded(paths):
                self._outputs.pop(path, None)
                self._approve(path)

    def keep_approved(self) -> None:
        """Store the bytes that were approved since the last call. Runs in the thread of the caller."""
        unkept, self._unkept = self._unkept, []
        for data in unkept:
            self._keep(data)

    def approve_mark(self, path: str, mark: Mark) -> None:
        """Approve this state, whose bytes are already stored."""
        with self._lock:
            self._marks[path] = mark
            self._seen.pop(path, None)
            self._outputs.pop(path, None)
            self.lost.discard(path)

    def approve_bytes(self, path: str, digest: str | None) -> None:
        """Approve this stored content, whatever the file contains now. `digest`: None for an absent file."""
        with self._lock:
            seen = read_mark(*self._place(path))
            mode = seen.mark.mode if seen.mark.kind == FILE else 0o644
            was = self._marks.get(path)
            if seen.mark.kind != FILE and was is not None and was.kind == FILE:
                mode = was.mode
            size = seen.mark.size if seen.mark.digest == digest else 0
            self._marks[path] = _NOTHING if digest is None else Mark(FILE, digest, mode, size)
            self._seen.pop(path, None)
            self._outputs.pop(path, None)
            self.lost.discard(path)

    def accept_outputs(self, paths: Iterable[str]) -> None:
        """Accept new files that a check created: they are not a difference until their content changes."""
        with self._lock:
            for path in paths:
                self._outputs[path] = read_mark(*self._place(path)).mark

    def stored(self, known: Iterable[str] = ()) -> bytes:
        """Return the approved state in the form that `load` reads. `load` also returns `known`."""
        return msgspec.msgpack.encode(Sealed(dict(self._marks), sorted(self.lost), sorted(known)))

    def load(self, data: bytes) -> list[str]:
        """Load an approved state that an earlier runner stored. Return its `known`. Raises msgspec.DecodeError."""
        sealed = msgspec.msgpack.decode(data, type=Sealed)
        with self._lock:
            self._marks.update(sealed.marks)
            self.lost.update(sealed.lost)
        return sealed.known

    def bytes_at(self, path: str) -> bytes | None:
        """Return the bytes of the file or the target of the link; None if it is neither or too large to store."""
        found: list[bytes] = []
        read_mark(*self._place(path), found, LARGEST_STORED)
        return found[0] if found else None

    def compare_changed(self) -> list[Difference]:
        """Compare the stat fields, and read only files whose fields changed. For use between verdicts."""
        with self._lock:
            return [*self._new_names(), *self._compare(self._moved())]

    def compare(self) -> list[Difference]:
        """Compare the content, even if times and sizes are unchanged."""
        with self._lock:
            return [*self._new_names(), *self._compare(self._marks, full=True)]

    def stamps(self) -> dict[str, Stamp | None]:
        """Return the stat fields of the last comparison. They also change if a later write is reverted."""
        return {path: seen.stamp for path, seen in self._seen.items()}

    def _accepts_link(self, path: str) -> bool:
        """Return whether a link is guarded; one to a folder of tests is, together with its target."""
        return self._accepts(path) or ((self.root / path).is_dir() and self._accepts(f"{path}/test_x.py"))

    def _place(self, path: str) -> tuple[Path, str]:
        return (Path("/"), path[1:]) if path.startswith("/") else (self.root, path)

    def _approve(self, path: str) -> None:
        found: list[bytes] = []
        seen = read_mark(*self._place(path), found, min(LARGEST_STORED, self._room))
        self.lost.discard(path)
        if found:
            self._room -= len(found[0])
            self._unkept.append(found[0])
        elif seen.mark.kind in (FILE, LINK):
            self.lost.add(path)
        self._marks[path], self._seen[path] = seen.mark, seen

    def _expanded(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield each path with the links on it and their targets."""
        for path in paths:
            yield from through_links(self.root, path, self._accepts, self._linked)

    def _caches(self) -> Iterator[str]:
        yield from self._index.caches()
        for place in self._installed:
            yield from (path.relative_to(self.root).as_posix() for path in caches_below(self.root / place))

    def _new_names(self) -> list[Difference]:
        self._index.update()
        new = [path for path in self._index.paths() if path not in self._marks]
        found: list[Difference] = []
        for path in new:
            seen = read_mark(*self._place(path))
            if seen.mark.kind != ABSENT and self._outputs.get(path) != seen.mark:
                found.append(Difference(path, _NOTHING, seen.mark))
        return found

    def _moved(self) -> list[str]:
        """Return the guarded paths whose stat fields changed since the last comparison."""
        found: list[str] = []
        prefix, lstat, seen_of = f"{self.root}/", os.lstat, self._seen
        for path in self._marks:
            seen = seen_of.get(path)
            if seen is None or seen.racy:
                found.append(path)
                continue
            try:
                status = lstat(path if path.startswith("/") else prefix + path)
            except OSError:
                if seen.stamp is not None:
                    found.append(path)
                continue
            stamp = seen.stamp
            if stamp is None or status.st_ctime_ns != stamp[5] or stamp_of(status) != stamp:
                found.append(path)
        return found

    def _compare(self, paths: Collection[str], *, full: bool = False) -> list[Difference]:
        found: list[Difference] = []
        room = ALWAYS_READ
        for path in paths:
            approved, known = self._marks[path], self._seen.get(path)
            if full and room < 0 and known is not None and not known.racy and self._is_still(path, known):
                seen = known
            else:
                seen = read_mark(*self._place(path))
                room -= seen.mark.size
            self._seen[path] = seen
            is_goal = path in self._goals and seen.mark.kind == FOLDER
            if (is_goal or not _alike(approved, seen.mark)) and not self._is_nothing(path, approved, seen.mark):
                found.append(Difference(path, approved, seen.mark))
        return found

    def _is_nothing(self, path: str, approved: Mark, now: Mark) -> bool:
        """Return whether the path is approved as absent and does not exist, because a parent is not a folder."""
        root, below = self._place(path)
        return approved.kind == ABSENT and now.kind == DIVERTED and not (root / below).exists()

    def _is_still(self, path: str, known: StampedMark) -> bool:
        root, below = self._place(path)
        try:
            return known.stamp == stamp_of(os.lstat(root / below))
        except OSError:
            return known.stamp is None


def _alike(approved: Mark, now: Mark) -> bool:
    if approved.kind == ABSENT:
        return now.kind in (ABSENT, FOLDER)  # tools do not read a folder where they expect a file
    return (approved.kind, approved.digest, approved.mode) == (now.kind, now.digest, now.mode)
