"""The view of a judge: the workspace in a layer of its own, without the changes that nobody decided on.

Where there are no layers, it is a copy of the workspace.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...host.workspace_paths import Workspace
from ...layers.effect_rows import EffectRow
from ...layers.git.git_in_layer import InsideFailed
from ...layers.git.take_back import git_past, take_back
from ...layers.judge_view_files import JUDGE, Past, overwritten_in_copy, put_in_copy, put_past, put_start_in_copy
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.open_below import open_below
from ...layers.overwritten import entries_in, overwritten
from ...layers.remedies import LayerRefused
from ...layers.workspace_copies import CopyLayer
from .decided import above_of, is_same_file
from .opened import OpenedFiles
from .past_files import PathPast

if TYPE_CHECKING:
    from ...layers.git.git_rows import GitChanges
    from ...layers.layer import Layer
    from ...layers.run_layers import Listed, RunLayers
    from ...sandbox.command_access import LayerAccess
    from ...sandbox.sandbox import Sandbox
    from .decided import Decided
    from .past_files import Contents
    from .setup_layers import Fresh

_PIECE = 1 << 20
_OUTPUT = frozenset({"built", "bytecode"})
"""Classes of effects that builds and caches write."""


class ViewFailed(Exception):
    """The view cannot be made. The message says why."""


class JudgeView:
    """One view, for one run of the checks. It is closed by `open_view`."""

    def __init__(self, layers: RunLayers, layer: Layer, access: LayerAccess, sandbox: Sandbox, network: int) -> None:
        """`layer` is mounted, or a prepared copy. `access`: how a check enters it. `sandbox`: has a temp folder of its
        own. `network`: a descriptor of its own network; -1: the sandbox makes one.
        """
        self._layers, self._layer, self._access, self._network = layers, layer, access, network
        self.sandbox = sandbox
        self.workspace = layers.workspace if layer.copy is None else _workspace_of(layer.copy, layers.workspace, layer)
        """The workspace for a check: at the path of the user's, or in a copy."""
        self._watch = layer.watch()
        self._before = {} if layer.copy is not None else entries_in(layer)
        self._opened = OpenedFiles(self.root)

    @property
    def access(self) -> LayerAccess:
        """How a check enters the view."""
        return replace(self._access, begin=self._watch.begin)

    @property
    def root(self) -> Path:
        """Where this process reads and writes the workspace of the view."""
        return Path(f"/proc/self/fd/{self._layer.root}")

    @property
    def reached(self) -> str:
        """The limit for which a check was ended. Empty means none."""
        return self._watch.reached

    def opened(self) -> frozenset[str] | None:
        """Stop noting what is opened in it, and return these files, without new ones.

        Returns None if it is not known.
        """
        return self._opened.stop()

    def overwritten(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the files that were in the view and that the checks wrote, without output. Nothing runs in it now.

        Each has the digest of its content now, or empty if it was deleted. `env`: the user's environment. Raises
        ViewFailed.
        """
        try:
            listed = self._layers.listed(self._layer, env)
            layer = self._layer
            found = overwritten_in_copy(layer) if isinstance(layer, CopyLayer) else overwritten(layer, self._before)
        except (Occupied, NamespacesRefused, TooMuch, OSError) as error:
            raise ViewFailed(f"it is not known what the check wrote: {error}") from error
        built = set(_paths(listed))
        return {path: digest for path, digest in found.items() if path not in built and not path.startswith(".git/")}

    def close(self) -> None:
        """Delete the view."""
        self._opened.stop()
        self._watch.end()
        self._layer.drop()
        if self._network >= 0:
            os.close(self._network)


def _workspace_of(copy: Path, live: Workspace, layer: Layer) -> Workspace:
    seen = layer.outside(live.root)
    return Workspace(copy, live.private, None, live.hook_scripts, live.hide_rules, seen=seen)


def _paths(listed: Listed) -> Iterator[str]:
    for group in listed.groups:
        if group.kind in _OUTPUT:
            yield from (one.effect.path for one in group.entries)


class ViewContent:
    """The content of a view where it differs from the present workspace."""

    def __init__(self, past: Mapping[str, Past | None], digests: Mapping[str, str]) -> None:
        """`digests`: those of the large files in `past`."""
        self.past, self.digests = past, digests
        self.renewed = list[str]()
        """Paths that keep their present content, and get a new time."""
        self.folders = list[str]()
        """Folders that are removed if nothing is left in them, the inner ones first."""
        self.git = list["GitChanges"]()
        self.has_copies = False
        """Whether folders of output are there as they were copied."""
        self.outputs = frozenset[str]()
        """Folders and files with output. They are as at the start, where a copy of it is known."""
        self.fresh: Fresh | None = None
        """What a setup made, and what is absent instead, or None if there is no setup."""

    @classmethod
    def without_undecided(cls, decided: Decided, contents: Contents, unit: Sequence[EffectRow] = ()) -> ViewContent:
        """Return the view in which nothing is undecided. Raises ViewFailed if a content is not known.

        `unit`: what an open unit changed. A view shows the workspace, so what is accepted of it is put in.
        """
        wanted = dict(decided.view)
        for row in _files_of(unit):
            past = wanted.setdefault(row.path, PathPast(row.after))
            if past.data is None and is_same_file(past.side, row.before):  # the workspace has it
                del wanted[row.path]
        made = cls._with(wanted, contents)
        made.renewed = [path for path, side in decided.accepted.items() if side is not None]
        made.folders, made.git, made.outputs = [*decided.folders], [*decided.git], decided.outputs
        made.has_copies = bool(decided.copied)
        return made

    @classmethod
    def in_place(cls, decided: Decided, contents: Contents, unit: Sequence[EffectRow] = ()) -> ViewContent:
        """Return what is there now, without the output that the run wrote. Raises ViewFailed."""
        wanted = {row.path: PathPast(row.after) for row in _files_of(unit)}
        wanted |= dict.fromkeys(decided.outputs_gone, PathPast(None))
        made = cls._with(wanted, contents)
        made.renewed = [path for path, side in decided.accepted.items() if side is not None]
        made.has_copies = bool(decided.copied)
        made.outputs = decided.outputs
        return made

    @classmethod
    def _with(cls, wanted: Mapping[str, PathPast], contents: Contents) -> ViewContent:
        """Return a view with this at these paths, and with the folders in which it lies."""
        past, digests = dict[str, Past | None](), dict[str, str]()
        needed = {above for path, one in wanted.items() if one.side is not None for above in above_of(path)}
        for path, one in wanted.items():
            side = one.side
            if side is None or side.type == "folder":
                past[path] = None if side is None and path not in needed else Past(type="folder")
                continue
            data = one.data if one.data is not None else contents.find(path, side)
            if data is None:
                raise ViewFailed(f"{path}: its content before is not known")
            if isinstance(data, Path):
                digests[path] = side.digest
            past[path] = Past(
                type=side.type,
                data=b"" if isinstance(data, Path) else data,
                source=data if isinstance(data, Path) else None,
                mtime_ns=side.mtime_ns or time.time_ns(),
                executable=side.executable,
            )
        return cls(past, digests)


def _files_of(rows: Sequence[EffectRow]) -> Iterator[EffectRow]:
    """Yield the rows of files and links. A folder counts as nothing, and is made for what lies in it."""
    for row in rows:
        before, after = (None if side is None or side.type == "folder" else side for side in (row.before, row.after))
        if before is not None or after is not None:
            yield EffectRow(path=row.path, before=before, after=after)


@asynccontextmanager
async def open_view(layers: RunLayers, sandbox: Sandbox, content: ViewContent) -> AsyncGenerator[JudgeView]:
    """Make a view for the block. `sandbox`: that of the run. Raises ViewFailed."""
    make = _make_copy if layers.has_copies else _make_view
    making = asyncio.ensure_future(asyncio.to_thread(make, layers, sandbox, content))
    try:
        view = await asyncio.shield(making)
    except asyncio.CancelledError:
        with suppress(ViewFailed):
            (await making).close()
        raise
    try:
        yield view
    finally:
        await asyncio.shield(asyncio.to_thread(view.close))


def _make_view(layers: RunLayers, sandbox: Sandbox, content: ViewContent) -> JudgeView:
    namespaces, workspace = layers.namespaces, layers.workspace.root
    assert namespaces is not None  # `open_view` looked
    try:
        past = {**content.past, **git_past(content.git, workspace)}
        fresh = content.fresh
        network = namespaces.new_network()
        try:
            if fresh is None:
                between = layers.output_copies.tree if content.has_copies else None
                prepare = partial(_prepare, past=past, between=between)
            else:
                past = fresh.over(past)
                prepare = partial(fresh.put, past=past)
            layer = layers.open(JUDGE, prepare)
            try:
                own = sandbox.separate_copy()
                own.network_words = namespaces.words_in(network)
                _compare(layer.upper, {path: digest for path, digest in content.digests.items() if path in past})
                _renew(layer.root, content.renewed)
                _remove_empty(layer.root, content.folders)
                take_back(layer, partial(own.words_in, layer.access_in(network), workspace), content.git)
                return JudgeView(layers, layer, layer.access_in(network), own, network)
            except BaseException:
                layer.drop()
                raise
        except BaseException:
            os.close(network)
            raise
    except (LayerRefused, NamespacesRefused, InsideFailed, TooMuch, ValueError, OSError) as error:
        raise ViewFailed(str(error)) from error


def _prepare(layer: Layer, past: Mapping[str, Past | None], between: Path | None) -> None:
    layer.between = between
    put_past(layer, past)


class _InCopy(NamedTuple):
    """How a sandbox runs checks in a copy."""

    layer: CopyLayer

    @property
    def access(self) -> LayerAccess:
        """How a check enters it."""
        return self.layer.access

    def outside(self, path: Path) -> Path:
        """Return the path that checks know."""
        layer = self.layer
        is_inside = path.is_relative_to(layer.tree)
        return layer.outside(layer.workspace / path.relative_to(layer.tree) if is_inside else path)


def _make_copy(layers: RunLayers, sandbox: Sandbox, content: ViewContent) -> JudgeView:
    """Make a view where there are no layers: a copy of the workspace, changed as `content` says."""
    start = layers.start
    if start is None:
        raise ViewFailed("the copy of the workspace that was made at the start is gone, so start the run again")
    try:
        layer = layers.open(JUDGE)
        try:
            assert isinstance(layer, CopyLayer)  # `open_view` looked
            past, fresh = put_start_in_copy(layer, start, content.past, content.outputs), content.fresh
            put_in_copy(layer, past if fresh is None else fresh.without(past))
            if fresh is not None:
                fresh.put_in_copy(layer)
            left = {path: one for path, one in content.digests.items() if fresh is None or not fresh.has(path)}
            _compare(layer.tree, left)
            _renew(layer.root, content.renewed)
            _remove_empty(layer.root, content.folders)
            layer.note_prepared()
            unchanged = start.unchanged_dependencies(layer.source)
            shown = [layer.workspace / name for name in unchanged if fresh is None or not fresh.has(name)]
            return JudgeView(layers, layer, replace(layer.access, shown=shown), sandbox.in_unit(_InCopy(layer)), -1)
        except BaseException:
            layer.drop()
            raise
    except (LayerRefused, TooMuch, ValueError, OSError) as error:
        raise ViewFailed(str(error)) from error


def _compare(folder: Path, digests: Mapping[str, str]) -> None:
    """Compare large files with their digests, because another program may have had their source open."""
    for path, digest in digests.items():
        found = hashlib.sha256()
        with (folder / path).open("rb") as file:
            while piece := file.read(_PIECE):
                found.update(piece)
        if found.hexdigest() != digest:
            raise ViewFailed(f"{path}: its content before is not known")


def _renew(root: int, paths: Sequence[str]) -> None:
    """Give accepted files the present time, so that nothing that was built earlier counts as newer than they are."""
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            found = open_below(root, os.fsencode(path), os.O_PATH | os.O_NOFOLLOW)
            try:
                if stat.S_ISREG(os.fstat(found).st_mode):
                    os.utime(f"/proc/self/fd/{found}")
            finally:
                os.close(found)


def _remove_empty(root: int, folders: Sequence[str]) -> None:
    for folder in folders:
        with suppress(OSError):  # there is something in it, or it is not there
            os.rmdir(folder, dir_fd=root)
