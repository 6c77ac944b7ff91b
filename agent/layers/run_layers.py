"""The layers of one run: opened for its commands and units, listed when they have ended, applied or dropped."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..protocol.text.counts import plural
from ..sandbox.home_places import caches_at_home, fills_caches
from .applier import Applier
from .apply import carry_out
from .copy_folder import COPIES, has_copy
from .effect_classes import Group, classify
from .effect_rows import EffectRow
from .git.git_rows import GitChanges, StateRow
from .git.read_git_changes import GitReport, read_git
from .layer import Layer, wait_until_unused
from .left_layers import lost_at_restart
from .live_folders import live_folders
from .namespaces import NamespacesRefused
from .occupied import Occupied
from .orders import Order, is_held
from .output_copies import OutputCopies
from .remedies import LayerRefused
from .removing import remove_tree
from .surroundings import read_surroundings
from .unit_record import LOST, boot_tag, read_record
from .workspace_copies import Copies, CopyLayer, sweep_copies

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace
    from .apply import Result
    from .git.git_in_layer import Inside
    from .layer_effects import Effect
    from .namespaces import Namespaces
    from .start_copy import StartCopy

_SECONDS = 10.0
"""How long the end of a command may take to be final."""
_MAKING_SECONDS = 60.0
"""Age after which a layer that nobody has mounted was left by a killed runner."""
_MOST_NAMED = 5


class Listed(NamedTuple):
    """What the commands of a layer would change."""

    groups: Sequence[Group]
    left_out: Sequence[str]
    """Lines about what is never applied."""
    contents: Mapping[str, bytes]
    """The bytes of new and changed files that are small enough, and the targets of links, by path."""
    git: Sequence[GitChanges]
    """What repositories gained."""


class Output(NamedTuple):
    """What a check wrote."""

    rows: Sequence[EffectRow]
    """What it built in ignored folders of output and caches."""
    paths: Sequence[str]
    """These folders, and files that lie in none."""
    dropped: Sequence[str]
    """The paths of all else."""


class RunLayers:
    """The layers of one run over its workspace, or where there are none, copies for its units of work and views."""

    def __init__(
        self,
        workspace: Workspace,
        base: Path,
        run: str,
        namespaces: Namespaces | None,
        *,
        is_inside: bool = False,
        live: Sequence[str] = (),
        copies: bool = False,
        at_workspace: bool = False,
    ) -> None:
        """`base`: the layers' folder of this workspace. `run`: a name for the run. `namespaces`: closed with this.

        `is_inside`: `base` lies in what layers cover, so that commands must see it empty. `live`: folders that the user
        lets background commands write, relative to the workspace. `copies`: instead of layers.
        `at_workspace`: commands see a copy at the path of the workspace.

        Raises NamespacesRefused and OSError.
        """
        self.workspace = workspace
        self.namespaces = namespaces
        if namespaces is not None:
            namespaces.make_network()
        self.has_copies = copies
        """Whether its units work in copies, and not in layers."""
        self._copies = Copies(base / COPIES / f"{run}-{os.getpid()}", at_workspace=at_workspace)
        self._applier = Applier(base)
        self.orders = self._applier.orders
        self.base, self.run = base, run
        self.output_copies = OutputCopies(base, run, workspace.root)
        self.folder = base / "layers"
        """The folder with the folders of all layers of the workspace."""
        self._count = 0
        self.hidden = base if is_inside else None
        """A folder that commands see empty."""
        self._live = live
        self._made = set[str]()
        self._operations = list[StateRow]()
        """Operations of git that the run's commands began and may continue."""
        self._lock = threading.Lock()
        self.named = set[str]()
        """Files about which the user was already informed that a check's changes of them were dropped."""
        self.others_write = False
        """Whether something of this run wrote to the workspace itself, so that its layers do not show all changes."""
        self.contents_base = base
        """The layers' folder in which runs kept old contents. It differs from `base` only for copies."""
        self.start: StartCopy | None = None
        """The workspace at the start, if results are judged in copies; closed with this."""

    def recover(self) -> list[str]:
        """Finish what killed runners of this workspace left, and remove their layers. Returns lines for the user.

        To be called before anything else works in the workspace. Never raises OSError.
        """
        sweep_copies(self.base / COPIES)
        orders, said, needed = self.orders, list[str](), set[Path]()
        orders.kept.expire()
        self.output_copies.expire()
        for name in orders.names():
            try:
                with orders.locked():  # a runner that lives may be carrying it out
                    is_done = orders.outcome(name) is not None
                if not is_done:
                    results = orders.carry_out(name)
                    failed = [f"{one.path}: {one.conflict}" for one in results if one.conflict]
                    said.append(f"finished the changes of a run that was killed ({plural(len(results), 'file')})")
                    said += [f"not applied: {line}" for line in failed[:_MOST_NAMED]]
            except (OSError, ValueError) as error:
                if name not in orders.names():  # its own runner lives, and finished it meanwhile
                    continue
                said.append(f"the changes of a run that was killed cannot be finished: {error}")
                upper = orders.written(name)
                needed |= {upper.parent} if upper is not None else set()
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if folder not in needed:
                said += self._remove_if_left(folder)
        return said

    def _remove_if_left(self, folder: Path) -> list[str]:
        """Remove the layer of a killed runner, unless something still runs in it, or somebody can still decide on it.

        Returns a line if nobody can decide on it any more.
        """
        with suppress(OSError, Occupied, NamespacesRefused):
            record = read_record(folder)
            stays = record is not None and record.lasts and (record.is_whole or record.run == self.run)
            if not stays and time.time() - folder.stat().st_mtime > _MAKING_SECONDS:
                wait_until_unused(folder, self.namespaces, 0.0)
                lost = [] if record is not None or has_copy(folder) else lost_at_restart(folder)
                remove_tree(folder)
                if record is not None and record.lasts:
                    return [f"the {record.kind} of the run {record.run} is lost: {LOST}"]
                return lost
        return []

    def open(self, kind: str = "", prepare: Callable[[Layer], object] = lambda _: None, *, line: str = "") -> Layer:
        """Mount a layer. `kind`: of a unit of work. `prepare`: called before it is mounted. Raises LayerRefused.

        `line`: the only command line for which it is.
        """
        with self._lock:
            self._count += 1
            name = f"{f'{kind}-' if kind else ''}{self.run}-{boot_tag()}-{os.getpid()}-{self._count}"
        folder = self.folder / name
        layer = None
        try:
            self._applier.start()
            root = self.workspace.root
            copies, hidden = self._copies, self.hidden
            if self.has_copies:
                layer = CopyLayer(folder, root, copies, hidden)
            else:
                caches = caches_at_home(os.environ, root) if kind or fills_caches(line) else []
                layer = Layer(folder, root, hidden, caches=caches)
            prepare(layer)
            return layer.mount(self.namespaces)
        except BaseException as error:
            with suppress(OSError):
                if layer is not None:
                    layer.drop()
                else:
                    remove_tree(folder)
            if isinstance(error, NamespacesRefused | OSError):
                raise LayerRefused(error, self.base) from error
            raise

    def left(self, folder: Path) -> Layer | None:
        """Return the layer of a unit that another process left.

        Returns None if it cannot be mounted here. Raises OSError.
        """
        if has_copy(folder):
            return CopyLayer(folder, self.workspace.root, self._copies, self.hidden, is_left=True)
        if self.namespaces is None:
            return None
        root = self.workspace.root
        return Layer(folder, root, self.hidden, is_left=True, caches=caches_at_home(os.environ, root))

    def listed(
        self,
        layer: Layer,
        env: Mapping[str, str],
        inside: Inside | None = None,
        *,
        seals: bool = True,
    ) -> Listed:
        """List what a layer would change. Its commands have ended. `env`: the user's environment.

        `inside` returns the words that start a program in the layer's sandbox. None means that what git gained is not
        read. `seals`: make it read-only first; else its commands are suspended, and the list says how it is until they
        continue.

        Raises Occupied, TooMuch, NamespacesRefused and OSError.
        """
        if seals:
            layer.seal(_SECONDS)
        effects, left_out = layer.effects()
        groups, held = self._classified(layer, effects, env) if effects else ([], {})
        report = GitReport([], []) if inside is None else read_git(layer, inside, tuple(self._operations))
        lines = [*left_out, *report.not_taken, *(line for one in report.repositories for line in one.not_taken)]
        return Listed(groups, lines, held, report.repositories)

    def _classified(
        self, layer: Layer, effects: Sequence[Effect], env: Mapping[str, str]
    ) -> tuple[list[Group], dict[str, bytes]]:
        """Return the effects in groups, and the contents of those that an order holds itself."""
        with layer.written() as written:
            held = {one.path: written.load(one.path, one.after) for one in effects if one.after and is_held(one.after)}
        room = self.orders.kept.room() if any(one.before and one.before.type == "file" for one in effects) else 0
        made = frozenset(self._made)
        known = read_surroundings(self.workspace, effects, lambda path, _: held[path], env, made=made, room=room)
        return classify(effects, known), held

    def order(
        self,
        name: str,
        layer: Layer,
        rows: Sequence[EffectRow],
        contents: Mapping[str, bytes],
        git: Sequence[GitChanges],
        keep: frozenset[str],
    ) -> None:
        """Store an order to apply these rows durably, under a new name. Raises OSError.

        `keep`: SHA-256 of displaced files that are kept for an undo.
        """
        held = {row.path: contents[row.path] for row in rows if row.after and is_held(row.after)}
        moved = any(row.after and row.after.type == "file" and not is_held(row.after) for row in rows)
        upper = layer.upper if moved else None
        order = Order(
            workspace=self.workspace.root,
            rows=rows,
            written=upper,
            contents=held,
            git=git,
            folder=layer.folder,
            keep=keep,
        )
        self.orders.give(name, order)

    def apply(self, name: str, rows: Sequence[EffectRow], git: Sequence[GitChanges]) -> list[Result]:
        """Carry an order out, and return what became of its rows. Raises OSError and ValueError."""
        results = self._applier.carry_out(name)
        if not any(one.conflict for one in results):
            self._operations += [row for one in git for row in one.rows if isinstance(row, StateRow)]
        failed = {one.path for one in results if one.conflict}
        for row in rows:
            if row.path in failed:
                continue
            if row.before is None:
                self._made.add(row.path)
            elif row.after is None:
                self._made.discard(row.path)
            self._note(row)
        return results

    def undo(self, name: str, order: Order) -> list[Result]:
        """Store an order that takes changes back, carry it out, and return what became of its rows.

        Raises OSError and ValueError.
        """
        self.orders.give(name, order)
        results = self._applier.carry_out(name)
        failed = {one.path for one in results if one.conflict}
        for row in order.rows:
            if row.path in failed:
                continue
            if row.after is None:
                self._made.discard(row.path)
            self._note(row)
        return results

    def sort_output(self, listed: Listed, is_guarded: Callable[[str], bool]) -> Output:
        """Return what a check built in ignored folders of output and caches, and what is dropped.

        Byte-code is dropped silently. What existed and `is_guarded` is not output.
        """
        built, paths, dropped = list[EffectRow](), dict[str, None](), list[str]()
        for group in listed.groups:
            for entry in group.entries:
                effect = entry.effect
                is_kept = effect.before is not None and is_guarded(effect.path)
                is_output = group.kind == "built" and not is_kept
                if is_output and not effect.conflict:
                    built.append(EffectRow(path=effect.path, before=effect.before, after=effect.after))
                    paths.setdefault(group.folder or effect.path)
                elif not is_output and group.kind != "bytecode":
                    dropped.append(effect.path)
        return Output(built, [*paths], dropped)

    def take_output(self, layer: Layer, output: Output) -> None:
        """Apply what a check built, without an order: it may be there in part. Raises OSError."""
        if output.rows:
            with self.orders.locked(), layer.written() as written:
                carry_out(self.workspace, output.rows, written, durable=False)

    def live_folders(self, env: Mapping[str, str], is_protected: Callable[[str], bool]) -> list[Path]:
        """Return the folders of the workspace that a process outside of layers can write (`live_folders.py`)."""
        return live_folders(self.workspace, self._live, env, is_protected, frozenset(self._made))

    def outcome(self, name: str) -> list[Result] | None:
        """Finish an order of an earlier runner, and return what became of its rows, or None if it is not known here."""
        if name not in self.orders.names():
            return None
        return self._applier.carry_out(name)

    def forget(self, name: str) -> None:
        """Delete an order whose outcome is in the journal."""
        self.orders.forget(name)

    def close(self) -> None:
        """End the processes that the layers of the run need."""
        self._applier.close()
        self._copies.close()
        if self.start is not None:
            self.start.close()
        if self.namespaces is not None:
            self.namespaces.close()

    def _note(self, row: EffectRow) -> None:
        """Remember a write, so that the watcher of the workspace does not take it for one of the user's."""
        path = self.workspace.root / row.path
        try:
            status = path.lstat()
        except OSError:
            return
        if row.after is not None and row.after.type == "file":
            self.workspace.run_writes.wrote(path, status, row.after.digest or None)
