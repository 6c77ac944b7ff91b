"""Run the hooks of the user's repository around rundry's commits (githooks(5))."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.files.file_states import FileState, read_state
from ..host.files.write_file import remove_any_file, write_any_file
from ..host.own_temp import temp_folder
from ..host.plain_files import read_plain
from ..protocol import RundryError
from ..repo.index_file import BadIndex, parse
from ..repo.repository import GitFailed, Repository
from .command_access import Access

if TYPE_CHECKING:
    from ..budget.time_limits import TimeLimits
    from ..host.processes.processes import Finished
    from ..host.workspace_paths import Workspace
    from .sandbox import Sandbox

COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_MOST_SHOWN = 2_000
"""Number of characters that are shown of the end of a hook's output."""
_LARGEST_MESSAGE = 1_000_000


class HookRefused(GitFailed):
    """A hook failed, or changed what would be committed. The message contains its name and output."""


async def find_hooks(repository: Repository) -> dict[str, Path]:
    """Return the hooks that `git commit` would run, by name. Raises GitFailed."""
    folder, _ = await _hook_folders(repository)
    return {
        name: folder / name for name in COMMIT_HOOKS if (folder / name).is_file() and os.access(folder / name, os.X_OK)
    }


class CommitHooks:
    """Runs the hooks of one run's repository in the sandbox, around each commit."""

    def __init__(
        self,
        sandbox: Sandbox,
        workspace: Workspace,
        env: Mapping[str, str],
        time_limits: TimeLimits,
    ) -> None:
        """`env`: the environment of commands."""
        self._sandbox, self._ws, self._env, self._time_limits = sandbox, workspace, env, time_limits
        self._notes: list[str] = []

    def take_notes(self) -> str:
        """Return notes for the user on the hooks of the last commit, once, or empty if there is none."""
        notes, self._notes = self._notes, []
        return "; ".join(notes)

    async def before(self, repository: Repository, tree: str, paths: Sequence[str], message: str) -> str:
        """Run pre-commit, prepare-commit-msg and commit-msg; return the message. Raises HookRefused, GitFailed.

        The hooks see this tree as the index. `paths`: the new files in it, which are restored if a hook changes them.
        """
        files = await asyncio.to_thread(self._states, repository.folder, paths)
        return await self._before(repository, tree, message, self._sandbox, self._ws.root, files)

    async def before_in(self, repository: Repository, tree: str, message: str, sandbox: Sandbox, view: Path) -> str:
        """Run the same hooks as `before` in a unit of work with this view and sandbox.

        The caller compares the files.
        """
        return await self._before(repository, tree, message, sandbox, view, [])

    async def _before(
        self,
        repository: Repository,
        tree: str,
        message: str,
        sandbox: Sandbox,
        root: Path,
        files: Sequence[FileState],
    ) -> str:
        hooks = await find_hooks(repository)
        if not hooks.keys() & set(COMMIT_HOOKS[:-1]):
            return message
        with temp_folder("hooks") as folder:
            index, text = folder / "index", folder / "COMMIT_EDITMSG"
            separate = repository.with_index(index)
            await separate.run_checked("read-tree", tree)
            await separate.run("update-index", "-q", "--refresh")
            listed = _entries(index, len(tree) // 2)
            text.write_text(f"{message}\n", "utf-8")
            try:
                for name, argv in (
                    ("pre-commit", []),
                    ("prepare-commit-msg", [str(text), "message"]),
                    ("commit-msg", [str(text)]),
                ):
                    if name in hooks:
                        await self._run_hook(repository, [str(hooks[name]), *argv], index, sandbox, root)
            finally:
                restored = await asyncio.to_thread(self._restore, files)
            if restored or _entries(index, len(tree) // 2) != listed:
                what = ", ".join(restored) or "the index"
                raise HookRefused(f"a hook changed {what}, and rundry commits only what was decided")
            return _message(text)

    async def after(self, repository: Repository) -> None:
        """Run post-commit. If it fails, the commit stays and a note reports the failure."""
        hook = (await find_hooks(repository)).get("post-commit")
        if hook is not None:
            try:
                await self._run_hook(repository, [str(hook)], None, self._sandbox, self._ws.root)
            except HookRefused as error:
                self._notes.append(str(error))

    async def _run_hook(
        self, repository: Repository, argv: list[str], index: Path | None, sandbox: Sandbox, root: Path
    ) -> None:
        folder, top = await _hook_folders(repository)
        more = {} if index is None else {"GIT_INDEX_FILE": str(index)}
        try:
            done = await sandbox.run(
                argv,
                root,
                Access(writable=[] if index is None else [index.parent], readable=[folder]),
                cwd=top,
                env={**self._env, **more, "GIT_EDITOR": ":"},
                timeout=self._time_limits.command_seconds,
            )
        except RundryError as error:
            raise HookRefused(f"the hook {Path(argv[0]).name} could not be started: {error}") from error
        if done.exit_code != 0:
            raise HookRefused(f"the hook {Path(argv[0]).name} failed ({_end_text(done)}){_shown(done.output)}")

    def _states(self, folder: Path, paths: Sequence[str]) -> list[FileState]:
        states: list[FileState] = []
        for path in paths:
            try:
                states.append(read_state(folder / path, beneath=self._ws.root))
            except (RundryError, OSError, ValueError):  # a link or a large file: only its index entry is compared
                continue
        return states

    def _restore(self, before: Sequence[FileState]) -> list[str]:
        """Restore files that a hook changed; return their paths. Raises HookRefused if that is not possible."""
        restored: list[str] = []
        for old in before:
            name = self._ws.relative(old.real)
            try:
                now = read_state(old.real, beneath=self._ws.root)
                if now.sha256 == old.sha256:
                    continue
                if old.exists:
                    write_any_file(self._ws, now, old.data, old.mode)
                else:
                    remove_any_file(self._ws, now)
            except (RundryError, OSError) as error:
                raise HookRefused(f"a hook changed {name}, and it cannot be restored: {error}") from error
            restored.append(name)
        return restored


async def _hook_folders(repository: Repository) -> tuple[Path, Path]:
    """Return the hooks folder and the top of the working tree. Raises GitFailed."""
    common = Path((await repository.run_checked("rev-parse", "--path-format=absolute", "--git-common-dir")).line)
    top = Path((await repository.run_checked("rev-parse", "--show-toplevel")).line)
    return (top / repository.hooks_path if repository.hooks_path else common / "hooks"), top


def _entries(index: Path, width: int) -> list[object]:
    """Return the entries of the index without stat fields. Raises HookRefused if the index is damaged."""
    try:
        return [entry.key for entry in parse(read_plain(index, 1 << 30), width)]
    except (OSError, BadIndex) as error:
        raise HookRefused(f"a hook damaged the index: {error}") from error


def _message(file: Path) -> str:
    try:
        text = read_plain(file, _LARGEST_MESSAGE).decode("utf-8", "replace").strip()
    except OSError as error:
        raise HookRefused(f"a hook damaged the commit message: {error.strerror}") from error
    if not text:
        raise HookRefused("the hooks left an empty commit message")
    return text


def _end_text(done: Finished) -> str:
    if done.exit_code is not None:
        return f"exit code {done.exit_code}"
    return f"not finished after {done.seconds:.0f} s" if done.timed_out else done.error or "not started"


def _shown(output: bytes) -> str:
    text = output.decode("utf-8", "replace").strip()
    return f": {text[-_MOST_SHOWN:]}" if text else ""
