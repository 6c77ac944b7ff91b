"""The user's git repository, in which passes are committed. Git runs without hooks, filters, network or global config.

A commit is built with plumbing commands (`update-index`, `write-tree`, `commit-tree`, `update-ref`), so that only
the given paths and one branch change.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from ..host.processes.processes import run_process
from ..host.program_search import find_program
from ..protocol import RundryError
from .user_config import CONFIG_READ, SAFE_ENV, UserConfig, read_config, settings_env

_SECONDS = 120.0
_ELSEWHERE = ("not a git repository", "must be run in a work tree")
"""What git prints outside a working tree."""
_OPERATIONS = (
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
)


class GitFailed(RundryError):
    """A git command failed. The message contains git's own message."""


class GitAnswer(NamedTuple):
    """Output and exit code of a git command."""

    code: int
    out: bytes
    error: str

    @property
    def line(self) -> str:
        """The output as text without white space around it."""
        return self.out.decode("utf-8", "surrogateescape").strip()


class Hooks(Protocol):
    """The repository's hooks, or a replacement for them."""

    async def before(self, repository: Repository, tree: str, paths: Sequence[str], message: str) -> str:
        """Return the message of the commit. Raises GitFailed if the tree may not be committed."""
        ...

    async def after(self, repository: Repository) -> None:
        """Run the hooks that follow a commit."""
        ...


