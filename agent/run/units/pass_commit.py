"""Make the commit of a pass that worked in a layer: its changes alone, applied to HEAD's content (decision 0039).

Of the user's repository only objects are added here. The branch and the index are rows of the order that applies the
pass, so a kill leaves no commit without its files.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...gate.three_way_merge import merge_states
from ...host.files.file_states import stored_state
from ...host.own_temp import temp_folder
from ...layers.git.git_rows import GitChanges, HeadRow, IndexRow, RefRow, Staged, StashRow
from ...layers.git.import_objects import BadObjects, take_objects
from ...layers.git.ref_listing import LISTING, BadListing, IndexedPath, parse_listing
from ...layers.layer_effects import Effect, Side, bytes_at, target_at
from ...layers.open_below import FOLDER
from ...repo.git_folders import GitFolders, find_folders
from ...repo.git_places import places_of
from ...repo.patch_format import Version
from ...repo.real_git import RealGit
from ...repo.refs import read_refs
from ...repo.repository import GitFailed, Repository

if TYPE_CHECKING:
    from ...layers.run_layers import Listed as ListedEffects
    from ...layers.unit import Unit
    from ...repo.git_places import GitPlaces

_LINK, _SUBMODULE = "120000", "160000"
_SQUASHED = "its own commits were squashed, because they have more than its changes to HEAD"
_HEADS = "refs/heads/"


Before = Callable[[str], Awaitable[None]]
"""Called with the tree of a commit before it is made. Raises GitFailed if the commit must not be made."""


class Overlaps(Exception):
    """The user has uncommitted work where the pass changed something. One line for each path."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = list(lines)


class PassFiles(NamedTuple):
    """What a pass changed. Contents before it are in the workspace, those after it in its unit."""

    effects: Sequence[Effect]
    """Files and links; paths are relative to the workspace."""
    root: Path
    """Folder of the workspace."""
    unit: Unit
    listed: ListedEffects

    def version(self, effect: Effect, *, is_after: bool) -> Version | None:
        """Return one side of an effect, or None if nothing is there. Raises OSError."""
        side = effect.after if is_after else effect.before
        if side is None or side.type == "folder":
            return None
        data = self._after(effect.path, side) if is_after else self._before(effect.path, side)
        return Version("120000" if side.type == "link" else "100755" if side.executable else "100644", data)

    def _before(self, path: str, side: Side) -> bytes:
        folder = os.open(self.root, FOLDER | os.O_CLOEXEC)
        try:
            name = os.fsencode(path)
            return target_at(folder, name) if side.type == "link" else bytes_at(folder, name)
        finally:
            os.close(folder)

    def _after(self, path: str, side: Side) -> bytes:
        known = self.listed.contents.get(path)
        if known is not None:
            return known
        with self.unit.layer.written() as written:
            return written.load(path, side)


class Committed(NamedTuple):
    """A commit that no branch has yet."""

    commit: str | None
    """Returns None if there was nothing to commit."""
    git: Sequence[GitChanges]
    """The rows that move the branch to it and update the index, and what else repositories gain."""
    remark: str


async def make_commit(
    repository: Repository,
    files: PassFiles,
    listed: ListedEffects,
    start: str,
    message: str,
    protected: Sequence[str],
    before: Before | None = None,
) -> Committed:
    """Make the commit of a pass on the present HEAD. `start`: the commit at its start. `listed`: of its unit.

    `before`: called before the commit is made. Raises GitFailed if nothing can be committed, Overlaps, and OSError.
    """
    places = await places_of(repository)
    at_top = repository.at(places.top)
    head, branch = await repository.head(), await repository.branch()
    if head is None or branch is None:
        raise GitFailed("HEAD is not on a branch with a commit")
    if branch in protected:
        raise GitFailed(f"the branch `{branch}` is protected")
    if (busy := await repository.operation()) is not None:
        raise GitFailed(f"{busy} is in progress")
    prefix = (await repository.run_checked("rev-parse", "--show-prefix")).line
    gained = _Gained.of(listed.git, places, head, branch, protected)
    work = _Work(at_top, places, prefix, files, head, gained)
    await work.read()
    modules, left = work.submodules(files.effects)
    wanted = set(await repository.without_ignored([one.path for one in left]))
    return await work.commit([one for one in left if one.path in wanted], modules, start, branch, message, before)


