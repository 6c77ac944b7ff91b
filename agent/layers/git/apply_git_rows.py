"""Carry accepted rows of a repository out: all of them or none, decided by what the repository holds at that moment.

A user's git that works on the index, HEAD or an operation holds `index.lock`; rundry takes it first. Then it checks
every row, and only then changes something. What was changed before a step failed is taken back.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...host.crash import crash_point
from ...host.files.no_follow import folder_of, rename_new
from ...repo.git_folders import GitFolders
from ...repo.locks import LOCK_SECONDS
from ...repo.real_git import RealGit, RealGitFailed
from ...repo.refs import ID, read_refs
from ..open_below import FOLDER, open_below
from .file_sides import files_at
from .git_rows import GitChanges, GitRow, HeadRow, IndexRow, RefRow, StashRow, StateRow
from .import_objects import BadObjects, quoted_folder, take_large, take_objects
from .layer_git_folders import open_folder
from .read_git_changes import LOG, STASH, STATE, STATE_NAMES, operation
from .ref_listing import IndexedPath, live_listing
from .reflogs import ids_of_line

if TYPE_CHECKING:
    from ...host.leftovers import Leftovers

KEPT_AS = "refs/rundry/conflict/"
"""Where branches, tags and a HEAD are kept whose row is a conflict."""
HELD_BACK = "held back, because another change of git is a conflict"
"""Why a row is not carried out although nobody else changed what it is about."""
_MARK = "rundry: apply"
"""The message of a reflog line, until the lines of the layer take its place."""
_SETTINGS = (("core.splitIndex", "false"),)
_LOCKED = b"rundry\n"
"""Content of a lock of an index that does not change: an empty lock could be one that git is making."""
_POLL_SECONDS = 0.05
_PARTS = re.compile(r"(.*) <(.*)> (\d+ [+-]\d{4})", re.DOTALL)


class GitResult(NamedTuple):
    """What became of a row."""

    row: GitRow
    conflict: str
    """Why it was not carried out. Empty means that it was."""


class _Moved(Exception):
    """Something is not as the rows need it; the message says what."""


class _Locked(Exception):
    """Another git process holds a lock; the message names it."""


class _HeldBack(Exception):
    """Rows are conflicts, by their number."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


def carry_out_git(
    changes: GitChanges,
    rows: Sequence[GitRow],
    workspace: Path,
    leftovers: Leftovers,
    *,
    keeps_conflicts: bool = True,
) -> list[GitResult]:
    """Carry out rows of one repository, or none of them if one is a conflict. Return what became of each.

    Rows can be repeated after a crash, once `leftovers` were swept. With a conflict, commits of the rows are kept below
    `refs/rundry/conflict/`, if `keeps_conflicts`. Never raises OSError.
    """
    work = _Work(changes, rows, workspace, leftovers)
    try:
        work.take_objects()
    except (BadObjects, OSError) as error:
        return [GitResult(row, f"new objects were refused: {error}") for row in rows]
    reasons: dict[int, str] = {n: row.conflict for n, row in enumerate(rows) if row.conflict}
    why = ""
    if not reasons:
        try:
            work.run()
        except _HeldBack as held:
            reasons = held.reasons
        except (_Moved, RealGitFailed, OSError) as error:
            why = str(error)
    if not reasons and not why:
        return [GitResult(row, "") for row in rows]
    if keeps_conflicts:
        work.keep_aside()
    first = why or HELD_BACK
    return [GitResult(row, reasons.get(n, first)) for n, row in enumerate(rows)]


def keep_commits(changes: GitChanges, workspace: Path, leftovers: Leftovers) -> list[str]:
    """Keep the commits of rows that cannot be carried out below `refs/rundry/conflict/`, and return these refs.

    Raises BadObjects and OSError.
    """
    work = _Work(changes, changes.rows, workspace, leftovers)
    work.take_objects()
    return work.keep_aside()


def _is_behind_link(git: Path, workspace: Path) -> bool:
    """Return whether a git folder is a link, or is reached through one in the workspace."""
    if not git.is_relative_to(workspace):
        return git.is_symlink()
    top = open_folder(workspace)
    try:
        os.close(open_below(top, os.fsencode(git.relative_to(workspace)), FOLDER, enters_mounts=True))
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return True
        raise
    finally:
        os.close(top)
    return False