class Repository:
    """The git repository that contains a folder. Every method starts git processes; nothing is cached."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        """`folder`: where git is started. All paths, given and returned, are relative to it."""
        self.folder = folder
        self._env = {name: value for name, value in env.items() if not name.startswith("GIT_")}
        self._git = find_program("git", [repository_top(folder) or folder], self._env.get("PATH"))
        self._config = UserConfig()

    @property
    def hooks_path(self) -> str | None:
        """`core.hooksPath` of the user's config, local or global, with the home folder in place of `~`."""
        return self._config.hooks_path

    @classmethod
    async def find(cls, folder: Path, env: Mapping[str, str]) -> Self | None:
        """Find the repository, or None if the folder is not in one. Raises GitFailed if git is missing or fails."""
        found = cls(folder, env)
        answer = await found.run("rev-parse", "--is-inside-work-tree", "--show-toplevel")
        if answer.code != 0 and not any(words in answer.error for words in _ELSEWHERE):
            raise GitFailed(f"{folder}: {answer.error or 'git refuses it'}")
        inside, _, top = answer.line.partition("\n")
        return found if answer.code == 0 and inside == "true" and _holds(top, folder) else None

    def at(self, folder: Path) -> Self:
        """Return the same repository, with git started in another folder of the same working tree."""
        other = copy.copy(self)
        other.folder = folder
        return other

    def with_index(self, index: Path) -> Self:
        """Return the same repository with another index file."""
        other = copy.copy(self)
        other._env = {**self._env, "GIT_INDEX_FILE": str(index)}
        return other

    def with_tree(self, git_folder: Path, tree: Path, index: Path) -> Self:
        """Return the same repository with another working tree, whose top is the folder of all paths, and index."""
        other = self.at(tree)
        places = {"GIT_DIR": git_folder, "GIT_WORK_TREE": tree, "GIT_INDEX_FILE": index}
        other._env = {**self._env, **{name: str(place) for name, place in places.items()}}
        return other

    async def open(self, folder: Path) -> Repository | None:
        """Open the repository of another folder, with that repository's own settings. Raises GitFailed."""
        return await Repository.find(folder, self._env)

    async def branch(self) -> str | None:
        """Return the current branch, or None if HEAD is detached."""
        answer = await self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        return answer.line if answer.code == 0 else None

    async def head(self) -> str | None:
        """Return the commit of HEAD, or None if there is no commit yet."""
        answer = await self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return answer.line if answer.code == 0 else None

    async def operation(self) -> str | None:
        """Return the operation in progress (`a rebase`), or None."""
        folder = Path((await self.run_checked("rev-parse", "--absolute-git-dir")).line)
        return await asyncio.to_thread(_operation, folder)

    async def commit(self, paths: Sequence[str], message: str, hooks: Hooks | None = None) -> str | None:
        """Commit these files as they are on the disk, on the current branch. Return the id of the commit.

        Returns None if there was nothing to commit. Ignored files are left out. Raises GitFailed if nothing was
        committed.
        """
        head = await self.head()
        tree = await self.stage(paths)
        if head is not None and tree == (await self.run_checked("rev-parse", f"{head}^{{tree}}")).line:
            return None
        if hooks is not None:
            message = await hooks.before(self, tree, paths, message)
        new = await self.commit_tree(tree, head, message)
        await self.run_checked("update-ref", "-m", f"rundry: {message.splitlines()[0]}", "HEAD", new, head or "")
        if hooks is not None:
            await hooks.after(self)
        return new

    async def stage(self, paths: Sequence[str]) -> str:
        """Stage these files as they are on the disk, except for ignored ones. Return the id of the tree."""
        names = await self.without_ignored(paths)
        if names:
            await self._refuse_filters(names)
            await self.run_checked(
                "update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=_joined(names)
            )
        return (await self.run_checked("write-tree")).line

    async def commit_tree(self, tree: str, parent: str | None, message: str) -> str:
        """Make a commit that no ref names yet. Return its id."""
        parents = () if parent is None else ("-p", parent)
        return (await self.run_checked("commit-tree", tree, *parents, "-F", "-", stdin=_message(message))).line

    async def unstage(self, paths: Sequence[str]) -> None:
        """Reset these files in the index to the last commit. The files themselves do not change."""
        if paths and await self.head() is not None:
            await self.run(
                "reset", "--quiet", "HEAD", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=_joined(paths)
            )

    async def add_worktree(self, place: Path, branch: str) -> None:
        """Add a working tree on a new branch from HEAD; this one does not change. Raises GitFailed."""
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        await self.run_checked("worktree", "add", "--quiet", "-b", branch, str(place), "HEAD")

    async def without_ignored(self, paths: Sequence[str]) -> list[str]:
        """Return the paths without those that git ignores and does not track."""
        if not paths:
            return []
        named = _joined(
            [f"./{path}" for path in paths]
        )  # check-ignore has no literal pathspecs, and a leading `:` is magic
        answer = await self.run("check-ignore", "-z", "--stdin", stdin=named, literal=False)
        if answer.code not in (0, 1):
            raise GitFailed(f"git check-ignore: {answer.error}")
        ignored = {os.fsdecode(name).removeprefix("./") for name in answer.out.split(b"\0") if name}
        return [path for path in paths if path not in ignored]

    async def _refuse_filters(self, paths: Sequence[str]) -> None:
        """Raise GitFailed for files with a filter (`git lfs`): without it, git would commit other bytes."""
        answer = await self.run_checked("check-attr", "-z", "--stdin", "filter", stdin=_joined(paths))
        fields = answer.out.split(b"\0")
        for name, value in zip(fields[0::3], fields[2::3], strict=False):
            if value not in (b"unspecified", b"unset"):
                raise GitFailed(
                    f"{os.fsdecode(name)} goes through the git filter `{os.fsdecode(value)}`, and rundry runs none"
                )

    async def _read_settings(self) -> None:
        answer = await self._start_git(["config", "--includes", "-z", "--get-regexp", CONFIG_READ], self._env, None)
        self._config = read_config(answer.out, self._env.get("HOME"))

    async def run_checked(
        self, *argv: str, stdin: bytes | None = None, more: Mapping[str, str] | None = None
    ) -> GitAnswer:
        """Run git. Raises GitFailed if the exit code is not 0."""
        answer = await self.run(*argv, stdin=stdin, more=more)
        if answer.code != 0:
            raise GitFailed(f"git {argv[0]}: {answer.error or f'exit code {answer.code}'}")
        return answer

    async def run(
        self, *argv: str, stdin: bytes | None = None, literal: bool = True, more: Mapping[str, str] | None = None
    ) -> GitAnswer:
        """Run git, also if it fails. `more`: additional variables. Raises GitFailed if git cannot run.

        The settings are read again each time: a command may have added a filter or a hook to the repository's config.
        """
        await self._read_settings()
        env = {
            **self._env,
            **self._config.identity,
            **settings_env(self._config.settings),
            "GIT_LITERAL_PATHSPECS": "1" if literal else "0",
            **SAFE_ENV,
            **(more or {}),
        }
        return await self._start_git(list(argv), env, stdin)

    async def _start_git(self, argv: list[str], env: Mapping[str, str], stdin: bytes | None) -> GitAnswer:
        if self._git is None:
            raise GitFailed("git is not on the PATH outside of the workspace: install it")
        done = await run_process(
            [str(self._git), *argv],
            cwd=self.folder,
            env={**env, "LC_ALL": "C"},
            timeout=_SECONDS,
            stdin=stdin or b"",
            separate_errors=True,
        )
        if done.exit_code is None:
            raise GitFailed(
                f"git {argv[0]} did not end in {_SECONDS:.0f} s" if done.timed_out else f"git: {done.error}"
            )
        error = " ".join(done.errors.decode("utf-8", "replace").split()).removeprefix("fatal: ")
        return GitAnswer(done.exit_code, done.full, error)


def repository_top(folder: Path) -> Path | None:
    """Return the nearest folder at or above this one that contains `.git`, or None. Does not start git."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


def _operation(folder: Path) -> str | None:
    return next((what for name, what in _OPERATIONS if (folder / name).exists()), None)


def _holds(top: str, folder: Path) -> bool:
    """Return whether the working tree contains the folder: `core.worktree` may name another place."""
    return os.path.commonpath([os.path.realpath(top), os.path.realpath(folder)]) == os.path.realpath(top)


def _joined(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _message(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\n"