@dataclass(frozen=True, slots=True)
class _Gained:
    """What the repositories gained in the layer, sorted by what is done with it."""

    tip: str
    """The commit of HEAD in the layer."""
    pack: bytes
    kept: Sequence[RefRow | StashRow]
    """Rows of the repository that are carried out as they are."""
    others: Sequence[GitChanges]
    """Of submodules and other repositories in the workspace."""
    large: bytes
    remarks: Sequence[str]

    @staticmethod
    def of(found: Sequence[GitChanges], places: GitPlaces, head: str, branch: str, protected: Sequence[str]) -> _Gained:
        """Sort what was found. `head` and `branch`: those of the workspace."""
        common, tree = os.fsencode(places.common), _tree_of(places)
        own = next((one for one in found if one.common == common), None)
        others = [one for one in found if one.common != common and one.rows]
        if own is None:
            return _Gained(head, b"", (), others, b"", ())
        kept, remarks = list[RefRow | StashRow](), list[str]()
        for row in own.rows:
            if isinstance(row, StashRow):
                kept.append(row)
            elif isinstance(row, RefRow) and row.name != f"{_HEADS}{branch}" and not row.tree:
                name = row.name.removeprefix(_HEADS)
                if name in protected and row.name != name and row.before:
                    remarks.append(f"the protected branch {name} was restored")
                elif row.after and not row.before:
                    kept.append(row)
        now = {row.name: row.after for row in own.rows if isinstance(row, RefRow) and not row.tree}
        heads = (row.after for row in own.rows if isinstance(row, HeadRow) and row.tree == tree)
        value = next(heads, f"ref: {_HEADS}{branch}")
        name = value.removeprefix("ref: ")
        tip = value if name == value else now.get(name, read_refs(places.common).get(name, ""))
        return _Gained(tip or head, own.pack, tuple(kept), others, own.large, remarks)


