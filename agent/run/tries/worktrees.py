"""Make and remove the worktrees of tries and items; without a repository, they are plain folders."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import try_name
from ...workspace.checkout.clean_git import add_tracked_files
from ...workspace.git.places import places_of
from ...workspace.git.repository import GitFailed, Repository, repository_top
from ...workspace.git.worktree_refs import drop_refs_made_in
from ..passes.pass_repository import stored_state

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...journal.journal import Journal
    from ...step.resources.context import RunContext
    from ...workspace.paths import Workspace
    from ...workspace.snapshots.snapshots import Snapshots

FOLDER = "worktrees"
"""Name of the folder for worktrees, next to the folder of the journals."""


class _Command(msgspec.Struct):
    """The arguments of a tool that runs a command."""

    command: str = ""


def tries_folder(journal: Journal, facts: RunFacts, workspace: Workspace) -> Path:
    """Return the folder for the worktrees of the run: next to the journals, or in the temporary folder.

    The temporary folder is used if the journals are in the workspace.
    """
    run_id = facts.spec.run_id
    folder = Path(os.path.realpath(journal.path.parent.parent)) / FOLDER
    if folder.is_relative_to(os.path.realpath(workspace.root)):
        return Path(os.path.realpath(tempfile.gettempdir())) / f"rundry-tries-{run_id}"
    return folder / f"{run_id}.tries"


async def make_worktree(
    workspace: Workspace, snapshots: Snapshots, env: Mapping[str, str], place: Path, world: str
) -> Path:
    """Make a worktree at `place` with the files of the snapshot `world`. Returns the workspace in it.

    Raises GitFailed, SnapshotDamaged, OSError.
    """
    await asyncio.to_thread(place.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
    found = await Repository.find(workspace.root, env)
    if found is None or await found.head() is None:
        await asyncio.to_thread(place.mkdir)
        await _write_snapshot(workspace, snapshots, place, world)
        return place
    places = await places_of(found)
    root = _same_folder(workspace.root, places.top, place)
    if root == place:
        await found.run_checked("worktree", "add", "--quiet", "--detach", "--no-checkout", str(place), "HEAD")
        await found.at(place).run_checked("read-tree", "HEAD")
    else:
        await found.run_checked("worktree", "add", "--quiet", "--detach", str(place), "HEAD")
        await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)
        await asyncio.to_thread(root.mkdir, parents=True, exist_ok=True)
    await _write_snapshot(workspace, snapshots, root, world)
    await add_tracked_files(workspace.root, root, env, places.common / "objects")
    return root


async def workspace_in(workspace: Workspace, place: Path) -> Path | None:
    """Return the workspace in the worktree at `place`, or None if it does not exist."""
    top = repository_top(workspace.root)
    is_git = top is not None and (place / ".git").exists()
    root = _same_folder(workspace.root, top, place) if top is not None and is_git else place
    return root if await asyncio.to_thread(root.is_dir) else None


async def remove_worktree(ctx: RunContext, place: Path) -> None:
    """Remove the worktree, its files and the refs that were made in it."""
    try:
        found = await Repository.find(ctx.workspace.root, ctx.env)
        if found is not None:
            await _drop_refs(ctx.facts, ctx.snapshots, found, place)
            await found.run("worktree", "remove", "--force", "--force", str(place))
    except GitFailed:
        pass  # the folder is removed below; `git worktree prune` removes the entry
    await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


async def remove_all(ctx: RunContext) -> None:
    """Remove all worktrees of this run."""
    folder = tries_folder(ctx.journal, ctx.facts, ctx.workspace)
    for place in await asyncio.to_thread(_below, folder):
        await remove_worktree(ctx, place)
    await asyncio.to_thread(drop_folder, folder)


def drop_folder(folder: Path) -> None:
    """Remove the folder of the run's worktrees and its parent, if they are empty."""
    with suppress(OSError):
        folder.rmdir()
        if folder.parent.name == FOLDER:
            folder.parent.rmdir()


async def _drop_refs(facts: RunFacts, snapshots: Snapshots, found: Repository, place: Path) -> None:
    """Remove the refs that a try made. Raises GitFailed."""
    started = None if facts.pass_facts is None else facts.pass_facts.last
    if started is None or started.git is None or not await asyncio.to_thread((place / ".git").is_file):
        return
    tree = await found.open(place)
    number, _, candidate = place.name.partition(".")
    if tree is not None:
        commands = _commands_of(facts, try_name(int(number), int(candidate)))
        await drop_refs_made_in(tree, stored_state(snapshots, started.git), commands)


def _commands_of(facts: RunFacts, work: str) -> list[str]:
    """Return the command lines that the model of a try requested."""
    conversation = facts.conversations.get(work)
    calls = [] if conversation is None else [call for message in conversation.messages for call in message.calls]
    found: list[str] = []
    for call in calls:
        with suppress(msgspec.DecodeError):  # the model's arguments are invalid, so nothing ran
            found.append(msgspec.json.decode(call.arguments, type=_Command).command)
    return found


def _same_folder(workspace: Path, top: Path, place: Path) -> Path:
    """Return the folder in the worktree at `place` that corresponds to the workspace in the repository at `top`."""
    return place / os.path.relpath(os.path.realpath(workspace), os.path.realpath(top))


def _below(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


async def _write_snapshot(workspace: Workspace, snapshots: Snapshots, root: Path, world: str) -> None:
    for path in await snapshots.write_to(world, root):  # files that are too large for the snapshot store
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(shutil.copy2, workspace.root / path, root / path, follow_symlinks=False)
