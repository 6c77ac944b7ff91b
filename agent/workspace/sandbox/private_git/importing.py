"""Import the changes in a command's private git folder into the user's repository, as untrusted data."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .index_file import BadIndex, parse, render
from .objects import Objects, TooMany, pack_of
from .real_git import RealGit, RealGitFailed
from .refs import ID, is_importable, is_log, log_ids, read_log, read_refs
from .replacing import replace_file, replace_locked
from .state import STASH_LOG, RepositoryState, has_form, id_width, index_digest, read_index

if TYPE_CHECKING:
    from ...leftovers.record import Leftovers
    from .folders import GitFolders

KEPT_AS = "refs/rundry/conflict/"
"""Prefix for a command's version of a ref that the user changed meanwhile."""
_ZERO = "0"
_MOST_NAMED = 5


class Importer:
    """One import. `lines` names the changes that were not imported, and why."""

    def __init__(
        self, real: GitFolders, private: GitFolders, git: RealGit, base: RepositoryState, leftovers: Leftovers
    ) -> None:
        self._real, self._private, self._git, self._base = real, private, git, base
        self._leftovers = leftovers
        self.lines: list[str] = []
        self.is_damaged = False
        """Whether objects are damaged, so that the private folder must be made again."""

    def run(self, made: RepositoryState, now: RepositoryState, objects: Objects) -> None:
        """Import objects, refs, HEAD, the index, files of an operation and reflogs.

        `made`: state of the private folder. `now`: state of the user's repository.
        """
        if not self._import_objects(objects, id_width(made)):
            self.is_damaged = True
            return
        logs = {name: _bytes_of(self._real.common / "logs" / name) for name in self._changed_refs(made)}
        head_log = _bytes_of(self._real.own / "logs/HEAD")
        moved = self._import_refs(made, now)
        is_moved = self._import_head(made, now)
        if made.index != self._base.index:
            self._import_index(now, id_width(made))
        self._import_files(made, now)
        for name in moved:
            self._import_log(self._private.common / "logs" / name, self._real.common / "logs" / name, logs[name])
        if is_moved or made.head in {f"ref: {name}" for name in moved}:
            self._import_log(self._private.own / "logs/HEAD", self._real.own / "logs/HEAD", head_log)

    def keep_aside(self, made: RepositoryState, now: RepositoryState, objects: Objects) -> None:
        """Import the objects, and keep each changed branch, tag and detached HEAD below `KEPT_AS`. Change nothing else.

        This is for a command that changed a rebase, `git am`, series of picks or bisection of the user.
        """
        if not self._import_objects(objects, id_width(made)):
            return
        values = {name: made.refs[name] for name in self._changed_refs(made) if name in made.refs}
        if made.head != self._base.head and ID.fullmatch(made.head):
            values["HEAD"] = made.head
        kept = list[str]()
        for name, value in values.items():
            is_commit = ID.fullmatch(value) and (name == "HEAD" or is_importable(name))
            place = f"{KEPT_AS}{name.removeprefix('refs/')}-{value[:8]}"
            if is_commit and (now.refs.get(place) == value or self._set_ref(place, value, now.refs.get(place, ""))):
                kept.append(place)
        told = f"; the command's commits are at {_named(kept)}" if kept else ""
        self.lines.append(
            "the user has a rebase, am, cherry-pick, revert or bisect in progress, and it changed during the command: "
            f".git stays as the user left it{told}"
        )

    def _import_objects(self, objects: Objects, width: int) -> bool:
        """Return False if the objects are invalid: then nothing that names them may be imported."""
        loose, packs = objects.new_loose(), objects.new_packs()
        try:
            for pack in packs:
                descriptor = os.open(pack, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                with os.fdopen(descriptor, "rb") as file:
                    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                        raise RealGitFailed(f"{pack.name} is not a file")
                    self._git.run("index-pack", "--strict", "--fix-thin", "--stdin", stdin=file)
            if loose:
                self._git.run("unpack-objects", "-q", "--strict", stdin=pack_of(loose, width))
        except (OSError, RealGitFailed, TooMany) as error:
            self.lines.append(f"the changes in .git were not imported, because new objects are invalid: {error}")
            return False
        objects.imported(loose, packs)
        return True

    def _changed_refs(self, made: RepositoryState) -> list[str]:
        before, after = self._base.refs, made.refs
        return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]

    def _import_refs(self, made: RepositoryState, now: RepositoryState) -> list[str]:
        """Return the names of the refs that were set."""
        orders, moved, refused = list[tuple[str, str, str]](), list[str](), list[str]()
        for name in self._changed_refs(made):
            new, old, current = (state.refs.get(name, "") for state in (made, self._base, now))
            values = [value for value in (new, old) if value]
            if not is_importable(name) or not all(ID.fullmatch(value) for value in values):
                refused.append(name)
            elif current == old:
                orders.append((name, new, old))
            elif new and current != new:
                kept = f"{KEPT_AS}{name.removeprefix('refs/')}-{new[:8]}"
                orders.append((kept, new, now.refs.get(kept, "")))
                self.lines.append(f"{name} was changed by another program meanwhile: the command's commit is at {kept}")
        if refused:
            self.lines.append(f"not imported into .git: {_named(refused)} (only branches, tags, notes and stashes are)")
        # Deletions come first, because a branch can be replaced by one below it (`a` by `a/b`).
        for name, new, old in sorted(orders, key=lambda order: bool(order[1])):
            if self._set_ref(name, new, old) and not name.startswith(KEPT_AS):
                moved.append(name)
        return moved

    def _set_ref(self, name: str, new: str, old: str) -> bool:
        zero = _ZERO * len(new or old)
        order = f"update {name}\0{new}\0{old or zero}\0" if new else f"delete {name}\0{old}\0"
        more = ["--create-reflog"] if name == "refs/stash" else []
        argv = ("update-ref", "-m", "rundry: import", *more, "--no-deref", "-z", "--stdin")
        try:
            self._git.run(*argv, stdin=order.encode("utf-8", "surrogateescape"))
        except RealGitFailed as error:
            self.lines.append(f"{name} was not imported: {error}")
            return False
        return True

    def _import_head(self, made: RepositoryState, now: RepositoryState) -> bool:
        """Import HEAD. Return whether it changed."""
        if made.head == self._base.head:
            return False
        if now.head != self._base.head or not made.head:
            if now.head != made.head:
                self.lines.append("HEAD was not imported: another program changed it meanwhile, or it is damaged")
            return False
        try:
            if ID.fullmatch(made.head):
                self._git.run("update-ref", "--no-deref", "-m", "rundry: import", "HEAD", made.head)
            else:
                self._git.run("symbolic-ref", "-m", "rundry: import", "HEAD", made.head.removeprefix("ref: "))
        except RealGitFailed as error:
            self.lines.append(f"HEAD was not imported: {error}")
            return False
        return True

    def _import_index(self, now: RepositoryState, width: int) -> None:
        if now.index != self._base.index:
            self.lines.append("the index was not imported: another program changed it meanwhile")
            return
        data = read_index(self._private)
        try:
            checked = render(parse(data, width), width) if data else b""
        except BadIndex as error:
            self.lines.append(f"the index was not imported: {error}")
            return
        index = self._real.own / "index"

        def is_unchanged() -> bool:
            return index_digest(read_index(self._real)) == self._base.index

        try:
            if not replace_locked(index, checked, self._leftovers, is_unchanged):
                self.lines.append("the index was not imported: another program changed it meanwhile")
        except FileExistsError:
            self.lines.append(f"the index was not imported: another git process holds {index}.lock")

    def _import_files(self, made: RepositoryState, now: RepositoryState) -> None:
        for name in sorted({*self._base.files, *made.files}):
            new, old, current = (state.files.get(name) for state in (made, self._base, now))
            if new == old or current == new:
                continue
            if current != old:
                self.lines.append(f".git/{name} was not imported: another program changed it meanwhile")
            elif new is not None and not (has_form(name, new) and self._all_there(name, new)):
                self.lines.append(f".git/{name} was not imported: it is not in the format that git writes")
            else:
                self._set_file(name, new, made)

    def _set_file(self, name: str, data: bytes | None, made: RepositoryState) -> None:
        place = (self._real.common if name == STASH_LOG else self._real.own) / name
        if name == STASH_LOG and read_refs(self._real.common).get("refs/stash") != made.refs.get("refs/stash"):
            return  # the ref was not imported, and a line reports that already
        if data is None:
            place.unlink(missing_ok=True)
        else:
            replace_file(place, data, self._leftovers)

    def _all_there(self, name: str, data: bytes) -> bool:
        """Return whether all commits of a list of stashes exist."""
        if name != STASH_LOG:
            return True
        asked = "".join(f"{value}\n" for value in log_ids(data)).encode()
        try:
            return b" missing" not in self._git.run("cat-file", "--batch-check", stdin=asked)
        except RealGitFailed:
            return False

    def _import_log(self, source: Path, target: Path, before: bytes) -> None:
        """Replace the line that setting the ref wrote with the lines that the command added."""
        made = read_log(source)
        if made is not None and made != before and made.startswith(before) and is_log(made[len(before) :]):
            replace_file(target, made, self._leftovers)


def _bytes_of(file: Path) -> bytes:
    with suppress(OSError):
        return file.read_bytes()
    return b""


def _named(names: list[str]) -> str:
    shown = ", ".join(
        "".join(character for character in name if character.isprintable())[:100] for name in names[:_MOST_NAMED]
    )
    return shown + (f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else "")