@dataclass(slots=True)
class _Work:
    repository: Repository
    """Started at the top of the working tree."""
    places: GitPlaces
    prefix: str
    """The workspace below the top, with `/`. Empty means that it is the top."""
    files: PassFiles
    head: str
    gained: _Gained
    of_head: dict[bytes, tuple[str, str]]
    """Mode and id by path below the top."""
    of_index: dict[bytes, IndexedPath]

    def __init__(
        self, repository: Repository, places: GitPlaces, prefix: str, files: PassFiles, head: str, gained: _Gained
    ) -> None:
        self.repository, self.places, self.prefix = repository, places, prefix
        self.files, self.head, self.gained = files, head, gained
        self.of_head, self.of_index = {}, {}

    async def read(self) -> None:
        """Read what HEAD and the index have."""
        self.of_head = await self._tree(self.head)
        try:
            self.of_index = parse_listing((await self.repository.run_checked(*LISTING)).out).entries
        except BadListing as error:
            raise GitFailed(str(error)) from error

    async def commit(
        self,
        chosen: Sequence[Effect],
        modules: dict[bytes, str],
        start: str,
        branch: str,
        message: str,
        before_commit: Before | None,
    ) -> Committed:
        """Make the commit and the rows. Raises GitFailed, Overlaps and OSError."""
        base, own, remarks = await self._base(chosen, start)
        clashes, contents = list[str](), dict[bytes, Version | None]()
        staged = dict[bytes, Version | None]()
        for effect in chosen:
            path = self._path(effect.path)
            before, after = (self.files.version(effect, is_after=is_after) for is_after in (False, True))
            try:
                contents[path] = after if path in own else await self._in_head(path, before, after)
                if self._staged_apart(path):
                    staged[path] = await self._in_index(path, before, after)
            except _Clash as clash:
                clashes.append(f"{effect.path}: {clash}")
        if clashes:
            raise Overlaps(clashes)
        with temp_folder("index") as folder:
            tree, entries = await self._stage(folder, base, contents, modules)
        if tree == (await self.repository.run_checked("rev-parse", f"{base}^{{tree}}")).line:
            commit = base
        else:
            if before_commit is not None:
                await before_commit(tree)
            commit = await self.repository.commit_tree(tree, base, message)
        rows = await self._index_rows(contents, modules, staged, entries)
        git = self._rows(branch, commit, rows)
        return Committed(None if commit == self.head else commit, git, "; ".join(remarks))

    async def _base(self, chosen: Sequence[Effect], start: str) -> tuple[str, set[bytes], list[str]]:
        """Return the commit to build on, the paths that the pass's own commits change, and remarks.

        The pass's own commits are kept if they have nothing but its changes to the HEAD from which it started.
        """
        tip, remarks = self.gained.tip, [*self.gained.remarks]
        if tip == self.head:
            return self.head, set(), remarks
        try:
            await asyncio.to_thread(self._import, {tip})
            ancestor = await self.repository.run("merge-base", "--is-ancestor", self.head, tip)
        except BadObjects as error:
            return self.head, set(), [*remarks, f"its own commits were refused: {error}"]
        if ancestor.code != 0 or self.head != start:
            return self.head, set(), [*remarks, _SQUASHED]
        answer = await self.repository.run_checked("diff-tree", "-r", "-z", "--name-only", self.head, tip)
        names = {name for name in answer.out.split(b"\0") if name}
        known = {self._path(effect.path): effect for effect in chosen}
        for name in names:
            effect = known.get(name)
            if effect is None or self._staged_apart(name) or not await self._is_clean(name, effect):
                return self.head, set(), [*remarks, _SQUASHED]
        return tip, names, remarks

    async def _is_clean(self, path: bytes, effect: Effect) -> bool:
        """Return whether the file was at the start of the pass as HEAD has it."""
        before, entry = self.files.version(effect, is_after=False), self.of_head.get(path)
        if before is None or entry is None:
            return before is None and entry is None
        return before.mode == entry[0] and await self._is(path, entry[1], before)

    def _import(self, ids: set[str]) -> None:
        git = RealGit(GitFolders(self.places.folder, self.places.common), self.places.top)
        pack = Path(os.fsdecode(self.gained.pack)) if self.gained.pack else None
        take_objects(git, self.places.common, pack, ids, ())

    def _path(self, path: str) -> bytes:
        return os.fsencode(self.prefix + path)

    def _staged_apart(self, path: bytes) -> bool:
        """Return whether the index differs from HEAD for a path."""
        entry, listed = self.of_head.get(path), self.of_index.get(path)
        staged = () if listed is None else listed.staged
        return staged != (() if entry is None else (Staged(0, *entry),))

    async def _tree(self, commit: str) -> dict[bytes, tuple[str, str]]:
        answer = await self.repository.run_checked("ls-tree", "-r", "-z", "--full-tree", commit)
        found = dict[bytes, tuple[str, str]]()
        for line in answer.out.split(b"\0"):
            facts, _, path = line.partition(b"\t")
            if path:
                mode, _, name = facts.decode().split(" ")
                found[path] = (mode, name)
        return found

    async def _in_head(self, path: bytes, before: Version | None, after: Version | None) -> Version | None:
        entry = self.of_head.get(path)
        return await self._applied(path, entry, before, after, "HEAD")

    async def _in_index(self, path: bytes, before: Version | None, after: Version | None) -> Version | None:
        listed = self.of_index.get(path)
        staged = () if listed is None else listed.staged
        if len(staged) > 1 or (staged and staged[0].stage):
            raise _Clash("the index has a conflict")
        if not staged and path in self.of_head:
            raise _Clash("you removed it from the index")
        entry = (staged[0].mode, staged[0].id) if staged else None
        return await self._applied(path, entry, before, after, "the index")

    async def _applied(
        self, path: bytes, entry: tuple[str, str] | None, before: Version | None, after: Version | None, where: str
    ) -> Version | None:
        """Return what an entry becomes by the change of the pass. Raises _Clash."""
        if before is None or entry is None:
            if before is None and entry is None:
                return after
            if before is not None:
                raise _Clash("it was there before the pass, and git does not track it")
            if (
                after is not None
                and entry is not None
                and entry[0] == after.mode
                and await self._is(path, entry[1], after)
            ):
                return after
            raise _Clash(f"you had deleted it, and {where} has it")
        is_same = await self._is(path, entry[1], before)
        if is_same and entry[0] == before.mode:
            return after
        if after is None or _LINK in (entry[0], before.mode, after.mode) or entry[0] == _SUBMODULE:
            raise _Clash("you have uncommitted changes in it")
        mode = entry[0] if before.mode == after.mode else after.mode
        if is_same or before.data == after.data:
            data = after.data if is_same else await self._contents(path, entry[1])
            return Version("100755" if mode == "100755" else "100644", data)
        name = Path(os.fsdecode(path))
        now = stored_state(name, name, await self._contents(path, entry[1]))
        merged = merge_states(stored_state(name, name, before.data), now, after.data)
        if merged is None or merged[1]:
            raise _Clash("you have uncommitted changes where the pass changed it")
        return Version("100755" if mode == "100755" else "100644", merged[0])

    async def _is(self, path: bytes, name: str, version: Version) -> bool:
        """Return whether git would store this content under that name."""
        found = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
        found.update(b"blob %d\0" % len(version.data) + version.data)
        if found.hexdigest() == name:
            return True
        if version.mode == _LINK:
            return False
        return await self._stored(path, version, writes=False) == name

    async def _stored(self, path: bytes, version: Version, *, writes: bool) -> str:
        """Return the name under which git stores this content."""
        how = ["--no-filters"] if version.mode == _LINK else ["--path", os.fsdecode(path)]
        argv = ["hash-object", *(["-w"] if writes else []), "--stdin", *how]
        return (await self.repository.run_checked(*argv, stdin=version.data)).line

    async def _contents(self, path: bytes, name: str) -> bytes:
        """Return a blob as git would write it into the working tree."""
        return (await self.repository.run_checked("cat-file", "--filters", f"--path={os.fsdecode(path)}", name)).out

    def submodules(self, chosen: Sequence[Effect]) -> tuple[dict[bytes, str], list[Effect]]:
        """Return the submodules whose HEAD moved, with their commits, and the effects outside of all submodules.

        Raises GitFailed for a change in a submodule that is not committed there.
        """
        modules = {
            path for path, listed in self.of_index.items() if [one.mode for one in listed.staged] == [_SUBMODULE]
        }
        moved = dict[bytes, str]()
        for path in modules:
            own = find_folders(self.places.top / os.fsdecode(path))
            changes = next((one for one in self.gained.others if own and one.common == os.fsencode(own.common)), None)
            if own is not None and changes is not None and (tip := _tip_of(changes, own.common)):
                moved[path] = tip
        left = list[Effect]()
        for effect in chosen:
            path = self._path(effect.path)
            inside = next((one for one in modules if path.startswith(one + b"/")), None)
            if inside is None:
                left.append(effect)
            elif inside not in moved:
                name = os.fsdecode(inside.removeprefix(os.fsencode(self.prefix)))
                raise GitFailed(f"{effect.path} changed in the submodule {name} and was not committed there")
        return moved, left

    async def _stage(
        self, folder: Path, base: str, contents: dict[bytes, Version | None], modules: dict[bytes, str]
    ) -> tuple[str, dict[bytes, IndexedPath]]:
        """Stage these contents on a commit in an index of rundry's own. Return the tree, and what the index has."""
        files = folder / "files"
        files.mkdir()
        await asyncio.to_thread(_write_files, files, contents)
        apart = self.repository.with_tree(self.places.folder, files, folder / "index")
        await apart.run_checked("read-tree", base)
        for path, commit in modules.items():
            name = os.fsdecode(path)
            await apart.run_checked("update-index", "--add", "--cacheinfo", f"{_SUBMODULE},{commit},{name}")
        tree = await apart.stage(sorted(os.fsdecode(path) for path in contents))
        return tree, parse_listing((await apart.run_checked(*LISTING)).out).entries

    async def _index_rows(
        self,
        contents: dict[bytes, Version | None],
        modules: dict[bytes, str],
        staged: dict[bytes, Version | None],
        entries: dict[bytes, IndexedPath],
    ) -> list[IndexRow]:
        """Return the rows that keep the user's index as different from HEAD as it is."""
        rows, nothing, tree = list[IndexRow](), IndexedPath(), _tree_of(self.places)
        for path in sorted({*contents, *modules}):
            before, after = self.of_index.get(path, nothing).staged, entries.get(path, nothing).staged
            if path in staged:
                version = staged[path]
                kept = () if version is None else (await self._stored(path, version, writes=True),)
                after = tuple(Staged(0, version.mode, name) for name in kept if version is not None)
            if before != after:
                rows.append(IndexRow(tree=tree, path=path, before=before, after=after))
        return rows

    def _rows(self, branch: str, commit: str, index: Sequence[IndexRow]) -> list[GitChanges]:
        tree, value = _tree_of(self.places), f"ref: {_HEADS}{branch}"
        rows = [
            HeadRow(tree=tree, before=value, after=value),
            *([RefRow(name=f"{_HEADS}{branch}", before=self.head, after=commit)] if commit != self.head else []),
            *self.gained.kept,
            *index,
        ]
        if len(rows) == 1:
            return [*self.gained.others]
        own = GitChanges(
            common=os.fsencode(self.places.common),
            trees=(tree,),
            rows=tuple(rows),
            pack=self.gained.pack,
            large=self.gained.large,
        )
        return [own, *self.gained.others]


class _Clash(Exception):
    """The change of the pass does not fit; the message says why."""


def _tree_of(places: GitPlaces) -> str:
    """Return the git folder of the working tree below the repository's, or empty if it is the repository's."""
    return "" if places.folder == places.common else places.folder.relative_to(places.common).as_posix()


def _tip_of(changes: GitChanges, common: Path) -> str:
    """Return the commit of HEAD of a submodule, as the layer has it."""
    head = next((row.after for row in changes.rows if isinstance(row, HeadRow) and not row.tree), "")
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    rows = (row.after for row in changes.rows if isinstance(row, RefRow) and row.name == name)
    return next(rows, read_refs(common).get(name, ""))


def _write_files(folder: Path, contents: dict[bytes, Version | None]) -> None:
    for path, version in contents.items():
        if version is None:
            continue
        place = folder / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if version.mode == _LINK:
            place.symlink_to(os.fsdecode(version.data))
        else:
            place.write_bytes(version.data)
            place.chmod(0o755 if version.mode == "100755" else 0o644)
