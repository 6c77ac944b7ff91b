"""What a layer's git folders gained, as rows: each can be shown, accepted, carried out, repeated and taken back.

A row is done if the repository already is as it should be, is carried out if it is as it was, and is a conflict
otherwise.
"""

from __future__ import annotations

import re

import msgspec

_WORDS = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_RUNS = re.compile(rb"^\s*(?:exec|x)\s+(.+)$", re.MULTILINE)
TODO_FILES = ("git-rebase-todo", "git-rebase-todo.backup")


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    tree: str = ""
    """The git folder of a linked working tree, below the repository's (`worktrees/x`). Empty means the repository's."""
    conflict: str = ""
    """Why the row cannot be carried out, or empty if nothing is known."""


class RefRow(_Row, frozen=True, kw_only=True, tag="ref"):
    """A branch, tag, remote-tracking branch or note. Empty means that it does not exist."""

    name: str
    before: str
    after: str

    @property
    def inverse(self) -> RefRow:
        """The row that takes this one back."""
        return msgspec.structs.replace(self, before=self.after, after=self.before)

    @property
    def ids(self) -> tuple[str, ...]:
        """The objects that it needs."""
        return (self.after,) if self.after else ()


class HeadRow(_Row, frozen=True, kw_only=True, tag="head"):
    """HEAD of a working tree: `ref: refs/heads/x`, or a commit. Twice the same: other rows need it to stay."""

    before: str
    after: str

    @property
    def inverse(self) -> HeadRow:
        """The row that takes this one back."""
        return msgspec.structs.replace(self, before=self.after, after=self.before)

    @property
    def ids(self) -> tuple[str, ...]:
        """The objects that it needs."""
        return () if self.after.startswith("ref:") else (self.after,)


class StashRow(_Row, frozen=True, kw_only=True, tag="stash"):
    """An entry of the stash that was made or dropped."""

    commit: str
    who: str
    """Name, address, time in seconds and time zone, as in a reflog."""
    message: str
    is_new: bool

    @property
    def inverse(self) -> StashRow:
        """The row that takes this one back."""
        return msgspec.structs.replace(self, is_new=not self.is_new)

    @property
    def ids(self) -> tuple[str, ...]:
        """The objects that it needs."""
        return (self.commit,) if self.is_new else ()


class Staged(msgspec.Struct, frozen=True, array_like=True, order=True):
    """What the index has for a path. `stage`: 1 to 3 of a conflict (base, ours, theirs), else 0."""

    stage: int
    mode: str
    id: str


class IndexRow(_Row, frozen=True, kw_only=True, tag="index"):
    """A path of the index. Empty means that it has none."""

    path: bytes
    """Relative to the top of the working tree."""
    before: tuple[Staged, ...]
    after: tuple[Staged, ...]

    @property
    def inverse(self) -> IndexRow:
        """The row that takes this one back."""
        return msgspec.structs.replace(self, before=self.after, after=self.before)

    @property
    def ids(self) -> tuple[str, ...]:
        """The objects that it needs. The commits of submodules lie in other repositories."""
        return tuple(one.id for one in self.after if one.mode != "160000")


class StateRow(_Row, frozen=True, kw_only=True, tag="operation"):
    """The files of an operation: of a merge, rebase, series of picks or bisection, or what they leave (`ORIG_HEAD`)."""

    what: str
    """What is in progress afterwards (`a rebase`). Empty means nothing."""
    before: dict[str, bytes]
    """Files by their path below the git folder, all of them. Twice the same: other rows need it to stay."""
    after: dict[str, bytes]

    @property
    def inverse(self) -> StateRow:
        """The row that takes this one back."""
        return msgspec.structs.replace(self, what="", before=self.after, after=self.before)

    @property
    def ids(self) -> tuple[str, ...]:
        """The objects that it needs; some of what looks like one may be none."""
        return ()

    @property
    def mentioned(self) -> set[str]:
        """What looks like the name of an object."""
        return {found.decode() for data in self.after.values() for found in _WORDS.findall(data)}

    @property
    def runs(self) -> tuple[str, ...]:
        """Commands that git runs when the operation is continued (git-rebase(1), `exec`)."""
        texts = [data for name, data in self.after.items() if name.rpartition("/")[2] in TODO_FILES]
        return tuple(command for text in texts for command in commands_of_rebase(text))


GitRow = RefRow | HeadRow | StashRow | IndexRow | StateRow


class NewLines(msgspec.Struct, frozen=True, array_like=True):
    """Lines of a reflog, without control characters."""

    after: int
    """How many lines of the repository's come before."""
    lines: tuple[str, ...]


class Commits(msgspec.Struct, frozen=True, array_like=True):
    """The commits that a branch gains and loses, as git told of them in the sandbox: shown, and never decided by."""

    gained: int
    lost: int
    subjects: tuple[str, ...]
    """The first lines of the newest gained ones, the newest first, without control characters."""
    paths: tuple[bytes, ...] = ()
    """The files that the gained ones change, in their order."""


class GitChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What one repository gained in a layer. It can be stored with msgspec."""

    common: bytes
    """The repository's git folder."""
    trees: tuple[str, ...] = ("",)
    """The working trees in the workspace, as in the rows."""
    rows: tuple[GitRow, ...] = ()
    logs: dict[str, NewLines] = {}
    """New lines of reflogs by their path below the git folder."""
    not_taken: tuple[str, ...] = ()
    """What is never taken over, and why."""
    pack: bytes = b""
    """A pack with the new objects, which nothing has checked yet, or empty if there are none."""
    large: bytes = b""
    """A folder with new files of git-lfs, each named by its digest, or empty if there are none."""
    commits: dict[str, Commits] = {}
    """By the name of a branch, or `HEAD` if it is detached."""


def commands_of_rebase(todo: bytes) -> list[str]:
    """Return the commands in the todo list of a rebase, which `git rebase --continue` executes."""
    return [found.decode("utf-8", "replace") for found in _RUNS.findall(todo)]


def inverse(rows: tuple[GitRow, ...]) -> tuple[GitRow, ...]:
    """Return the rows that take these back."""
    return tuple(row.inverse for row in reversed(rows))


def key_of(row: GitRow) -> tuple[str, str, object]:
    """Return what a row is about, in its repository."""
    match row:
        case RefRow():
            return row.tree, "ref", row.name
        case HeadRow():
            return row.tree, "head", ""
        case StashRow():
            return "", "stash", row.commit
        case IndexRow():
            return row.tree, "index", row.path
        case StateRow():
            return row.tree, "operation", ""


def is_idle(row: GitRow) -> bool:
    """Return whether a row changes nothing, and only says that something has to stay."""
    return not isinstance(row, StashRow) and row.before == row.after