class _Work:
    def __init__(self, changes: GitChanges, rows: Sequence[GitRow], workspace: Path, leftovers: Leftovers) -> None:
        self._changes, self._rows, self._leftovers, self._workspace = changes, rows, leftovers, workspace
        self._common = Path(os.fsdecode(changes.common))
        trees = {"", *changes.trees, *(row.tree for row in rows)}
        self._git = {tree: RealGit(GitFolders(self._own(tree), self._common), workspace, _SETTINGS) for tree in trees}

    def _own(self, tree: str) -> Path:
        return self._common / tree if tree else self._common

    def take_objects(self) -> None:
        """Add the objects that the rows need. Raises BadObjects and OSError.

        The git folder can have become a link since it was listed: then nothing is written where that leads.
        """
        if _is_behind_link(self._common, self._workspace):
            raise BadObjects("a link has taken the place of the git folder, or of a folder above it")
        blobs = {one for row in self._rows if isinstance(row, IndexRow) for one in row.ids}
        ids = {one for row in self._rows if not isinstance(row, IndexRow) for one in row.ids}
        pack = Path(os.fsdecode(self._changes.pack)) if self._changes.pack else None
        large = Path(os.fsdecode(self._changes.large)) if self._changes.large else None
        if pack is not None and not pack.exists():  # it went with its layer: the objects are here
            pack = None
        if not ids and not blobs and pack is None:
            return
        take_objects(self._git[""], self._common, pack, ids, blobs)
        if large is not None and large.exists():
            take_large(large, self._common)

    def _there(self, ids: Iterable[str]) -> set[str]:
        """Return those objects that the repository has."""
        asked = "".join(f"{one}\n" for one in sorted(set(ids)))
        found = self._git[""].run("cat-file", "--batch-check", "--buffer", stdin=asked.encode()) if asked else b""
        return {line.split()[0].decode() for line in found.splitlines() if not line.endswith(b" missing")}

    def run(self) -> None:
        """Carry the rows out. Waits for locks of other git processes.

        Raises _HeldBack, _Moved, RealGitFailed and OSError, and then nothing has changed.
        """
        until = time.monotonic() + LOCK_SECONDS
        while True:
            why = "the index changes all the time"
            try:
                with ExitStack() as stack:
                    indexes = [self._locked_index(tree, stack) for tree in self._locked_trees()]
                    if all(indexes):
                        self._carry_out([index for index in indexes if index is not None])
                        return
            except _Locked as held:
                why = str(held)
            if time.monotonic() >= until:
                raise _Moved(why)
            time.sleep(_POLL_SECONDS)

    def _locked_trees(self) -> list[str]:
        return sorted({row.tree for row in self._rows if not isinstance(row, RefRow | StashRow)})

    def _locked_index(self, tree: str, stack: ExitStack) -> _Index | None:
        """Write the new index, and make it the lock. Return None if the index has changed meanwhile."""
        place = self._own(tree) / "index"
        before = _bytes_of(place)
        aside = place.with_name(f"index.{secrets.token_hex(4)}.lock")
        stack.enter_context(self._leftovers.recorded(place, aside.name, "made"))
        stack.callback(aside.unlink, missing_ok=True)
        is_new = self._write_index(tree, aside, before)
        if not is_new:
            aside.write_bytes(_LOCKED)
        digest, inode = hashlib.sha256(aside.read_bytes()).hexdigest(), aside.stat().st_ino
        lock = place.with_name("index.lock")
        stack.enter_context(self._leftovers.recorded(place, lock.name, "lock", new=digest))
        try:
            with folder_of(place.parent, place) as folder:
                rename_new(folder, aside.name, lock.name)
        except FileExistsError:
            raise _Locked(f"another git process holds {lock}") from None
        stack.callback(_unlock, lock, inode)
        crash_point("git: lock held")
        return _Index(place, lock, is_new) if _bytes_of(place) == before else None

    def _write_index(self, tree: str, aside: Path, before: bytes | None) -> bool:
        """Write an index with the rows' differences. Return whether there is one. Raises _HeldBack."""
        rows = {n: row for n, row in enumerate(self._rows) if isinstance(row, IndexRow) and row.tree == tree}
        if not rows:
            return False
        if before is not None:
            aside.write_bytes(before)
        git, file = self._git[tree], {"GIT_INDEX_FILE": str(aside)}
        now, nothing = live_listing(git, aside).entries, IndexedPath()
        todo, reasons = list[IndexRow](), dict[int, str]()
        for n, row in rows.items():
            present = now.get(row.path, nothing).staged
            if present not in (row.before, row.after):
                reasons[n] = f"{name_of(row)}: its entry in the index has changed meanwhile"
            elif present != row.after:
                todo.append(row)
        others = now.keys() - {row.path for row in rows.values()}
        folders = {above for path in others for above in _above(path)}
        for n, row in rows.items():
            if row.after and (row.path in folders or any(above in others for above in _above(row.path))):
                reasons[n] = f"{name_of(row)}: the index has a file where this needs a folder, or the reverse"
        if reasons:
            raise _HeldBack(reasons)
        if not todo:
            return False
        zero = "0" * max(len(one.id) for row in todo for one in (*row.before, *row.after))
        gone = [f"0 {zero}\t".encode() + row.path + b"\0" for row in todo]
        made = [f"{one.mode} {one.id} {one.stage}\t".encode() + row.path + b"\0" for row in todo for one in row.after]
        git.run("update-index", "-z", "--index-info", stdin=b"".join([*gone, *made]), more=file)
        kept = [(row.path, now[row.path]) for row in todo if row.after and row.path in now]
        new = {row.path for row in todo if row.after and row.path not in now}
        flags = (
            ("--assume-unchanged", {path for path, one in kept if one.is_assumed}),
            ("--skip-worktree", {path for path, one in kept if one.is_skipped} | self._left_out(git, aside, new)),
        )
        for option, paths in flags:
            if paths:
                stdin = b"".join(path + b"\0" for path in sorted(paths))
                git.run("update-index", option, "-z", "--stdin", stdin=stdin, more=file)
        return True

    def _left_out(self, git: RealGit, index: Path, paths: set[bytes]) -> set[bytes]:
        """Return those paths that the user's sparse checkout leaves out (git-sparse-checkout(1)). Raises OSError."""
        asked = ("config", "--type=bool", "--default=false", "--get", "core.sparseCheckout")
        if not paths or git.run(*asked) != b"true\n":
            return set()
        with tempfile.TemporaryDirectory(dir=index.parent, prefix="tmp_rundry_") as apart, suppress(RealGitFailed):
            # git decides this only when it updates a working tree: here an empty one, and a copy of the index.
            more = {
                "GIT_INDEX_FILE": f"{apart}/index",
                "GIT_WORK_TREE": apart,
                "GIT_OBJECT_DIRECTORY": apart,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted_folder(str(self._common / "objects")),
            }
            Path(apart, "index").write_bytes(index.read_bytes())
            git.run("read-tree", "-mu", git.run("write-tree", more=more).decode().strip(), more=more)
            return {
                path for path, one in live_listing(git, Path(apart, "index")).entries.items() if one.is_skipped
            } & paths
        return set()  # an index with conflicts has no tree

    def _carry_out(self, indexes: Sequence[_Index]) -> None:
        todo = self._unfinished()
        with ExitStack() as back:
            self._move_refs([row for row in todo if isinstance(row, RefRow)], back)
            crash_point("git: refs moved")
            for row in todo:
                if isinstance(row, HeadRow):
                    self._move_head(row)
                    back.callback(self._move_head, row.inverse)
            crash_point("git: HEAD moved")
            for row in todo:
                if isinstance(row, StashRow):
                    self._move_stash(row)
                    back.callback(self._move_stash, row.inverse)
            for row in todo:
                if isinstance(row, StateRow):
                    back.callback(self._write_state, row.inverse)
                    self._write_state(row)
            crash_point("git: state written")
            for index in indexes:
                if index.is_new:
                    index.lock.replace(index.place)
            back.pop_all()
        crash_point("git: index replaced")
        with suppress(OSError, RealGitFailed):  # the lines of the layer are worth no failure: git wrote its own
            self._write_logs()

    def _unfinished(self) -> list[GitRow]:
        """Return the rows that are to be carried out, in their order. Raises _HeldBack if one is a conflict."""
        todo, reasons = list[GitRow](), dict[int, str]()
        refs = {tree: read_refs(self._own(tree)) for tree in self._git}
        stash = [line.split(" ")[1] for line in self._lines(f"logs/{STASH}")]
        states = {tree: self._state(tree) for tree in self._git}
        for n, row in enumerate(self._rows):
            present: object
            match row:
                case RefRow():
                    present, before, after = refs[row.tree].get(row.name, ""), row.before, row.after
                case HeadRow():
                    present, before, after = self._head(row.tree), row.before, row.after
                case StashRow():
                    present, before, after = row.commit in stash, not row.is_new, row.is_new
                case StateRow():
                    present, before, after = _state_as_a_whole(states[row.tree], row), row.before, row.after
                case IndexRow():
                    continue
            if present == after:
                continue
            if present != before:
                reasons[n] = f"{name_of(row)} has changed meanwhile"
            todo.append(row)
        known = {row.tree for row in self._rows if isinstance(row, StateRow)}
        begun = {tree: operation(states[tree]) for tree in states if tree not in known}
        for n, row in enumerate(self._rows):
            trees = self._changes.trees if isinstance(row, RefRow | StashRow) else (row.tree,)
            why = next((begun[tree] for tree in trees if begun.get(tree)), "")
            is_index = isinstance(row, IndexRow) or (isinstance(row, HeadRow) and row.before == row.after)
            if why and not is_index:
                reasons.setdefault(n, f"you have {why} in progress")
        if reasons:
            raise _HeldBack(reasons)
        return todo

    def _move_refs(self, rows: Sequence[RefRow], back: ExitStack) -> None:
        """Move refs with their old values; those that stand in the way of others go first."""
        for tree in sorted({row.tree for row in rows}):
            here = [row for row in rows if row.tree == tree]
            made = [row.name for row in here if row.after]
            first = [
                row
                for row in here
                if not row.after
                and any(f"{one}/".startswith(f"{row.name}/") or f"{row.name}/".startswith(f"{one}/") for one in made)
            ]
            for part in (first, [row for row in here if row not in first]):
                if part:
                    self._transaction(tree, part)
                    back.callback(self._transaction, tree, [row.inverse for row in part])

    def _transaction(self, tree: str, rows: Sequence[RefRow]) -> None:
        orders = list[str]()
        for row in rows:
            zero = "0" * len(row.after or row.before)
            if row.after:
                orders.append(f"update {row.name}\0{row.after}\0{row.before or zero}\0")
            else:
                orders.append(f"delete {row.name}\0{row.before}\0")
        stdin = "".join(orders).encode("utf-8", "surrogateescape")
        self._git[tree].run("update-ref", "-m", _MARK, "--no-deref", "-z", "--stdin", stdin=stdin)

    def _move_head(self, row: HeadRow) -> None:
        if row.after.startswith("ref: "):
            self._git[row.tree].run("symbolic-ref", "-m", _MARK, "HEAD", row.after.removeprefix("ref: "))
        else:
            self._git[row.tree].run("update-ref", "--no-deref", "-m", _MARK, "HEAD", row.after)

    def _move_stash(self, row: StashRow) -> None:
        git, entries = self._git[""], [line.split(" ")[1] for line in self._lines(f"logs/{STASH}")]
        newest = entries[-1] if entries else ""
        if not row.is_new:
            at = len(entries) - 1 - max(n for n, one in enumerate(entries) if one == row.commit)
            if len(entries) == 1:
                git.run("update-ref", "--no-deref", "-d", STASH, newest)
            else:
                git.run("reflog", "delete", "--updateref", "--rewrite", f"{STASH}@{{{at}}}")
            return
        parts = _PARTS.fullmatch(row.who)
        name, mail, when = parts.groups() if parts else ("rundry", "rundry@localhost", "")
        who = {"GIT_COMMITTER_NAME": name or "?", "GIT_COMMITTER_EMAIL": mail, "GIT_COMMITTER_DATE": when}
        argv = ("update-ref", "--create-reflog", "--no-deref", "-m", row.message or "stash", STASH, row.commit)
        git.run(*argv, newest or "0" * len(row.commit), more=who)

    def _write_state(self, row: StateRow) -> None:
        own = self._own(row.tree)
        for name in sorted({*row.before, *row.after}):
            place, after = own / name, row.after.get(name)
            if after is None:
                place.unlink(missing_ok=True)
            elif after != _bytes_of(place):
                _replace_file(place, after, self._leftovers)
        for folder in sorted(
            {above for name in row.before for above in Path(name).parents if str(above) != "."}, reverse=True
        ):
            with suppress(OSError):
                (own / folder).rmdir()

    def _write_logs(self) -> None:
        """Put the lines of the layer in place of those that git wrote for rundry."""
        there = self._there(
            word for log in self._changes.logs.values() for line in log.lines for word in ids_of_line(line)
        )
        for name, log in self._changes.logs.items():
            written, lines = self._lines(name), list(log.lines)
            own = written[log.after :]
            is_whole = len(written) >= log.after and all(line.endswith(f"\t{_MARK}") for line in own)
            is_there = all(word in there for line in lines for word in ids_of_line(line))
            if is_whole and is_there and self._value(name) == lines[-1].split(" ", 2)[1]:
                self._write_log(name, written, [*written[: log.after], *lines])

    def _write_log(self, name: str, before: Sequence[str], after: Sequence[str]) -> None:
        """Replace a reflog, unless another process writes it."""
        lock, digest = self._common / _locked_by(name), hashlib.sha256(_LOCKED).hexdigest()
        with self._leftovers.recorded(lock.with_suffix(""), lock.name, "lock", new=digest), suppress(FileExistsError):
            _make(lock)
            try:
                if self._lines(name) == before:
                    text = "".join(f"{line}\n" for line in after).encode("utf-8", "surrogateescape")
                    _replace_file(self._common / name, text, self._leftovers)
            finally:
                lock.unlink(missing_ok=True)

    def _value(self, log: str) -> str:
        """Return the commit of the ref that a reflog is about."""
        tree, _, name = log.rpartition("logs/")
        refs = read_refs(self._common) | read_refs(self._own(tree.rstrip("/")))
        head = self._head(tree.rstrip("/"))
        return refs.get(head.removeprefix("ref: "), head) if name == "HEAD" else refs.get(name, "")

    def keep_aside(self) -> list[str]:
        """Keep new branches, tags and a detached HEAD below `refs/rundry/conflict/`. Return the refs that have them."""
        now, kept = read_refs(self._common), list[str]()
        for row in self._rows:
            after = row.after if isinstance(row, RefRow | HeadRow) else ""
            if not isinstance(row, RefRow | HeadRow) or not ID.fullmatch(after) or row.before == after:
                continue
            name = row.name.removeprefix("refs/") if isinstance(row, RefRow) else "HEAD"
            place = f"{KEPT_AS}{name}-{after[:8]}"
            if now.get(place) == after:
                kept.append(place)
            elif after not in now.values():
                with suppress(RealGitFailed):
                    self._git[""].run("update-ref", "--no-deref", "-m", _MARK, place, after)
                    kept.append(place)
        return kept

    def _head(self, tree: str) -> str:
        return (_bytes_of(self._own(tree) / "HEAD") or b"").decode("utf-8", "replace").strip()

    def _state(self, tree: str) -> dict[str, bytes]:
        folder = open_folder(self._own(tree))
        try:
            found = [files_at(folder, name.encode(), STATE) for name in STATE_NAMES]
        finally:
            os.close(folder)
        return {os.fsdecode(path): file.data for files in found for path, file in files.items()}

    def _lines(self, log: str) -> list[str]:
        folder = open_folder(self._common)
        try:
            data = b"".join(file.data for file in files_at(folder, os.fsencode(log), LOG).values())
        finally:
            os.close(folder)
        return data.decode("utf-8", "surrogateescape").splitlines()


