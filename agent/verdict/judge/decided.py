"""Find which changes of a run somebody decided on, and what each path has without the others (decision 0040).

A pure function of what the journal says of each path, of what is there now, and of the scope.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec.structs import replace

from ...gate.three_way_merge import merge_states
from ...host.files.file_states import stored_state
from ...layers.git.apply_git_rows import name_of
from ...layers.git.git_rows import StashRow, inverse, is_idle, key_of
from ...layers.layer_effects import IN_MEMORY, Side
from ...state.facts.unrecorded import EVERYWHERE
from ..plants.inner_tests import may_have_tests
from .past_files import PathPast

if TYPE_CHECKING:
    from ...layers.git.git_rows import GitChanges, GitRow
    from .past_files import Contents

What = Literal["changed", "new", "deleted", "output", "git"]
"""What nobody decided on. `output`: a folder or file with output. `git`: something in a repository."""
UNKNOWN_BEFORE = ": its content before is not known"
"""How a line of `Decided.unknown` about a file ends."""
END = 1 << 62
"""Position of what is there now: after all events."""
_NOTHING, _FOLDER = PathPast(None), PathPast(Side(type="folder"))


class InScope(Protocol):
    """The paths that the run is meant to change."""

    def in_scope(self, path: str, *, new: bool) -> bool:
        """Return whether the run may change a file without a decision. `new`: it did not exist at the start."""
        ...

    def with_old_tests(self, path: str, old: str | None, new: str) -> str | None:
        """Return a new text with the tests that the old one has inside, or None if one has no place in it."""
        ...


class Step(NamedTuple):
    """One change of a path. A folder counts as nothing."""

    before: Side | None
    after: Side | None
    seq: int
    """Position in the journal. 0 means before this run."""
    is_run: bool = True
    """A run made it; else the user did."""
    is_seen: bool = False
    """A person approved exactly this change as a diff."""


class Writer(NamedTuple):
    """Something of this run that can write to the workspace without a record."""

    folder: str
    """`EVERYWHERE`, or a folder below the workspace."""
    begin: int
    """Position in the journal at which it began."""
    end: int = END
    why: str = ""
    """What it is, for people, if nothing knows what the folder had before. Empty means that its folder is output."""
    only: frozenset[str] | None = None
    """The paths that it wrote. None means that any below its folder may be one."""

    def reaches(self, path: str) -> bool:
        """Return whether it could write a path."""
        if self.only is not None and path not in self.only:
            return False
        return self.folder == EVERYWHERE or f"{path}/".startswith(f"{self.folder}/")


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """What a command changed in a repository: a row counts if all that it changes was decided on."""

    changes: GitChanges
    """With the rows that changed something."""
    files: Sequence[Mapping[str, str | None] | None]
    """For each row the paths that it changes, with the SHA-256 of their new content (None if deleted), or None if
    unknown."""


@dataclass(frozen=True, slots=True)
class History:
    """What a run and the runs before it changed."""

    paths: Mapping[str, Sequence[Step]] = field(default_factory=dict[str, Sequence[Step]])
    """Path to its changes, oldest first."""
    made: frozenset[str] = frozenset()
    """Folders that were made."""
    gone: frozenset[str] = frozenset()
    """Folders that were deleted, or replaced by something else."""
    outputs: frozenset[str] = frozenset()
    """Folders and files with output that were written."""
    copied: frozenset[str] = frozenset()
    """Folders of output of which there is a copy that is older than all that runs wrote there."""
    writers: Sequence[Writer] = ()
    accepted: Mapping[str, Mapping[str, bool]] = field(default_factory=dict[str, Mapping[str, bool]])
    """Path to the digests of contents that a person accepted, and whether the person saw what changed."""
    git: Sequence[RepositoryChange] = ()
    """Oldest first."""
    lost: Sequence[str] = ()
    """Changes that are not known, one line with the reason for each."""

    @property
    def shown(self) -> frozenset[str]:
        """All paths of which `decide` needs the present content."""
        of_git = (path for one in self.git for files in one.files if files is not None for path in files)
        return frozenset((*self.paths, *self.outputs, *self.gone, *of_git))


class UndecidedPath(NamedTuple):
    """Something that a run changed and nobody decided on."""

    path: str
    """Of `git`: the name of what changed."""
    what: What
    digest: str
    """SHA-256 of what is there now. Empty means nothing, a folder, or something of git."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody decided on."""

    view: Mapping[str, PathPast]
    """What the judge's view has at each path that differs from the workspace now."""
    accepted: Mapping[str, Side | None]
    """The paths that differ from the start and are in the view as they are now. Their times are new in it."""
    undecided: list[UndecidedPath]
    unseen: list[str]
    """Paths that a person accepted without a text: the grade is at most `passed`."""
    unknown: list[str]
    """`path: why` for each path whose past is not known."""
    folders: list[str]
    """Folders that the run made, the inner ones first. The view does not have those in which nothing is left."""
    copied: frozenset[str]
    """Folders of output that are in the view as they were copied, not as they are."""
    git: list[GitChanges]
    """What the view reverts in repositories: inverse rows, in the order in which they are carried out."""
    digest: str
    """Digest of the present content of all paths that the run changed. If it differs later, the verdict is void."""
    changed: list[str]
    """The paths that the run changed and that still differ from the start."""
    outputs: frozenset[str]
    """Folders and files with output that the run wrote, also those that are gone."""

    @property
    def outputs_gone(self) -> list[str]:
        """The output that runs wrote and that the view does not have."""
        return [one.path for one in self.undecided if one.what == "output" and one.path in self.view]


