"""Take the diff of a review: name the changed files by git, compare their contents here, and copy the new side.

Nothing in the repository changes: new objects go to a folder of their own, and so does the index. The contents are
compared here, so that no attribute, filter or setting of the reviewed project decides about what is shown.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..host.own_temp import temp_folder
from ..protocol import UserError
from ..protocol.reviewed_diff import DiffFile, DiffHunk, DiffStatus, ReviewedDiff
from ..protocol.text.counts import plural
from ..protocol.text.hunks import Split, hunk_lines, split
from ..protocol.text.shorten_text import end_cut
from .patch_format import is_text
from .repository import GitFailed, Repository, repository_top

LARGEST = 2_000_000
"""Bytes of the largest file whose lines are shown."""
_BATCH = 4_000_000
"""Bytes of contents that one git process returns."""
_SHORT = 10
"""Characters of a commit in words."""
_LONGEST_WORD = 200
_MOST_COMMITS = 5_000
"""Commits that are searched for the one before a patch."""
_NOTHING = "no change to review: {what} {have} no differences"
_LOCK_FILES = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "Cargo.lock",
    "poetry.lock",
    "pdm.lock",
    "uv.lock",
    "Pipfile.lock",
    "composer.lock",
    "Gemfile.lock",
    "go.sum",
    "flake.lock",
    "mix.lock",
    "pubspec.lock",
    "Podfile.lock",
    "packages.lock.json",
    "gradle.lockfile",
)
"""Exact names of files that package managers write."""
_BINARY = "a binary file"
_OF_REVIEW = "comments of an earlier review"
COMMENTS_BEGIN = "rundry reviewed "
"""How the text of a file of comments begins, by which one is known."""
_GENERATED = ("*.min.js", "*.min.css", "*.js.map", "*.css.map")
_STATUS: Mapping[str, DiffStatus] = {"A": "added", "D": "deleted", "R": "renamed", "M": "modified", "T": "modified"}
_SUBMODULE, _LINK = "160000", "120000"
_NONE = "000000"
_ESCAPED = re.compile(r"[\\*?\[]")
"""Characters of a path that `git apply --exclude` would take for a pattern."""


class WantedDiff(NamedTuple):
    """What to review. Without a range and a patch: the working tree since HEAD, or since `base`."""

    range: str | None = None
    patch: bytes | None = None
    base: str | None = None
    """The commit of the old side, for a diff that is taken again."""
    may_be_empty: bool = False


class _Comments(msgspec.Struct):
    """The fields by which a file of comments is known."""

    event: str
    body: str


class TakenDiff(NamedTuple):
    """A diff, and whether its new side is what the workspace contains."""

    diff: ReviewedDiff
    is_in_workspace: bool
    outside: int = 0
    """Number of changed files outside of the workspace."""
    prefix: str = ""
    """The path of the workspace below the top of the repository, with `/` at its end."""


class _Sides(NamedTuple):
    """Both sides as names that git accepts as trees."""

    old: str
    new: str
    what: str
    commit: str = ""
    base: str = ""
    is_working_tree: bool = False
    binary: tuple[str, ...] = ()
    """Binary files of a patch, which is applied without them."""


class _Entry(NamedTuple):
    """One line of `git diff-tree --raw`."""

    old_mode: str
    new_mode: str
    old_id: str
    new_id: str
    status: str
    old_path: str
    path: str


async def take_diff(
    folder: Path, env: Mapping[str, str], wanted: WantedDiff, *, hidden: Callable[[str], str], copy: Path | None = None
) -> TakenDiff:
    """Take the diff. `folder`: the workspace. Raises UserError, also if nothing differs.

    `hidden` returns why no tool may read a path, or empty. `copy`: a folder that is made, with the files of the new
    side, if the workspace has other ones.
    """
    try:
        with temp_folder("commands") as temp:
            return await _taken(folder, env, wanted, temp, hidden, copy)
    except GitFailed as error:
        raise UserError(f"{_option(wanted)}{error}") from error


def _option(wanted: WantedDiff) -> str:
    if wanted.range is not None:
        return f"--diff {end_cut(wanted.range, _LONGEST_WORD)}: "
    return "--patch: " if wanted.patch is not None else ""


async def _taken(
    folder: Path,
    env: Mapping[str, str],
    wanted: WantedDiff,
    temp: Path,
    hidden: Callable[[str], str],
    copy: Path | None,
) -> TakenDiff:
    repository = await Repository.find(folder, env)
    top = repository_top(folder)
    if repository is None or top is None:
        raise UserError(f"{folder} is not in a git repository: a review needs one, `git init` makes it")
    git = await _Git.of(repository, top, temp)
    sides = await git.sides(wanted)
    if sides.old != sides.new or sides.is_working_tree:
        entries = await git.entries(sides)
    else:
        entries = []
    inside = [one for one in entries if one.path.startswith(git.prefix)]
    binary = [path for path in sides.binary if path.startswith(git.prefix)]
    if not inside and not binary and not wanted.may_be_empty:
        more = f"; {plural(len(entries), 'changed file')} outside of {folder}" if entries else ""
        raise UserError(_NOTHING.format(what=sides.what, have="have" if "changes" in sides.what else "has") + more)
    diff = ReviewedDiff(
        what=sides.what,
        commit=sides.commit,
        base=sides.base,
        files=[
            *[file async for file in git.files(inside, hidden)],
            *(DiffFile(path=_shown(path.removeprefix(git.prefix)), left_out=_BINARY) for path in binary),
        ],
    )
    is_in_workspace = sides.is_working_tree or await git.is_checked_out(sides)
    if not is_in_workspace and copy is not None:
        await git.copy(sides.new, copy)
    return TakenDiff(diff, is_in_workspace, len(entries) - len(inside), git.prefix)


class _Git:
    """Git with an index and an object store of its own."""

    def __init__(self, repository: Repository, top: Path, temp: Path, objects: str, prefix: str) -> None:
        self._top, self._temp = repository.at(top), temp
        self._here, self.prefix = repository, prefix
        store = temp / "objects"
        store.mkdir(parents=True, exist_ok=True)
        own = {"GIT_OBJECT_DIRECTORY": str(store)}
        self._store = own | {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _as_list_item(os.path.realpath(objects))}

    @classmethod
    async def of(cls, repository: Repository, top: Path, temp: Path) -> _Git:
        """Return git for the repository. Raises GitFailed."""
        found = await repository.run_checked("rev-parse", "--git-path", "objects", "--show-prefix")
        objects, _, prefix = os.fsdecode(found.out).partition("\n")
        return cls(repository, top, temp, str(repository.folder / objects), prefix.rstrip("\n"))

    async def sides(self, wanted: WantedDiff) -> _Sides:
        """Return both sides as trees. Raises UserError for a bad range or a patch that does not apply."""
        head = await self._here.head()
        if wanted.range is not None:
            return await self._range(wanted.range, head)
        if wanted.patch is not None:
            return await self._patched(wanted.patch, head)
        base = wanted.base or head or ""
        old = await self._tree(base) if base else await self._empty_tree()
        since = f" since {base[:_SHORT]}" if base else ""
        return _Sides(old, await self._working_tree(head), f"the changes of the working tree{since}", "", base, True)

    async def _range(self, text: str, head: str | None) -> _Sides:
        if head is None:
            raise UserError(f"--diff {text}: there is no commit yet, so there is no range")
        left, dots, right = text.partition("...")
        if not dots:
            left, dots, right = text.partition("..")
        if not dots and text.endswith("^!"):
            left, dots, right = f"{text[:-2]}^1", "..", text[:-2]
        start = await self._commit(left or "HEAD", text)
        if not dots:  # as `git diff NAME`: up to the working tree
            words = f"the changes of the working tree since {start[:_SHORT]}"
            return _Sides(await self._tree(start), await self._working_tree(head), words, "", start, True)
        end = await self._commit(right or "HEAD", text)
        if dots == "...":
            found = await self._here.run("merge-base", start, end)
            if found.code != 0:
                if missing := await self._missing_history(left or right):
                    raise UserError(f"--diff {text}: the two sides have no common commit here, because {missing}")
                raise UserError(f"--diff {text}: the two sides have no common commit: use .. instead of ...")
            start = found.line.partition("\n")[0]
        words = f"the changes from {start[:_SHORT]} to {end[:_SHORT]}"
        return _Sides(await self._tree(start), await self._tree(end), words, end, start)

    async def _commit(self, name: str, given: str) -> str:
        shown = end_cut(given, _LONGEST_WORD)
        if name.startswith("-") or not name.isprintable():
            raise UserError(f"--diff {shown!r}: {name!r} is not the name of a commit: use A..B, A...B or A")
        found = await self._here.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if found.code != 0:
            if missing := await self._missing_history(name):
                raise UserError(f"--diff {shown}: there is no commit {name} here, and {missing}")
            raise UserError(f"--diff {shown}: there is no commit {name}: `git log --all --oneline` lists them")
        return found.line

    async def _missing_history(self, name: str) -> str:
        """Return that the repository is shallow and what fetches the rest, or an empty text if it has its history."""
        if (await self._here.run("rev-parse", "--is-shallow-repository")).line != "true":
            return ""
        remotes = (await self._here.run("remote")).line.splitlines()
        remote = next((one for one in remotes if name.startswith(f"{one}/")), remotes[0] if len(remotes) == 1 else "")
        if not remote:
            return "this clone is shallow. Fetch the rest from its remote with git fetch --unshallow"
        fetch = f"git fetch --unshallow {remote} '+refs/heads/*:refs/remotes/{remote}/*'"
        return (
            f"this clone is shallow. In a job set fetch-depth: 0 for actions/checkout, elsewhere use {fetch}, and name "
            f"branches as {remote}/main"
        )

    async def _tree(self, commit: str) -> str:
        return (await self._here.run_checked("rev-parse", "--verify", f"{commit}^{{tree}}")).line

    async def _empty_tree(self) -> str:
        return (await self._own().run_checked("mktree", more=self._store)).line

    async def _patched(self, patch: bytes, head: str | None) -> _Sides:
        """Apply a patch to an index with the files of HEAD. No file is written."""
        if not patch.strip():
            raise UserError("--patch: it is empty, so there is nothing to review")
        own = self._own()
        old = await self._tree(head) if head is not None else await self._empty_tree()
        await own.run_checked("read-tree", old, more=self._store)
        binary = await self._binary_files(patch)
        excluded = [f"--exclude={_ESCAPED.sub(lambda found: chr(92) + found[0], path)}" for path in binary]
        options = ("--cached", "--whitespace=nowarn", *(["--allow-empty", *excluded] if excluded else []))
        applied = await own.run("apply", *options, "-", stdin=patch, more=self._store)
        if applied.code != 0:
            if contained := await self._reversed(patch, head, options):
                raise UserError(contained)
            why = end_cut(applied.error.removeprefix("error: "), _LONGEST_WORD) or f"exit code {applied.code}"
            on = head[:_SHORT] if head is not None else "an empty project"
            raise UserError(f"--patch: it does not apply to {on}: {why}. Check out the commit that it was made for")
        new = (await own.run_checked("write-tree", more=self._store)).line
        on = f" on {head[:_SHORT]}" if head is not None else ""
        return _Sides(old, new, f"the changes of a patch{on}", "", head or "", binary=tuple(binary))

    async def _reversed(self, patch: bytes, head: str | None, options: Sequence[str]) -> str:
        """Return how to review a patch that HEAD contains already, or an empty text if it does not apply in reverse."""
        own = self._own()
        if head is None or (await own.run("apply", "-R", *options, "-", stdin=patch, more=self._store)).code != 0:
            return ""
        before = (await own.run_checked("write-tree", more=self._store)).line
        listed = await self._here.run_checked("log", f"--max-count={_MOST_COMMITS}", "--format=%H %T", head)
        rows = (line.split(" ") for line in listed.line.splitlines())
        base = next((commit[:_SHORT] for commit, tree in rows if tree == before), "")
        how = (
            f"--diff {base}..HEAD reviews the same change, or check out {base} first"
            if base
            else "use --diff A..B with the commits before and after it, or check out the commit before it first"
        )
        return f"--patch: HEAD ({head[:_SHORT]}) already contains this patch. {how[0].upper()}{how[1:]}"

    async def _binary_files(self, patch: bytes) -> list[str]:
        """Return the binary files of a patch: most patches say only that they differ, so they cannot be applied."""
        listed = await self._own().run("apply", "--numstat", "-z", "-", stdin=patch, more=self._store)
        rows = (os.fsdecode(row).split("\t", 2) for row in listed.out.split(b"\0"))
        return [row[2] for row in rows if len(row) == 3 and row[0] == "-"]

    async def _working_tree(self, head: str | None) -> str:
        """Return a tree of the workspace as it is on the disk, with new files that git does not ignore."""
        own = self._own()
        real = self._here.folder / await self._path("index")
        if not _copied(real, self._temp / "index") and head is not None:
            await own.run_checked("read-tree", head, more=self._store)
        listed = await own.run_checked(
            "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", more=self._store
        )
        names = [name for name in dict.fromkeys(listed.out.split(b"\0")) if name and not name.endswith(b"/")]
        if names:
            await own.run_checked(
                "update-index",
                "-z",
                "--add",
                "--remove",
                "--replace",
                "--stdin",
                stdin=b"".join(name + b"\0" for name in names),
                more=self._store,
            )
        return (await own.run_checked("write-tree", more=self._store)).line

    async def _path(self, name: str) -> str:
        return os.fsdecode((await self._here.run_checked("rev-parse", "--git-path", name)).out).rstrip("\n")

    def _own(self) -> Repository:
        return self._top.with_index(self._temp / "index")

    async def is_checked_out(self, sides: _Sides) -> bool:
        """Return whether the workspace has exactly the files of the new side."""
        return await self._working_tree(await self._here.head()) == sides.new

    async def entries(self, sides: _Sides) -> list[_Entry]:
        """Return the changed files of the whole repository."""
        names = ("diff-tree", "-r", "-z", "--raw", "-M", "--no-abbrev", "--ignore-submodules=none")
        answer = await self._top.run_checked(*names, sides.old, sides.new, more=self._store)
        return list(_entries(answer.out))

    async def files(self, entries: Sequence[_Entry], hidden: Callable[[str], str]) -> AsyncIterator[DiffFile]:
        """Yield the files with their hunks, or with the reason why they are not shown."""
        sizes = await self._sizes([one for entry in entries for one in _ids(entry)])
        whys = [_why_left_out(entry, sizes, hidden(entry.path.removeprefix(self.prefix))) for entry in entries]
        for batch in _batches(list(zip(entries, whys, strict=True)), sizes):
            contents = await self._contents([one for entry, why in batch if not why for one in _ids(entry)])
            for entry, why in batch:
                yield _file(entry, self.prefix, contents, why)

    async def _sizes(self, ids: Sequence[str]) -> dict[str, int]:
        answer = await self._top.run_checked(
            "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(ids), more=self._store
        )
        rows = (line.split(" ") for line in answer.out.decode().splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}

    async def _contents(self, ids: Sequence[str]) -> dict[str, bytes]:
        if not ids:
            return {}
        answer = await self._top.run_checked("cat-file", "--batch", stdin=_lines(ids), more=self._store)
        found: dict[str, bytes] = {}
        at = 0
        while at < len(answer.out):
            end = answer.out.index(b"\n", at)
            head = answer.out[at:end].decode().split(" ")
            at = end + 1
            if len(head) == 3:
                size = int(head[2])
                found[head[0]] = answer.out[at : at + size]
                at += size + 1
        return found

    async def copy(self, tree: str, folder: Path) -> None:
        """Write the files of a tree into a new folder. Links become plain files with their target as text."""
        own = self._own()
        _make(folder)
        try:
            await own.run_checked("read-tree", tree, more=self._store)
            plain = {"GIT_CONFIG_PARAMETERS": "'core.symlinks=false' 'core.autocrlf=false'", **self._store}
            await own.run_checked("checkout-index", "--all", "--force", f"--prefix={folder}/", more=plain)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _copied(index: Path, own: Path) -> bool:
    """Copy the index. Return False if there is none."""
    if not index.exists():
        return False
    shutil.copyfile(index, own)
    return True


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True)


def _as_list_item(path: str) -> str:
    """Quote a path for a list with `:` (git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES)."""
    if ":" not in path and not path.startswith('"'):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{one}\n" for one in dict.fromkeys(ids)).encode()


def _entries(raw: bytes) -> Iterator[_Entry]:
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if not head:
            return
        old_mode, new_mode, old_id, new_id, status = head.decode().lstrip(":").split(" ")
        old_path = os.fsdecode(next(fields))
        path = os.fsdecode(next(fields)) if status[0] in "RC" else old_path
        yield _Entry(old_mode, new_mode, old_id, new_id, status[0], old_path, path)


def _ids(entry: _Entry) -> list[str]:
    sides = ((entry.old_mode, entry.old_id), (entry.new_mode, entry.new_id))
    return [one for mode, one in sides if mode not in (_NONE, _SUBMODULE)]


def _why_left_out(entry: _Entry, sizes: Mapping[str, int], hidden: str) -> str:
    name = entry.path.rpartition("/")[2]
    if _SUBMODULE in (entry.old_mode, entry.new_mode):
        return "a submodule"
    if hidden:
        return hidden
    if not _is_utf8(entry.path) or not _is_utf8(entry.old_path):
        return "its name is not UTF-8"
    if name in _LOCK_FILES:
        return "a lock file"
    if any(fnmatchcase(name, glob) for glob in _GENERATED):
        return "a generated file"
    if missing := [one for one in _ids(entry) if one not in sizes]:
        return f"its content {missing[0][:_SHORT]} is not in this clone"
    return "larger than 2 MB" if any(sizes[one] > LARGEST for one in _ids(entry)) else ""


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _batches(entries: Sequence[tuple[_Entry, str]], sizes: Mapping[str, int]) -> Iterator[list[tuple[_Entry, str]]]:
    """Yield the entries in groups whose contents fit one answer of git."""
    batch: list[tuple[_Entry, str]] = []
    size = 0
    for entry, why in entries:
        own = 0 if why else sum(sizes[one] for one in _ids(entry))
        if batch and size + own > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append((entry, why))
        size += own
    if batch:
        yield batch


def _file(entry: _Entry, prefix: str, contents: Mapping[str, bytes], why: str) -> DiffFile:
    old, new = (contents.get(one, b"") for one in (entry.old_id, entry.new_id))
    path = _shown(entry.path.removeprefix(prefix))
    modes = (entry.old_mode, entry.new_mode)
    file = DiffFile(
        path=path,
        old_path=_shown(entry.old_path.removeprefix(prefix)) if entry.old_path != entry.path else "",
        status=_STATUS.get(entry.status, "modified"),
        modes=modes if _is_telling(*modes) else None,
        left_out=why,
    )
    if why:
        return file
    if not is_text(old, new):
        return msgspec.structs.replace(file, left_out=_BINARY)
    if entry.status == "A" and has_comments(new):
        return msgspec.structs.replace(file, left_out=_OF_REVIEW)
    return msgspec.structs.replace(file, hunks=list(_hunks(old, new)))


def has_comments(data: bytes) -> bool:
    """Return whether a file has the comments of a review, as `rundry export --format comments-json` writes them."""
    try:
        found = msgspec.json.decode(data, type=_Comments)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return found.event == "COMMENT" and found.body.startswith(COMMENTS_BEGIN)


def _shown(path: str) -> str:
    return path if _is_utf8(path) else os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_telling(old: str, new: str) -> bool:
    plain = (_NONE, "100644")
    return not (old == new or (old in plain and new in plain)) or _LINK in (old, new)


def _hunks(old: bytes, new: bytes) -> Iterator[DiffHunk]:
    parts = _split(old, new)
    for hunk in parts.hunks:
        first = hunk.changes[0]
        a1, _ = hunk.around(len(parts.old))
        b1 = max(0, first.b1 - (first.a1 - a1))
        lines = [line for text in hunk_lines(parts, hunk) for line in text.removesuffix("\n").split("\n")][1:]
        if all(line.endswith("\r") or line.startswith("\\") for line in lines):
            lines = [line.removesuffix("\r") for line in lines]
        yield DiffHunk(a1 + 1, b1 + 1, [line.replace("\r", "\\r") for line in lines])


def _split(old: bytes, new: bytes) -> Split:
    """Compare the lines. Bytes that are not UTF-8 are shown as such, so that a change of them is seen."""
    return split(*(side.decode("utf-8", "backslashreplace") for side in (old, new)))
