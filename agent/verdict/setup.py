"""What prepares a fresh checkout (`--setup`): it runs once before the first call, and each view has what it wrote.

In such a view the ignored folders of the workspace are absent, and those that the command made are there instead.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..journal.encoding import recorded_text
from ..layers.rows import decode_rows
from ..protocol import SetupPrepared
from .checked import checked_in_view
from .decided import is_below
from .fresh import Fresh, clone_tree
from .view import Taken, ViewFailed, open_view

if TYPE_CHECKING:
    from .case import Case
    from .decided import Decided

_SHOWN = 2_000


async def prepare_setup(case: Case) -> None:
    """Run the command in a view of the start, keep the ignored folders that it made, and record that."""
    command = case.facts.spec.predicates.setup
    if command is None or case.facts.verdicts.setup is not None:
        return
    absent = await asyncio.to_thread(lambda: [*_ignored_folders(case, case.workspace.root)])
    taken = Taken({}, {})
    taken.fresh = Fresh(absent, {})
    kept, opened, problem = list[str](), None, ""
    try:
        async with open_view(case.layers, case.sandbox, taken) as view:
            result = await checked_in_view(case, view, command, network=case.facts.spec.gate.network)
            if result.passed and not view.reached:
                opened = await asyncio.to_thread(view.opened)
                kept = await asyncio.to_thread(_keep, case, view.root)
            else:
                problem = view.reached or result.error or f"exit code {result.exit_code}: {result.output[-_SHOWN:]}"
    except (ViewFailed, OSError) as failed:
        problem = str(failed)
    case.record(
        SetupPrepared(
            command=command,
            absent=[recorded_text(path) for path in absent],
            kept=kept,
            opened=None if opened is None else case.journal.keep(msgspec.json.encode([*map(recorded_text, opened)])),
            problem=recorded_text(problem.strip()),
        )
    )


def fresh_of(case: Case) -> Fresh | None:
    """Return what a view has instead of ignored folders; None: there is no setup. Raises ViewFailed."""
    prepared = case.facts.verdicts.setup
    if prepared is None:
        return None
    store = _store(case)
    if any(not (store / path).is_dir() for path in prepared.kept):
        raise ViewFailed(f"what `{prepared.command}` made is not in {store} any more: start the run again")
    return Fresh(prepared.absent, {path: store / path for path in prepared.kept})


def changed_for_setup(case: Case, decided: Decided) -> list[str]:
    """Return the accepted changes of what the setup read: it made its folders from other content.

    Sources in the scope are not among them, because each run changes those. If it is not known what the setup read, all
    other accepted changes are. Raises ViewFailed.
    """
    prepared, scope = case.facts.verdicts.setup, case.scope
    if prepared is None:
        return []
    others = [path for path in decided.accepted if scope.is_outside(path)]
    if prepared.opened is None or not others:
        return sorted(others)
    try:
        opened = msgspec.json.decode(case.journal.blob(prepared.opened), type=frozenset[str])
    except (KeyError, msgspec.DecodeError) as error:
        raise ViewFailed(f"the record of what `{prepared.command}` read is damaged: {error}") from error
    return sorted(path for path in others if recorded_text(path) in opened)


def setup_help(case: Case, paths: Sequence[str]) -> list[str]:
    """Return the `--setup LINE` that would have made what a view does not have: the run's newest command that did.

    `paths`: ignored files and folders of output that the result rests on. Reads the journal.
    """
    facts = case.facts
    for change in reversed([*facts.changes.standing, *facts.changes.in_stage]):
        if change.command is None or change.effects is None:
            continue
        try:
            rows = decode_rows(case.journal.blob(change.effects.rows))
        except KeyError:
            continue
        if any(is_below(row.path, path) for row in rows for path in paths):
            return [f"--setup {shlex.quote(change.command)}"]
    return []


def _store(case: Case) -> Path:
    """Return the folder of what is kept for the views. It stays with the journal, because the run can be resumed."""
    return case.journal.path.with_suffix(".setup")


def _keep(case: Case, root: Path) -> list[str]:
    store, kept = _store(case), list[str]()
    shutil.rmtree(store, ignore_errors=True)
    for path in _ignored_folders(case, root):
        clone_tree(root / path, store / path)
        kept.append(path)
    return kept


def _ignored_folders(case: Case, root: Path) -> Iterator[str]:
    """Yield the outermost ignored folders, except those of rundry and of the second check."""
    own = [f"{root}/{place.relative_to(case.workspace.seen)}" for place in _own_places(case)]
    for folder, folders, _ in os.walk(root):
        for name in list(folders):
            whole = f"{folder}/{name}"
            path = os.path.relpath(whole, root)
            if name == ".git" or Path(whole).is_symlink():
                folders.remove(name)
            elif case.scope.is_ignored(path, is_folder=True) and not any(
                one == whole or one.startswith(f"{whole}/") for one in own
            ):
                folders.remove(name)
                yield path


def _own_places(case: Case) -> list[Path]:
    seen = case.workspace.seen
    places = [*(case.workspace.shown(one) for one in case.workspace.hidden), case.layers.base]
    return [place for place in places if place.is_relative_to(seen)]