def decide(history: History, now: Mapping[str, Side | None], scope: InScope, contents: Contents) -> Decided:
    """Decide on all that a run changed. `now`: what is at each path of `history.shown`. None means nothing."""
    paths = {path: _decide_path(path, steps, now, history, scope, contents) for path, steps in history.paths.items()}
    copied = _usable_copies(history, paths)
    outputs = {path for path in history.outputs if now.get(path) is not None}
    gone = {path for path in outputs if not any(is_below(path, folder) for folder in copied)}
    _take_out(paths, gone)
    view, accepted, undecided = dict[str, PathPast](), dict[str, Side | None](), list[UndecidedPath]()
    unknown = {*history.lost, *(f"{one.folder}: {one.why}" for one in history.writers if one.why)}
    for path, one in paths.items():
        if path in outputs:
            continue
        if one.is_as_now:
            if one.is_changed:
                accepted[path] = one.now
            continue
        view[path] = one.past
        undecided.append(UndecidedPath(path, one.what, "" if one.now is None else one.now.digest))
        side = one.past.side
        if side is not None and one.past.data is None and contents.find(path, side) is None:
            unknown.add(f"{path}{UNKNOWN_BEFORE}")
    view.update(dict.fromkeys(gone, PathPast(None)))
    for path in outputs:
        undecided.append(UndecidedPath(path, "output", ""))
    _place_folders(view, history, now)
    git, names = _decide_git(history.git, paths, now)
    return Decided(
        view=view,
        accepted=accepted,
        undecided=sorted([*undecided, *(UndecidedPath(name, "git", "") for name in names)]),
        unseen=sorted(path for path, one in paths.items() if one.is_unseen and one.is_changed),
        unknown=sorted(unknown),
        folders=sorted(history.made, reverse=True),
        copied=copied,
        git=git,
        digest=digest_of_paths({path: now.get(path) for path in history.paths}),
        changed=sorted(path for path, one in paths.items() if one.is_changed),
        outputs=history.outputs,
    )


