"""Sort the effects of a layer by what has to be decided about them (decision 0039, table of classes).

A pure function: what it needs to know about the workspace was read before, once for the whole list (`surroundings.py`),
from the live workspace. Nothing that the command wrote makes a class weaker: its `.gitignore`, its `CACHEDIR.TAG`, its
`Cargo.toml` next to an old `target` do not count.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from ..host.protected_names import folded_name, why_cautioned, why_forbidden
from ..protocol.effects import EXECUTABLE
from ..protocol.text.counts import first_names, plural
from ..protocol.text.path_text import quoted_path
from ..repo.checkout.dependency_folders import FolderKind, dependency_kinds, output_kinds
from .git.setting_names import is_setting

if TYPE_CHECKING:
    from .layer_effects import Effect, Side

Class = Literal["protected", "git", "install", "ignored_existed", "ordinary", "built", "ignored_new", "bytecode"]
"""What a decision about an effect depends on; `classify` orders groups like this.

- `protected`: something runs it by itself, or it is a secret: asks in every mode, wherever it lies
- `git`: inside a git folder that existed, and not a setting or hook: imported, never copied
- `install`: in a dependency folder: one decision for the whole folder, in every mode
- `ignored_existed`: git has no copy: asks
- `ordinary`: by mode
- `built`: output and caches of a program: applied, not reviewed, no undo, dropped at a conflict
- `ignored_new`: ignored, and new or made by this run: applied
- `bytecode`: never applied
"""
CACHE_TAG = "CACHEDIR.TAG"
"""The file that marks a cache folder (https://bford.info/cachedir/)."""
STORED = 1_000_000
"""Bytes of a file that the journal keeps; an undo of a larger one needs the inode that an apply displaced."""
_COUNTED: tuple[Class, ...] = ("install", "ignored_new")
"""Classes whose files are counted and not shown one by one: the journal has none of their contents."""

_ORDER: tuple[Class, ...] = (
    "protected", "git", "install", "ignored_existed", "ordinary", "built", "ignored_new", "bytecode",
)  # fmt: skip
_BYTECODE = (".pyc", ".pyo")
_WHOLE: tuple[frozenset[str], ...] = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""Names that make a folder a repository for git (gitrepository-layout(5), is_git_directory in git's setup.c)."""
_READ_BY_GIT = frozenset(
    [
        *("head", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "info", "packed-refs", "index"),
        *("logs", "modules", "worktrees", "shallow", "gitdir", "branches"),
    ]
)
_NEW_REPOSITORY = "it would be a git repository here, whose settings and hooks git obeys"
_BARE = "git takes this folder for a repository, and obeys its settings and hooks"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What the classes of a list of effects depend on, as it is in the live workspace. All paths are relative to it."""

    names: Mapping[str, frozenset[str]] = {}
    """The entries of each folder on the path of an effect; the workspace itself is the empty string."""
    ignored: frozenset[str] = frozenset()
    """The effects that git ignores by the rules that hold now."""
    ignored_folders: frozenset[str] = frozenset()
    """The folders on their paths that git ignores."""
    tracked: frozenset[str] = frozenset()
    """The effects that are in the index: git does not ignore them, whatever its rules say."""
    repositories: frozenset[str] = frozenset()
    """Git folders and git files (`.git`, `sub/.git`)."""
    caches: frozenset[str] = frozenset()
    """Folders that have a valid `CACHEDIR.TAG`."""
    files: Mapping[str, str] = {}
    """Files that something starts or reads by itself, existing or not, with the reason."""
    folders: Mapping[str, str] = {}
    """The same for folders with all of their content."""
    runs_here: bool = False
    """Whether PATH contains the workspace itself."""
    leads_out: frozenset[str] = frozenset()
    """The links among the effects that lead out of the workspace."""
    made: frozenset[str] = frozenset()
    """Paths that this run made, and that nobody else changed since."""
    room: int = 0
    """Bytes that still fit into the folder of displaced files."""
    problem: str = ""
    """Why git's settings or index are not known; then everything asks."""


class ClassedEffect(NamedTuple):
    """One effect with what a person has to know."""

    effect: Effect
    why: str
    """Why it asks, or what it does by itself. Empty means nothing special."""
    undo: bool
    """Whether what it replaces can be restored later."""


class Group(NamedTuple):
    """Effects of one class that belong together."""

    kind: Class
    folder: str
    """What is decided as a whole: a dependency folder, a new repository; or the folder of build output. Else empty."""
    entries: tuple[ClassedEffect, ...]

    @property
    def title(self) -> str:
        """The group in one line, for the gate."""
        count, folder = plural(len(self.entries), "file"), quoted_path(self.folder)
        runs = sum(bool(entry.why) for entry in self.entries)
        match self.kind:
            case "protected":
                return f"{folder}: {self.entries[0].why}" if folder else f"{count} to ask about in every mode"
            case "git":
                return f"changes in the repository {folder}"
            case "install":
                careful = f", {runs} of them run by themselves or lead out" if runs else ""
                return f"install in {folder}: {count}{careful}"
            case "ignored_existed":
                return f"{count} that git ignores and has no copy of"
            case "ordinary":
                return count
            case "built":
                return f"{folder or 'output'}: {count}, built, not reviewed"
            case "ignored_new":
                files = [one.effect.path for one in self.entries if not _is_folder(one.effect)]
                paths = [quoted_path(path) for path in files or [one.effect.path for one in self.entries]]
                what = plural(len(paths), "new ignored file" if files else "new ignored folder")
                return f"{what} ({first_names(paths, 1)})"
            case "bytecode":
                return f"{count} of byte-code, dropped: Python could run them in place of their sources"


class _Decided(NamedTuple):
    kind: Class
    folder: str = ""
    why: str = ""


def classify(effects: Sequence[Effect], known: Surroundings) -> list[Group]:
    """Return the effects in groups, each effect in one of them, in the order of `Class`."""
    sorter = Sorter(effects, known)
    groups = dict[tuple[Class, str], list[ClassedEffect]]()
    room = known.room
    for effect in effects:
        found = sorter.decide(effect)
        displaced = displaced_bytes(found.kind, effect.before, effect.after)
        undo = displaced <= room and found.kind != "built"
        if undo:
            room -= displaced
        groups.setdefault((found.kind, found.folder), []).append(ClassedEffect(effect, found.why, undo))
    ordered = sorted(groups, key=lambda key: (_ORDER.index(key[0]), key[1]))
    return [Group(kind, folder, tuple(groups[kind, folder])) for kind, folder in ordered]


def displaced_bytes(kind: Class, before: Side | None, after: Side | None) -> int:
    """Return the bytes of a replaced or deleted file that only its kept inode has."""
    if before is None or before.type != "file" or kind == "built" or (before.size <= STORED and kind not in _COUNTED):
        return 0
    is_same = after is not None and after.type == "file" and after.digest == before.digest
    return 0 if is_same else before.size


class Sorter:
    """Decides one effect after the other of one list."""

    def __init__(self, effects: Sequence[Effect], known: Surroundings) -> None:
        self._known = known
        self._later = {folder: set(names) for folder, names in known.names.items()}
        """The entries of each folder once all effects were applied."""
        for effect in effects:
            folder, name = _cut(effect.path)
            if effect.after is None:
                self._later.setdefault(folder, set()).discard(name)
                continue
            while name and name not in (names := self._later.setdefault(folder, set())):
                names.add(name)
                folder, name = _cut(folder)
        self._files, self._folders = _folded(known.files), _folded(known.folders)
        named = (*self._files.items(), *self._folders.items())
        self._above = {above: why for path, why in named for above in _up(path)}
        self._bare = {folder for folder, names in self._later.items() if self._is_bare(folder, names)}
        self._dependency = dict[str, tuple[str, FolderKind | None]]()
        self._output = dict[tuple[str, bool], str]()

    def decide(self, effect: Effect) -> _Decided:
        """Return the class of an effect, what it is decided together with, and the reason."""
        path, known = effect.path, self._known
        parts = path.split("/")
        if found := self._of_git(effect, parts):
            return found
        if _is_bytecode(effect, parts):
            return _Decided("bytecode")
        if known.problem:
            return _Decided("protected", why=f"what runs by itself is not known: {known.problem}")
        is_tracked = path in known.tracked
        folder, kind = self._dependency_of(path, effect)
        why = self._why(effect, parts)
        if kind is not None and not is_tracked:
            inner = path.removeprefix(f"{folder}/").split("/")[0]
            if path == folder or inner not in kind.caches:
                return _Decided("install", folder, why)
        if why:
            return _Decided("protected", why=why)
        if is_tracked or (path not in known.ignored and kind is None):
            why = self._careful(effect)
            return _Decided("protected" if why else "ordinary", why=why)
        return self._of_ignored(effect)

    def dependency_folder(self, effect: Effect) -> str:
        """Return the dependency folder that an effect is in, or empty."""
        return self._dependency_of(effect.path, effect)[0]

    def _of_git(self, effect: Effect, parts: list[str]) -> _Decided | None:
        path, above = effect.path, _up(effect.path)
        known = next((at for at in (path, *above) if at in self._known.repositories), None)
        if known is not None:
            if path == known and (effect.after is not None or not _is_folder(effect)):
                return _Decided("protected", why="it decides which repository git uses here")
            if _is_setting(path[len(known) + 1 :]):
                return _Decided("protected", why="git obeys it: it is a hook or a setting of the repository")
            kind, _, name = path[len(known) + 1 :].partition("/")
            if kind in ("modules", "worktrees"):  # what is there already is never listed
                return _Decided("protected", f"{known}/{kind}/{name.partition('/')[0]}", _NEW_REPOSITORY)
            return _Decided("git", known)
        for at, part in enumerate(parts):
            if folded_name(part) in (".git", "git~1"):
                return _Decided("protected", "/".join(parts[: at + 1]), _NEW_REPOSITORY)
        for folder in (*above, "") if self._bare else ():
            if folder in self._bare and folded_name(path.removeprefix(f"{folder}/").split("/")[0]) in _READ_BY_GIT:
                return _Decided("protected", folder, _BARE)
        return None

    def _is_bare(self, folder: str, names: set[str]) -> bool:
        if ".git" in self._known.names.get(folder, ()):  # git looks for `.git` first
            return False
        found = {folded_name(name) for name in names if len(name) <= _LONGEST}
        return any(found >= whole for whole in _WHOLE)

    def _why(self, effect: Effect, parts: list[str]) -> str:
        """Return why an effect asks wherever it lies, or empty."""
        path, after = effect.path, effect.after
        if path in self._known.leads_out:
            return "it is a link that leads out of the workspace"
        if why := why_forbidden(parts) or why_cautioned(parts):
            return "" if self._concerns_output(path) else why
        folded = "/".join(map(folded_name, parts))
        if why := self._files.get(folded):
            return why
        if self._folders and (
            why := next((self._folders[at] for at in (folded, *_up(folded)) if at in self._folders), None)
        ):
            return why
        if after is not None and after.type != "folder" and (why := self._above.get(folded)):
            return f"another file would take the place of one below it: {why}"
        if parts[-1] == CACHE_TAG and after is not None and self._marks_older_files(path):
            return "it would mark a folder that existed as a cache, whose content goes without a question"
        is_program = after is not None and (after.executable or after.type == "link")
        if self._known.runs_here and len(parts) == 1 and is_program:
            return "programs in this folder run outside of the sandbox"
        return ""

    def _concerns_output(self, path: str) -> bool:
        """Return whether a file only says that a folder of output is ignored, as many tools write it."""
        folder, name = _cut(path)
        if name != ".gitignore" or path in self._known.tracked:
            return False
        return folder in self._known.ignored_folders or bool(self._output_folder(folder, is_own=self._is_new(folder)))

    def _marks_older_files(self, path: str) -> bool:
        folder, name = _cut(path)
        is_older = bool(self._known.names.get(folder, frozenset()) - {name}) and not self._is_new(folder)
        return is_older and (folder not in self._known.caches)

    def _careful(self, effect: Effect) -> str:
        """Return why a change of an ordinary file has effects that its path does not show (docs/attacks.md (e))."""
        if effect.before is None or effect.after is None or effect.before.type != "file":
            return ""
        if effect.links > 1:
            others = "another name" if effect.links == 2 else f"{effect.links - 1} other names"
            return f"it is a hard link: it has {others} elsewhere"
        return EXECUTABLE if effect.before.executable and effect.path not in self._known.made else ""

    def _of_ignored(self, effect: Effect) -> _Decided:
        path = effect.path
        is_own = effect.before is None or path in self._known.made
        output = self._output_of(path, effect, is_own=is_own)
        if output is not None:
            return _Decided("built", output)
        return _Decided("ignored_new") if is_own else _Decided("ignored_existed", why="git has no copy of it")

    def _dependency_of(self, path: str, effect: Effect) -> tuple[str, FolderKind | None]:
        """Return the outermost dependency folder that a path is in, or that it is, and its kind."""
        if not _is_folder(effect):
            path = _cut(path)[0]
        waiting = list[str]()
        while path and path not in self._dependency:
            waiting.append(path)
            path = _cut(path)[0]
        found = self._dependency.get(path, ("", None))
        for folder in reversed(waiting):
            if found[1] is None:
                kind = self._dependency_kind(folder)
                found = (folder, kind) if kind is not None else found
            self._dependency[folder] = found
        return found

    def _dependency_kind(self, folder: str) -> FolderKind | None:
        if why_cautioned(folder.split("/")):  # `.yarn`, `.bundle`: more than packages
            return None
        is_own = self._is_new(folder)
        return next((kind for kind in dependency_kinds() if self._fits(kind, folder, is_own=is_own)), None)

    def _fits(self, kind: FolderKind, folder: str, *, is_own: bool) -> bool:
        """Return whether a folder is of a kind. `is_own`: see `_evidence`."""
        parent, name = _cut(folder)
        if not kind.has_name(name) or (kind.siblings and not kind.is_beside(self._evidence(parent, is_own=is_own))):
            return False
        return not kind.inside or not self._evidence(folder, is_own=is_own).isdisjoint(kind.inside)

    def _evidence(self, folder: str, *, is_own: bool) -> frozenset[str]:
        """Return the names in a folder that tell of what kind it is.

        `is_own`: nothing older than this run is lost, so what this run wrote counts too.
        """
        if is_own:
            return self._known.names.get(folder, frozenset()).union(self._later.get(folder, ()))
        made, names = self._known.made, self._known.names.get(folder, frozenset())
        if not made:
            return names
        prefix = f"{folder}/" if folder else ""
        return frozenset(name for name in names if prefix + name not in made)

    def _is_new(self, path: str) -> bool:
        """Return whether a path did not exist before this run."""
        parent, name = _cut(path)
        return path != "" and (path in self._known.made or name not in self._known.names.get(parent, ()))

    def _output_of(self, path: str, effect: Effect, *, is_own: bool) -> str | None:
        """Return the folder of output that a path is in: "" if it is a file of output, None if it is neither.

        `is_own`: see `_evidence`.
        """
        folder = path if _is_folder(effect) else _cut(path)[0]
        if found := self._output_folder(folder, is_own=is_own):
            return found
        parent, name = _cut(path)
        siblings = self._evidence(parent, is_own=is_own)
        is_output = any(kind.has_name(name, is_file=True) and kind.is_beside(siblings) for kind in output_kinds())
        return "" if is_output and not _is_folder(effect) else None

    def _output_folder(self, path: str, *, is_own: bool) -> str:
        waiting = list[str]()
        while path and (path, is_own) not in self._output:
            waiting.append(path)
            path = _cut(path)[0]
        found = self._output.get((path, is_own), "")
        for folder in reversed(waiting):
            found = found or (folder if self._is_output(folder, is_own=is_own) else "")
            self._output[folder, is_own] = found
        return found

    def _is_output(self, folder: str, *, is_own: bool) -> bool:
        if folder in self._known.caches and (is_own or f"{folder}/{CACHE_TAG}" not in self._known.made):
            return True
        if is_own and CACHE_TAG in self._evidence(folder, is_own=True):
            return True
        parent, name = _cut(folder)
        above, kind = self._dependency.get(parent, ("", None))
        if kind is not None and parent == above and name in kind.caches:
            return True
        return any(self._fits(kind, folder, is_own=is_own) for kind in output_kinds())


_LONGEST = 20
"""Characters of the longest name in `_READ_BY_GIT`, with some room for invisible ones."""


def _folded(paths: Mapping[str, str]) -> dict[str, str]:
    return {"/".join(map(folded_name, path.split("/"))): why for path, why in paths.items()}


def _cut(path: str) -> tuple[str, str]:
    """Return the folder (empty means the workspace) and the name."""
    folder, _, name = path.rpartition("/")
    return folder, name


def _up(path: str) -> list[str]:
    """Return the folders above a path, the deepest first, without the workspace."""
    found = list[str]()
    while path := _cut(path)[0]:
        found.append(path)
    return found


def _is_folder(effect: Effect) -> bool:
    side: Side | None = effect.after or effect.before
    return side is not None and side.type == "folder"


def _is_setting(inner: str) -> bool:
    """Return whether a path below a git folder is a setting or a hook, of a submodule too, or names another folder."""
    parts = inner.split("/")
    if parts[0] == "commondir":
        return True
    starts = range(len(parts)) if parts[0] == "modules" else (0,)
    return any(is_setting(os.fsencode("/".join(parts[at:]))) for at in starts)


def _is_bytecode(effect: Effect, parts: list[str]) -> bool:
    """Return whether an effect adds byte-code of Python or a folder of it. What is deleted harms nobody."""
    after = effect.after
    is_compiled = parts[-1].endswith(_BYTECODE) and after is not None and after.type != "folder"
    return is_compiled or (after is not None and "__pycache__" in parts)
