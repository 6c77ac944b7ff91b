"""Make a clean checkout of a run's result: only the files that its check needs."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...host.file_errors import SnapshotDamaged, StaleFile
from ...host.ignored_files import Ignore
from ...host.own_temp import own_temp, remove_entry
from ...host.workspace_paths import Workspace
from ...journal.encoding import recorded_text
from ...layers.effect_rows import decode_rows
from ...layers.layer_effects import IN_MEMORY, Side
from ...layers.present import Present
from ...repo.checkout.clean_git import OBJECTS, activate_submodules, add_tracked_files, create_git_folder
from ...repo.checkout.copy_files import copy_files
from ...repo.checkout.dependency_folders import first_backlink
from ...repo.repository import GitFailed
from ...sandbox.bubblewrap import Stage
from .checkout_failed import CheckoutFailed
from .dependencies import Mounted, unchanged

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...layers.judge_view_files import Past
    from ...repo.old_snapshots.snapshots import Snapshots
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.run_facts import RunFacts
    from ...state.facts.standing_changes import Changes
    from ...verdict.judge.judge_view import ViewContent


_NAMED = 3


class Stored(NamedTuple):
    """A result that is in the snapshots of its run."""

    snapshots: Snapshots
    tree: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run that is to be confirmed, and the parts of the run that this needs."""

    journal: Journal
    facts: RunFacts
    workspace: Workspace
    sandbox: Sandbox
    env: Mapping[str, str]
    """The environment of checks."""
    stored: Stored | None = None
    """The snapshot of the result. None means that it is in the workspace."""
    is_live: bool = False
    """Whether the run has not ended; else its workspace may have changed since."""
    content: ViewContent | None = None
    """What the checkout has instead of undecided changes, or None if nothing was judged."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The workspace, sandbox and environment in which a check runs."""

    workspace: Workspace
    """The workspace as the check sees it: at the original path if the sandbox can mount it there."""
    sandbox: Sandbox
    env: Mapping[str, str]
    original: Path | None
    """Path of the original workspace if a check can access it. None means that the checkout is mounted in its place."""


class _Owner:
    """The owner of a temporary folder, which is removed with it."""