def _usable_copies(history: History, paths: Mapping[str, _Path]) -> frozenset[str]:
    """Return the folders of output that the view has as they were copied.

    A build tool does not notice that a source is gone. A copy may have what was changed one by one in its folder.
    """
    if any(one.is_as_now and one.is_changed and one.now is None for one in paths.values()):
        return frozenset()
    return frozenset(folder for folder in history.copied if not any(is_below(path, folder) for path in paths))


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is this folder, or lies in it."""
    return f"{path}/".startswith(f"{folder}/")


def _place_folders(view: dict[str, PathPast], history: History, now: Mapping[str, Side | None]) -> None:
    """Add to the view the folders that contain something, and the empty ones that were deleted."""
    needed = {above for path, past in view.items() if past.side is not None for above in above_of(path)}
    view.update((path, _FOLDER) for path in needed & view.keys())
    known = {above for path in history.paths for above in above_of(path)}
    for path in history.gone - known:
        if now.get(path) is None:
            view.setdefault(path, _FOLDER)


def digest_of_paths(now: Mapping[str, Side | None]) -> str:
    """Return the digest of what is at these paths."""
    found = hashlib.sha256()
    for path, side in sorted(now.items()):
        content = "" if side is None else f"{side.type} {side.digest} {side.executable:d}"
        found.update(f"{path}\0{content}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


@dataclass(slots=True)
class _Path:
    """What became of one path."""

    start: Side | None
    now: Side | None
    past: PathPast
    """What the view has."""
    passed: set[str | None]
    """Digests of what the view had there at first and after each accepted change, or None if nothing was there."""
    is_unseen: bool = False

    @property
    def is_as_now(self) -> bool:
        return self.past.data is None and is_same_file(self.past.side, self.now)

    @property
    def is_changed(self) -> bool:
        return not is_same_file(self.start, self.now)

    @property
    def what(self) -> What:
        return "deleted" if self.now is None else "new" if self.past.side is None else "changed"


def _decide_path(
    path: str,
    steps: Sequence[Step],
    now: Mapping[str, Side | None],
    history: History,
    scope: InScope,
    contents: Contents,
) -> _Path:
    present = _as_file(now.get(path))
    every = list(_with_others(path, steps, present, history.writers))
    in_scope = scope.in_scope(path, new=every[0].before is None)
    accepted = history.accepted.get(path, {})
    found = _follow(path, every, accepted, contents, in_scope=in_scope)
    if in_scope and may_have_tests(path):
        found = _keep_tests(path, found, _follow(path, every, accepted, contents, in_scope=False), scope, contents)
    if is_same_file(found.past.side, present):
        found.past = PathPast(present)
    found.now = present
    return found


def _with_others(path: str, steps: Sequence[Step], present: Side | None, writers: Sequence[Writer]) -> Iterator[Step]:
    """Yield the changes of a path, with those between them that the journal does not have."""
    yield steps[0]
    last = Step(present, present, END)
    for one, other in pairwise([*steps, last]):
        if not is_same_file(one.after, other.before):
            is_run = any(it.begin < other.seq and it.end > one.seq and it.reaches(path) for it in writers)
            yield Step(one.after, other.before, one.seq, is_run=is_run)
        if other is not last:
            yield other


def _follow(
    path: str, steps: Sequence[Step], accepted: Mapping[str, bool], contents: Contents, *, in_scope: bool
) -> _Path:
    """Apply the accepted changes of a path, one after the other."""
    start = steps[0].before
    found = _Path(start, None, PathPast(start), {_digest(start)})
    for step in steps:
        is_known = step.after is None or bool(step.after.digest)
        is_seen = accepted.get(_digest(step.after) or "") if is_known else None
        if is_seen is not None:
            found.past, found.is_unseen = PathPast(step.after), not is_seen
        elif not step.is_run or step.is_seen or (in_scope and _is_plain(step)):
            found.past = _applied(path, found.past, step, contents) or found.past
        else:
            continue
        found.passed.add(_digest(found.past.side))
    return found


def _applied(path: str, past: PathPast, step: Step, contents: Contents) -> PathPast | None:
    """Return what the view has after an accepted change, or None if it overlaps with what was left out."""
    have, before, after = past.side, step.before, step.after
    if is_same_file(have, before):
        return PathPast(after)
    if is_same_file(have, after):
        return past
    if have is None or before is None or after is None or not have.type == before.type == after.type == "file":
        return None
    executable = have.executable if before.executable == after.executable else after.executable
    if before.digest and before.digest == after.digest:
        return PathPast(replace(have, executable=executable), past.data)
    if have.digest and have.digest == before.digest:
        return PathPast(replace(after, executable=executable))
    return _merged(path, past, before, after, contents, executable=executable)


def _merged(
    path: str, past: PathPast, before: Side, after: Side, contents: Contents, *, executable: bool
) -> PathPast | None:
    assert past.side is not None  # the caller looked
    if max(before.size, after.size, past.side.size) > IN_MEMORY:
        return None
    base, new = contents.find(path, before), contents.find(path, after)
    have = past.data if past.data is not None else contents.find(path, past.side)
    if not (isinstance(base, bytes) and isinstance(new, bytes) and isinstance(have, bytes)):
        return None
    name = Path(path)
    joined = merge_states(stored_state(name, name, base), stored_state(name, name, have), new)
    if joined is None or joined[1]:
        return None
    return _past_of(joined[0], executable=executable)


def _past_of(data: bytes, *, executable: bool) -> PathPast:
    digest = hashlib.sha256(data).hexdigest()
    return PathPast(Side(type="file", digest=digest, size=len(data), executable=executable), data)


def _keep_tests(path: str, found: _Path, without: _Path, scope: InScope, contents: Contents) -> _Path:
    """Restore in an accepted source the tests inside that it has without the run's changes.

    `without`: the path as if it were not in the scope. That is the result if a test has no place in the new text.
    """
    side = found.past.side
    if side is None or is_same_file(side, without.past.side):
        return found
    new, old = _bytes_of(path, found.past, contents), _bytes_of(path, without.past, contents)
    if new is None or (old is None and without.past.side is not None):
        return without
    encoding = _encoding(new, old or b"")
    text = scope.with_old_tests(path, None if old is None else old.decode(encoding), new.decode(encoding))
    if text is None:
        return without
    data = text.encode(encoding)
    if data != new:
        found.past = _past_of(data, executable=side.executable)
        found.passed.add(_digest(found.past.side))
    return found


def _bytes_of(path: str, past: PathPast, contents: Contents) -> bytes | None:
    if past.side is None or past.data is not None:
        return past.data
    found = contents.find(path, past.side)
    return found if isinstance(found, bytes) else None


def _encoding(*texts: bytes) -> str:
    """Return an encoding that keeps all bytes of these sources."""
    try:
        for data in texts:
            data.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _take_out(paths: Mapping[str, _Path], outputs: Collection[str]) -> None:
    """Remove paths in a folder of output, and accepted paths where an undecided folder was, or the reverse."""
    for path, one in paths.items():
        for folder in above_of(path):
            if folder in outputs:
                one.past = _NOTHING
            other = paths.get(folder)
            if one.past.side is not None and other is not None and other.past.side is not None:
                out = one if one.is_as_now else other
                out.past = _NOTHING


def above_of(path: str) -> Iterator[str]:
    """Yield the folders in which a path lies, the inner ones first."""
    while path := path.rpartition("/")[0]:
        yield path


def _decide_git(
    changes: Sequence[RepositoryChange], paths: Mapping[str, _Path], now: Mapping[str, Side | None]
) -> tuple[list[GitChanges], list[str]]:
    """Return the changes of repositories to revert, and their names.

    A row counts if all files that it changes were accepted and it has their content, and if an earlier row of the same
    thing counts.
    """
    found = dict[bytes, _Repository]()
    for one in changes:
        own = found.setdefault(one.changes.common, _Repository(one.changes))
        own.changes = one.changes
        for row, files in zip(one.changes.rows, one.files, strict=True):
            if is_idle(row):
                continue
            key = key_of(row)
            if key in own.rows or not _counts(files, paths, now):
                own.rows.setdefault(key, []).append(row)
    git, names = list["GitChanges"](), list[str]()
    for own in found.values():
        rows = tuple(row for some in own.rows.values() for row in _joined(some))
        if rows:
            git.append(replace(own.changes, rows=inverse(rows), logs={}, not_taken=(), pack=b"", large=b""))
            names += [name_of(row) for row in rows]
    return git, names


def _joined(rows: Sequence[GitRow]) -> Sequence[GitRow]:
    """Return the changes of one thing as one row; none if it is as before."""
    first, newest = rows[0], rows[-1]
    if isinstance(first, StashRow) or isinstance(newest, StashRow):
        return rows[len(rows) // 2 * 2 :]  # an entry that was made and dropped is as before
    joined = replace(newest, before=first.before)
    return [] if is_idle(joined) else [joined]


@dataclass(slots=True)
class _Repository:
    """The changes to revert in one repository."""

    changes: GitChanges
    """The newest of its changes."""
    rows: dict[tuple[str, str, object], list[GitRow]] = field(
        default_factory=dict[tuple[str, str, object], "list[GitRow]"]
    )
    """The rows of each thing that nobody decided on, oldest first."""


def _counts(files: Mapping[str, str | None] | None, paths: Mapping[str, _Path], now: Mapping[str, Side | None]) -> bool:
    """Return whether somebody decided on all files that a row of git changes, with the content that it gives them."""
    if files is None:
        return False
    return all(
        digest in paths[path].passed if path in paths else digest == _digest(now.get(path))
        for path, digest in files.items()
    )


def _is_plain(step: Step) -> bool:
    """Return whether a change is one of a regular file: nothing else is ever in the scope."""
    return all(side is None or side.type == "file" for side in (step.before, step.after))


def _as_file(side: Side | None) -> Side | None:
    return None if side is None or side.type == "folder" else side


def _digest(side: Side | None) -> str | None:
    return None if side is None else side.digest


def is_same_file(one: Side | None, other: Side | None) -> bool:
    """Return whether both are the same. A content that is not known is the same as no other one."""
    if one is None or other is None:
        return one is other
    return bool(one.digest) and (one.type, one.digest, one.executable) == (other.type, other.digest, other.executable)