class _Index(NamedTuple):
    place: Path
    lock: Path
    is_new: bool
    """Whether the lock has the new index."""


def name_of(row: GitRow) -> str:
    """Return what a row changes, for people."""
    match row:
        case RefRow():
            return row.name
        case HeadRow():
            return "HEAD"
        case StashRow():
            return "the stash"
        case StateRow():
            is_operation = bool(row.what or operation(row.before))
            return "the operation in progress" if is_operation else ", ".join(sorted({*row.before, *row.after}))
        case IndexRow():
            return os.fsdecode(row.path)


def _state_as_a_whole(present: dict[str, bytes], row: StateRow) -> dict[str, bytes]:
    """Return the state before, if each file is as before or after: a crash may have come between two files."""
    names = {*present, *row.before, *row.after}
    if present != row.after and all(present.get(one) in (row.before.get(one), row.after.get(one)) for one in names):
        return row.before
    return present


def _locked_by(log: str) -> str:
    """Return the lock that git holds while it writes this reflog."""
    tree, _, name = log.rpartition("logs/")
    return f"{tree}{name}.lock"


def _above(path: bytes) -> list[bytes]:
    """Return the folders of a path."""
    parts = path.split(b"/")
    return [b"/".join(parts[:n]) for n in range(1, len(parts))]


def _unlock(lock: Path, inode: int) -> None:
    """Remove a lock, unless it became the index, and another process holds the lock now."""
    with suppress(FileNotFoundError):
        if lock.lstat().st_ino == inode:
            lock.unlink()


def _make(lock: Path) -> None:
    """Make a lock. Raises FileExistsError."""
    opened = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(opened, "wb") as file:
        file.write(_LOCKED)


def _bytes_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _replace_file(place: Path, data: bytes, leftovers: Leftovers) -> None:
    """Replace the file without git's lock. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f"{place.name}.{secrets.token_hex(4)}.lock")
    with leftovers.recorded(place, temporary.name, "made"):
        try:
            temporary.write_bytes(data)
            crash_point("import: written next to it")
            temporary.replace(place)
            crash_point("import: file replaced")
        finally:
            temporary.unlink(missing_ok=True)