@asynccontextmanager
async def checkout(result: Result) -> AsyncGenerator[Checkout]:
    """Make a checkout in a private temporary folder, and remove it on exit. Raises CheckoutFailed."""
    owner = _Owner()
    folder = own_temp(owner) / (result.workspace.root.name or "workspace")
    try:
        try:
            made = await _made(result, folder)
        except OSError as error:
            raise CheckoutFailed(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error
        except (GitFailed, SnapshotDamaged, StaleFile) as error:
            raise CheckoutFailed(str(error)) from error
        yield made
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        del owner


async def _made(result: Result, folder: Path) -> Checkout:
    root = result.workspace.root
    if result.stored is None:
        await asyncio.to_thread(_refuse_other_files, result)
    mounted = Mounted()
    if root.is_dir():
        mounted = await asyncio.to_thread(unchanged, result.journal, result.facts, root)
    elif result.facts.verdicts.dependencies is not None and result.facts.verdicts.dependencies.folders:
        raise CheckoutFailed(f"the workspace {root} no longer exists, nor do its dependency folders")
    at_original_path = root.is_dir() and result.sandbox.kind == "bubblewrap"
    if not at_original_path:
        await asyncio.to_thread(_refuse_elsewhere, result, mounted)
    await asyncio.to_thread(folder.mkdir)
    await _write_files(result, folder)
    seen = root if at_original_path else folder
    mounts = [(root / path, seen / path) for path in mounted.paths]
    mounts += await _write_git(result, folder, seen)
    if result.sandbox.kind == "landlock":
        await asyncio.to_thread(_link, root, folder, mounted.paths)
    stage = Stage(folder, tuple(mounts), tuple(seen / path for path in mounted.empty))
    sandbox = result.sandbox.staged(stage, [] if at_original_path else [root])
    return Checkout(Workspace(seen), sandbox, result.env, None if at_original_path else root)


def _refuse_other_files(result: Result) -> None:
    """Raise CheckoutFailed if the workspace does not have the result of the run."""
    root, changes = result.workspace.root, result.facts.changes
    if not root.is_dir():
        raise CheckoutFailed(f"the workspace {root} no longer exists")
    if result.is_live:
        return
    if changes.stage is not None and len(changes.in_stage):
        raise CheckoutFailed("what the run changed is not in the workspace: `rundry apply` applies it")
    try:
        changed = _changed_since(result.journal, changes, root)
    except KeyError:
        raise CheckoutFailed("the journal does not contain what the run changed") from None
    if changed:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        raise CheckoutFailed(f"{', '.join(changed[:_NAMED])}{more} changed since the run ended")


async def _write_files(result: Result, folder: Path) -> None:
    """Write the files of the result."""
    stored = result.stored
    if stored is None:
        await asyncio.to_thread(copy_files, result.workspace, folder)
    elif large := await stored.snapshots.write_to(stored.tree, folder):
        raise CheckoutFailed(f"{large[0]} is too large for a snapshot")
    if result.content is not None:
        await asyncio.to_thread(_write_past, result.content.past, folder)


def _write_past(past: Mapping[str, Past | None], folder: Path) -> None:
    """Restore these paths of a checkout; None stands for a path where nothing was. No process runs in it.

    Raises OSError.
    """
    for path, was in sorted(past.items()):
        place = folder / path
        if any((folder / above).is_symlink() for above in Path(path).parents):
            raise OSError(errno.ELOOP, "a link is on its way", path)
        if os.path.lexists(place) and not (was is not None and was.type == "folder" and place.is_dir()):
            remove_entry(place)
        if was is None:
            continue
        (place if was.type == "folder" else place.parent).mkdir(parents=True, exist_ok=True)
        if was.type == "link":
            place.symlink_to(os.fsdecode(was.data))
        elif was.type == "file":
            if was.source is not None:
                shutil.copyfile(was.source, place)
            else:
                place.write_bytes(was.data)
            place.chmod(0o755 if was.executable else 0o644)


async def _write_git(result: Result, folder: Path, seen: Path, below: str = "") -> list[tuple[Path, Path]]:
    """Make a repository in the checkout for the workspace and for each of its submodules. Returns the mounts they need.

    `below`: path of a submodule. Empty means the workspace itself.
    """
    root, place, shown = (each / below for each in (result.workspace.root, folder, seen))
    own = await create_git_folder(root, place, result.env, shown / OBJECTS if seen == result.workspace.root else None)
    if own is None:
        return []
    await add_tracked_files(root if result.stored is None else None, place, result.env, own)
    mounts = [(own, shown / OBJECTS)]
    for path in await activate_submodules(root, place, result.env, own):
        mounts += await _write_git(result, folder, seen, os.path.join(below, path))  # noqa: PTH118 - a relative text
    return mounts


def _link(root: Path, folder: Path, paths: Sequence[str]) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(os.path.realpath(root / path))


def _refuse_elsewhere(result: Result, mounted: Mounted) -> None:
    """Raise CheckoutFailed if the check must run at another path and its dependencies do not allow this."""
    root, kind = result.workspace.root, result.sandbox.kind
    if mounted.paths and kind is None:
        raise CheckoutFailed(
            f"no sandbox can mount {mounted.paths[0]} read-only ({result.sandbox.why_none or 'none works'})"
        )
    if mounted.empty:
        raise CheckoutFailed(f"{mounted.empty[0]} contains caches, and only bubblewrap can hide them")
    for path in mounted.paths:
        if (found := first_backlink(root / path, root)) is not None:
            raise CheckoutFailed(f"{path}/{found} leads back to the workspace, and only bubblewrap can replace that")


def _changed_since(journal: Journal, changes: Changes, root: Path) -> list[str]:
    """Return the files that the run changed and somebody else changed since, sorted.

    Raises OSError if the workspace cannot be opened, and KeyError if the journal lacks what a command changed.
    """
    wanted = _as_left(journal, changes, Ignore(root))
    found = Present(root).sides(sorted(wanted))
    return [recorded_text(path) for path, now in found if (None if now is None else now.digest) not in wanted[path]]


def _as_left(journal: Journal, changes: Changes, ignore: Ignore) -> dict[str, set[str | None]]:
    """Return the digests that each file may have.

    Returns None if it may be missing. What is ignored was built or installed.
    """
    newest = dict[str, Side | None]()
    for blob in changes.orders:
        newest.update((row.path, row.after) for row in decode_rows(journal.blobs.load(blob)))
    paths = {recorded_text(path): path for path in newest}
    wanted = dict[str, set[str | None]]()
    for change in changes.standing:
        effects = change.effects
        for number, row in enumerate([] if effects is None else decode_rows(journal.blobs.load(effects.rows))):
            is_counted = effects is not None and number >= effects.shown and number not in effects.failed
            is_folder = all(side is None or side.type == "folder" for side in (row.before, row.after))
            if is_counted and not is_folder and not ignore.ignored(row.path):
                wanted[row.path] = {None if row.after is None else row.after.digest}
    for name, (_, after) in changes.files.items():
        if name in changes.staged:
            continue
        path = paths.get(name, name)
        row = newest.get(path)
        is_large = after is None and row is not None and row.size > IN_MEMORY  # the journal has not its bytes
        wanted[path] = {after, row.digest} if is_large and row is not None else {after}
    return wanted
