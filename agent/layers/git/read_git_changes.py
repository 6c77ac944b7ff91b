"""Compare the git folders of an ended layer with those of the workspace."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...repo.git_folders import GitFolders
from ...repo.real_git import RealGit, RealGitFailed
from ...repo.refs import ID, is_importable
from ..layer_effects import MOST_EFFECTS, TooMuch, entries_of, made_readable, status_at
from .file_sides import Both, File, LayerPlace, both_sides, files_at, read_below
from .git_in_layer import Inside, InsideFailed, InsideGit
from .git_rows import Commits, GitChanges, GitRow, HeadRow, IndexRow, NewLines, RefRow, StashRow, StateRow
from .import_objects import copy_large
from .layer_git_folders import Touched, open_folder, touched
from .ref_listing import BadListing, IndexedPath, live_listing, parse_listing
from .reflogs import ids_of_line, new_lines
from .setting_names import is_setting

if TYPE_CHECKING:
    from ..layer import Layer

REF, STATE, LOG, PACKED = 4_096, 16_000_000, 64_000_000, 256_000_000
"""Most bytes of a file."""
_MOST_TOLD, _MOST_COMMITS, _MOST_SUBJECTS, _MOST_PATHS = 20, 1_000, 20, 1_000
"""Branches whose commits are counted, and of each: commits, first lines of them, and files that they change."""
STASH = "refs/stash"
STATE_NAMES = (
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "SQUASH_MSG",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "BISECT_START",
    "BISECT_TERMS",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
)
"""Files and folders of an operation (gitrepository-layout(5), `wt-status.c` of git)."""
_OPERATIONS = (
    ("rebase-apply/applying", "an am"),
    ("rebase-merge/", "a rebase"),
    ("rebase-apply/", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer/", "a series of picks"),
    ("BISECT_START", "a bisection"),
    ("BISECT_LOG", "a bisection"),
)
_OF_A_TREE = ("refs/bisect/", "refs/rewritten/", "refs/worktree/")
"""Refs that each working tree has of its own (git-worktree(1))."""
_BRANCH = re.compile(rb"ref: (refs/heads/\S+)\n?")
_LARGE = re.compile(rb"[0-9a-f]{64}")
_QUIET = re.compile(
    rb"(?:COMMIT|MERGE|TAG|NOTES|ADD|PULLREQ)_EDITMSG|EDIT_DESCRIPTION|FETCH_HEAD|MERGE_RR|rr-cache/.*|gc\.(?:log|pid)|description"
    rb"|info/refs|.*\.lock|sharedindex\..*|index|index\.stash\..*|objects/(?!info/(?:http-)?alternates$).*|logs/.*|refs/.*"
    rb"|packed-refs|HEAD|branches/.*|lfs/.*|hooks/.*\.sample|next-index-.*",
    re.DOTALL,
)
"""Files that git writes and does not need, or that are compared separately."""


class GitReport(NamedTuple):
    """What was found in a layer."""

    repositories: list[GitChanges]
    not_taken: list[str]
    """Git folders that were deleted or replaced, and new ones outside of the workspace."""


def read_git(layer: Layer, inside: Inside, ours: Sequence[StateRow] = ()) -> GitReport:
    """Compare the git folders of a layer with the workspace's; pack the new objects into files next to the layer.

    No process may run in the layer any more. git itself runs in the layer's sandbox alone. `inside` returns the words
    that start a command there. `ours`: operations that the run began and that were carried out, so that its commands
    may continue them; an operation of the user is never changed. Raises OSError and TooMuch.
    """
    report = GitReport([], [])
    for n, path in enumerate(layer.places):
        upper, live = open_folder(layer.uppers[n]), open_folder(path)
        try:
            place = LayerPlace(upper, live, layer.first_stamp_ns - _uncertainty(upper, live))
            found = touched(upper, live)
            for folder in sorted(found.folders):
                changes = _Reader(layer, path, place, folder, found.new, inside, ours).read(len(report.repositories))
                if changes is not None:
                    report.repositories.append(changes)
            report.not_taken.extend(_lines(found, path, is_workspace=n == 0))
        finally:
            os.close(upper)
            os.close(live)
    return report


def _uncertainty(upper: int, live: int) -> int:
    """Return by how many nanoseconds a change in a place may look older than the stamp, which lies next to `upper`."""
    if os.fstat(upper).st_dev == os.fstat(live).st_dev:
        return 0
    times = [status.st_ctime_ns for _, status in entries_of(live, b"")]
    # All local file systems have the clock of the kernel; only FAT has ticks of two seconds.
    return 0 if any(one % 1_000_000_000 for one in times) else 2_100_000_000


def _lines(found: Touched, place: Path, *, is_workspace: bool) -> Iterator[str]:
    for path in found.deleted:
        yield f"{place / os.fsdecode(path)}: the git folder was deleted or replaced"
    for path in () if is_workspace else found.new:
        yield f"{place / os.fsdecode(path)}: a new git folder"


@dataclass(slots=True)
class _Reader:
    """Reads one repository."""

    layer: Layer
    top: Path
    place: LayerPlace
    folder: bytes
    new: Sequence[bytes]
    inside: Inside
    ours: Sequence[StateRow]
    trees: Sequence[str] = ()
    rows: list[GitRow] = field(default_factory=list[GitRow])
    logs: dict[str, NewLines] = field(default_factory=dict[str, NewLines])
    not_taken: list[str] = field(default_factory=list[str])
    mentioned: set[str] = field(default_factory=set[str])
    has_no_stash: bool = False
    """Whether the layer deleted the ref of the stash, not only its list."""

    @property
    def common(self) -> Path:
        return self.top / os.fsdecode(self.folder) if self.folder else self.top

    def path(self, name: str) -> bytes:
        inner = os.fsencode(name)
        return self.folder + b"/" + inner if self.folder else inner

    def read(self, number: int) -> GitChanges | None:
        """Return what the repository gained, or None if there is nothing."""
        self._leftovers()
        if status_at(self.place.live, self.path("reftable")) is not None:
            self.not_taken.append("its refs are not stored as files: nothing is taken")
            return self._changes()
        own, others = self._trees()
        self.trees = own
        for tree in sorted({"", *own}):
            self._refs(tree, is_here=tree in own)
        for tree in own:
            self._tree(tree)
        self._stash()
        held = self._checked_out(others)
        for n, row in enumerate(self.rows):
            if isinstance(row, RefRow) and row.name in held:
                self.rows[n] = replace(row, conflict="it is checked out in another working tree")
        for tree in others:
            if any(True for _ in self._both(f"{tree}/HEAD" if tree else "HEAD", REF).layer):
                self.not_taken.append(f"{tree or 'HEAD'}: another working tree's")
        packed, large = self._packed(number), self._large(number) if self.rows else b""
        return self._changes(packed, large, self._commits())

    def _changes(
        self, pack: bytes = b"", large: bytes = b"", commits: dict[str, Commits] | None = None
    ) -> GitChanges | None:
        if not self.rows and not self.not_taken:
            return None
        return GitChanges(
            common=os.fsencode(self.common),
            trees=tuple(self.trees),
            rows=tuple(self.rows),
            logs=self.logs,
            not_taken=tuple(self.not_taken),
            pack=pack,
            large=large,
            commits=commits or {},
        )

    def _both(self, name: str, limit: int) -> Both:
        return both_sides(self.place, self.path(name), limit)

    def _is_late(self, file: File | None) -> bool:
        """Return whether a file may not be what the command saw."""
        return file is not None and file.ctime_ns >= self.place.stamp_ns

    def _trees(self) -> tuple[list[str], list[str]]:
        """Return the git folders of working trees in the workspace, and of those elsewhere."""
        git = self.layer.git
        mine, others = list[str](), list[str]()
        is_own = git is None or git.common != self.common or git.own == self.common
        (mine if is_own else others).append("")
        worktrees = self.path("worktrees")
        if status_at(self.place.live, worktrees) is not None:
            for name, _ in entries_of(self.place.live, worktrees):
                tree = f"worktrees/{os.fsdecode(name)}"
                lines = files_at(self.place.live, self.path(f"{tree}/gitdir"), REF).values()
                place = Path(os.fsdecode(next((line.data for line in lines), b"")).strip())
                is_here = place.is_relative_to(self.layer.workspace) or (
                    git is not None and git.own == self.common / tree
                )
                (mine if is_here else others).append(tree)
        return mine, others

    def _checked_out(self, trees: Sequence[str]) -> set[str]:
        """Return the branches that these working trees have checked out."""
        found = set[str]()
        for tree in trees:
            for head in files_at(self.place.live, self.path(_in(tree, "HEAD")), REF).values():
                if branch := _BRANCH.fullmatch(head.data):
                    found.add(os.fsdecode(branch[1]))
            for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
                found |= {
                    _value(one.data) for one in files_at(self.place.live, self.path(_in(tree, name)), REF).values()
                }
        return found

    def _refs(self, tree: str, *, is_here: bool) -> None:
        refs = self._both(_in(tree, "refs"), REF)
        packed = self._both("packed-refs", PACKED) if not tree else Both({}, {}, False, [])
        if not refs.is_touched and not packed.is_touched:
            return
        loose = refs.live if refs.is_touched else files_at(self.place.live, self.path(_in(tree, "refs")), REF)
        loose_now = refs.layer if refs.is_touched else {path: file.data for path, file in loose.items()}
        base = (
            packed.live
            if packed.is_touched
            else {}
            if tree
            else files_at(self.place.live, self.path("packed-refs"), PACKED)
        )
        base_file = base.get(self.path("packed-refs"))
        before = _packed(b"" if base_file is None else base_file.data)
        after = _packed(packed.layer.get(self.path("packed-refs"), b"")) if packed.is_touched else before
        cut = len(self.path(_in(tree, "refs"))) - len("refs")
        was = before | {os.fsdecode(path[cut:]): _value(file.data) for path, file in loose.items()}
        now = after | {os.fsdecode(path[cut:]): _value(data) for path, data in loose_now.items()}
        self.has_no_stash = self.has_no_stash or (not tree and STASH not in now)
        for name in sorted(was.keys() | now.keys()):
            old, new = was.get(name, ""), now.get(name, "")
            if old == new or name == STASH or name.endswith(".lock"):
                continue
            if not _is_taken(name, tree, is_here=is_here) or not all(
                not one or ID.fullmatch(one) for one in (old, new)
            ):
                self.not_taken.append(_clean(name))
                continue
            file = loose.get(self.path(_in(tree, name)), base_file)
            why = "it was changed while the command ran" if self._is_late(file) else ""
            self.rows.append(RefRow(tree=tree, name=name, before=old, after=new, conflict=why))
            if new:
                self._log(_in(tree, f"logs/{name}"))
        self.not_taken += [_clean(os.fsdecode(path[cut:])) for path in refs.strange]

    def _tree(self, tree: str) -> None:
        """Read HEAD, the index and the operation of a working tree."""
        first = len(self.rows)
        state = self._state(tree)
        self._index(tree)
        head = self._both(_in(tree, "HEAD"), REF)
        path = self.path(_in(tree, "HEAD"))
        live = head.live if head.is_touched else files_at(self.place.live, path, REF)
        file = live.get(path)
        before = _head(b"" if file is None else file.data)
        after = _head(head.layer.get(path, b"")) if head.is_touched else before
        if not after or not before or head.strange:
            self.not_taken.append(_in(tree, "HEAD"))
            after = before
        if before == after and len(self.rows) == first and not state:
            if before.removeprefix("ref: ") in {row.name for row in self.rows if isinstance(row, RefRow)}:
                self._log(_in(tree, "logs/HEAD"))
            return
        why = "it was changed while the command ran" if self._is_late(file) else ""
        self.rows.insert(first, HeadRow(tree=tree, before=before, after=after, conflict=why))
        self._log(_in(tree, "logs/HEAD"))

    def _log(self, name: str) -> None:
        log = self._both(name, LOG)
        path = self.path(name)
        if log.is_touched and path in log.layer:
            before = log.live[path].data if path in log.live else b""
            lines = new_lines(before, log.layer[path])
            if lines:
                self.logs[name] = NewLines(before.count(b"\n"), lines)
                self.mentioned |= {word for line in lines for word in ids_of_line(line)}

    def _stash(self) -> None:
        log = self._both(f"logs/{STASH}", LOG)
        path = self.path(f"logs/{STASH}")
        if not log.is_touched:
            return
        file = log.live.get(path)
        was = new_lines(b"", b"" if file is None else file.data)
        now = new_lines(b"", log.layer.get(path, b""))
        if was is None or now is None:
            self.not_taken.append("the stash, which is not as git writes it")
            return
        if was and not now and not self.has_no_stash:  # its reflog has expired
            self.not_taken.append("the list of the stash, which was emptied without dropping an entry")
            return
        why = "the stash was changed while the command ran" if self._is_late(file) else ""
        old, new = [_entry(line, why) for line in was], [_entry(line, why) for line in now]
        kept = {row.commit for row in new} & {row.commit for row in old}
        self.rows += [row.inverse for row in reversed(old) if row.commit not in kept]
        self.rows += [row for row in new if row.commit not in kept]

    def _state(self, tree: str) -> bool:
        """Read the files of an operation. Return whether it adds a row."""
        live, layer, strange, late = dict[str, bytes](), dict[str, bytes](), list[bytes](), False
        cut = len(self.path(_in(tree, "")))
        is_touched = False
        for name in STATE_NAMES:
            both = self._both(_in(tree, name), STATE)
            is_touched = is_touched or both.is_touched
            files = both.live if both.is_touched else files_at(self.place.live, self.path(_in(tree, name)), STATE)
            now = both.layer if both.is_touched else {path: file.data for path, file in files.items()}
            live |= {os.fsdecode(path[cut:]): file.data for path, file in files.items()}
            layer |= {os.fsdecode(path[cut:]): data for path, data in now.items()}
            late = late or any(self._is_late(file) and now.get(path) != file.data for path, file in files.items())
            strange += both.strange
        begun = operation(live)
        is_ours = bool(begun) and any(row.after == live for row in self.ours if row.tree == tree)
        if not is_ours and (not is_touched or (live == layer and not strange)):
            return False
        if strange or not all(re.fullmatch(r"[\w.-]+(?:/[\w.-]+){0,2}", name) for name in layer):
            self.not_taken.append("the files of an operation, which are not what git writes")
            return False
        why = "it was changed while the command ran" if late else ""
        if begun and not is_ours:
            why = f"you have {begun} in progress"
        row = StateRow(tree=tree, what=operation(layer), before=live, after=layer, conflict=why)
        self.mentioned |= row.mentioned
        self.rows.append(row)
        return live != layer

    def _index(self, tree: str) -> None:
        name = _in(tree, "index")
        status = status_at(self.place.upper, self.path(name))
        if status is None:
            return
        own = self.common / tree if tree else self.common
        git, why = RealGit(GitFolders(own, self.common), self.layer.workspace), ""
        try:
            now = parse_listing(InsideGit(self.inside, own, self.layer).listing())
            live = live_listing(git)
            base = live
            index = status_at(self.place.live, self.path(name))
            if index is not None and index.st_ctime_ns >= self.place.stamp_ns:
                held = self.layer.indexes.get(own / "index")
                if held is not None:
                    base = live_listing(git, Path(f"/proc/{os.getpid()}/fd/{held}"))
                else:
                    why = "the index was changed while the command ran"
        except (InsideFailed, BadListing, RealGitFailed) as error:
            self.not_taken.append(f"{name}: {error}")
            return
        self.not_taken += now.refused
        nothing = IndexedPath()
        for path in sorted(base.entries.keys() | now.entries.keys()):
            before, after = base.entries.get(path, nothing), now.entries.get(path, nothing)
            if before.staged == after.staged or live.entries.get(path, nothing).staged == after.staged:
                continue
            if len(self.rows) >= MOST_EFFECTS:
                raise TooMuch(f"it changes more than {MOST_EFFECTS:,} entries of an index")
            self.rows.append(IndexRow(tree=tree, path=path, before=before.staged, after=after.staged, conflict=why))

    def _packed(self, number: int) -> bytes:
        """Pack the objects of the layer that the rows need and the repository lacks. Return the pack, or nothing."""
        wanted = {one for row in self.rows for one in row.ids} | self.mentioned
        if not wanted:
            return b""
        live = {value for value in self._live_refs().values() if ID.fullmatch(value)}
        pack = self.layer.folder / f"git-{number}.pack"
        try:
            InsideGit(self.inside, self.common, self.layer).pack(wanted, live, pack)
        except InsideFailed as error:
            self.not_taken.append(f"new objects: {error}")
            return b""
        return os.fsencode(pack)

    def _commits(self) -> dict[str, Commits]:
        """Return what branches gain and lose, as far as git in the sandbox tells."""
        found = dict[str, Commits]()
        for name, before, after in self._moves()[:_MOST_TOLD]:
            try:
                git = InsideGit(self.inside, self.common, self.layer)
                known = {before} if before else {one for one in self._live_refs().values() if ID.fullmatch(one)}
                gained = git.subjects(after, known, _MOST_COMMITS)
                lost = git.subjects(before, {after}, _MOST_COMMITS) if before else []
                paths = git.paths(after, known, _MOST_COMMITS) if gained else []
            except InsideFailed:
                continue
            found[name] = Commits(len(gained), len(lost), tuple(gained[:_MOST_SUBJECTS]), tuple(paths[:_MOST_PATHS]))
        return found

    def _moves(self) -> list[tuple[str, str, str]]:
        """Return each branch, and each detached HEAD, that gets another commit."""
        moves = [
            (row.name, row.before, row.after)
            for row in self.rows
            if isinstance(row, RefRow) and row.after and row.name.startswith("refs/heads/")
        ]
        for row in self.rows:
            if not isinstance(row, HeadRow) or row.tree or row.before == row.after:
                continue
            if ID.fullmatch(row.before) and ID.fullmatch(row.after):
                moves.append(("HEAD", row.before, row.after))
        return moves

    def _large(self, number: int) -> bytes:
        """Copy new files of git-lfs, which are named by their digests. Return the folder, or nothing."""
        top, folder = self.path("lfs/objects"), self.layer.folder / f"git-{number}.lfs"
        status = status_at(self.place.upper, top)
        if status is None or not stat.S_ISDIR(status.st_mode):
            return b""
        folder.mkdir(exist_ok=True)
        for path in _written(self.place.upper, top):
            name, new = path.rpartition(b"/")[2], status_at(self.place.live, path) is None
            is_named = _LARGE.fullmatch(name) and path == b"/".join((top, name[:2], name[2:4], name))
            if new and not (is_named and copy_large(self.place.upper, path, folder / os.fsdecode(name))):
                self.not_taken.append(_clean(os.fsdecode(path)))
        return os.fsencode(folder)

    def _live_refs(self) -> dict[str, str]:
        packed = files_at(self.place.live, self.path("packed-refs"), PACKED).values()
        found = _packed(b"".join(file.data for file in packed))
        for path, file in files_at(self.place.live, self.path("refs"), REF).items():
            found[os.fsdecode(path)] = _value(file.data)
        return found

    def _leftovers(self) -> None:
        """Name what is not taken."""
        for path in _written(self.place.upper, self.folder):
            inner = path[len(self.folder) + 1 :] if self.folder else path
            plain = inner.split(b"/", 2)[-1] if inner.startswith(b"worktrees/") else inner
            first = plain.split(b"/", 1)[0].decode("utf-8", "replace")
            # Settings in the workspace are files that wait at the gate.
            is_file = is_setting(inner) and self.top == self.layer.workspace
            if is_file or _QUIET.fullmatch(plain) or first in STATE_NAMES or inner.startswith(b"modules/"):
                continue
            if any(path.startswith(new + b"/") for new in self.new):
                continue
            if _same(self.place, path):
                continue
            self.not_taken.append(_clean(os.fsdecode(inner)))


def operation(files: dict[str, bytes]) -> str:
    """Return which operation these files belong to (`a rebase`), or empty if there is none."""
    for mark, what in _OPERATIONS:
        if any(name == mark or (mark.endswith("/") and name.startswith(mark)) for name in files):
            return what
    return ""


def _written(upper: int, folder: bytes) -> Iterator[bytes]:
    """Yield the files and deletions below a folder of a layer."""
    waiting = [folder]
    while waiting:
        above = waiting.pop()
        for name, status in entries_of(upper, above):
            path = above + b"/" + name if above else name
            made_readable(upper, path, status)
            if not stat.S_ISDIR(status.st_mode):
                yield path
            else:
                waiting.append(path)


def _same(place: LayerPlace, path: bytes) -> bool:
    try:
        return read_below(place.upper, path, STATE) == read_below(place.live, path, STATE)
    except (OSError, TooMuch):
        return False


def _in(tree: str, name: str) -> str:
    return f"{tree}/{name}" if tree else name


def _packed(data: bytes) -> dict[str, str]:
    found = dict[str, str]()
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        value, _, name = line.partition(" ")
        if ID.fullmatch(value) and name.startswith("refs/"):
            found[name] = value
    return found


def _value(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()


def _head(data: bytes) -> str:
    text = _value(data)
    branch = _BRANCH.fullmatch(text.encode())
    is_good = ID.fullmatch(text) or (branch and is_importable(text.removeprefix("ref: ")))
    return text if is_good else ""


def _is_taken(name: str, tree: str, *, is_here: bool) -> bool:
    """Return whether git only looks a ref of this name up, so that it cannot replace an object."""
    own = next((prefix for prefix in _OF_A_TREE if name.startswith(prefix)), "")
    if own:
        return is_here and is_importable(f"refs/heads/{name.removeprefix(own)}")
    return not tree and is_importable(name)


def _entry(line: str, why: str) -> StashRow:
    head, _, message = line.partition("\t")
    _, commit, who = head.split(" ", 2)
    return StashRow(commit=commit, who=who, message=message, is_new=True, conflict=why)


def _clean(name: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in name)[:200]
