"""Run the setup (`--setup`) that prepares a fresh checkout: before the first call, and each view gets what it wrote.

In such a view the ignored folders of the workspace are absent, and those that the command made are there instead.
If what the command read changed and that is accepted, it runs again in the view of the judge.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...journal.encoding import recorded_text
from ...layers.effect_rows import decode_rows
from ...layers.removing import remove_tree
from ...protocol import JudgePreparing, SetupPrepared
from .checked import checked_in_view
from .decided import is_below
from .judge_view import ViewContent, ViewFailed, open_view
from .setup_layers import Fresh, clone_tree

if TYPE_CHECKING:
    from .decided import Decided
    from .judge_case import Case

_SHOWN = 2_000


async def prepare_setup(case: Case) -> None:
    """Run the command in a view of the start, keep the ignored folders that it made, and record that."""
    command = case.facts.spec.predicates.setup
    if command is None or case.facts.verdicts.setup is not None:
        return
    absent = await asyncio.to_thread(lambda: [*_ignored_folders(case, case.workspace.root)])
    case.events.record(JudgePreparing(what="setup", command=command))
    case.events.record(await _prepared(case, command, ViewContent({}, {}), absent, {}))


async def prepare_again(case: Case, decided: Decided, content: ViewContent) -> str:
    """Run the command again if it read something whose accepted content is another one now.

    `content`: the view of the judge. Returns why it failed, or empty if what it made fits. Raises ViewFailed.
    """
    prepared = case.facts.verdicts.setup
    if prepared is None or not await asyncio.to_thread(_is_stale, case, decided, prepared):
        return ""
    absent = await asyncio.to_thread(lambda: [*_ignored_folders(case, case.workspace.root)])
    absent = [*dict.fromkeys([*prepared.absent, *absent, *prepared.kept])]
    again = await _prepared(case, prepared.command, content, absent, _outside(case, decided))
    if not again.problem:
        case.events.record(again)
    return again.problem


async def _prepared(
    case: Case, command: str, content: ViewContent, absent: Sequence[str], changed: Mapping[str, str]
) -> SetupPrepared:
    """Run the command in a view, keep what it made, and return the event of it."""
    content.fresh = Fresh(absent, {})
    kept, opened, problem, seconds = list[str](), None, "", 0.0
    try:
        async with open_view(case.layers, case.sandbox, content) as view:
            result = await checked_in_view(case, view, command, network=case.facts.spec.gate.network)
            seconds = result.seconds
            if result.passed and not view.reached:
                opened = await asyncio.to_thread(view.opened)
                kept = await asyncio.to_thread(_keep, case, view.root, changed)
            else:
                problem = view.reached or result.error or f"exit code {result.exit_code}: {result.output[-_SHOWN:]}"
    except (ViewFailed, OSError) as failed:
        problem = str(failed)
    return SetupPrepared(
        command=command,
        absent=[recorded_text(path) for path in absent],
        kept=kept,
        opened=None if opened is None else case.journal.blobs.keep(msgspec.json.encode([*map(recorded_text, opened)])),
        problem=recorded_text(problem.strip()),
        changed=dict(changed),
        seconds=seconds,
    )


def fresh_of(case: Case) -> Fresh | None:
    """Return what a view has instead of ignored folders, or None if there is no setup. Raises ViewFailed."""
    prepared = case.facts.verdicts.setup
    if prepared is None:
        return None
    store = _store(case, prepared.changed)
    if any(not (store / path).is_dir() for path in prepared.kept):
        raise ViewFailed(f"what `{prepared.command}` made is not in {store} any more: start the run again")
    return Fresh(prepared.absent, {path: store / path for path in prepared.kept})


def _is_stale(case: Case, decided: Decided, prepared: SetupPrepared) -> bool:
    """Return whether the setup made its folders from other content than what is accepted now. Raises ViewFailed.

    Sources in the scope do not count, because each run changes those. If it is not known what the setup read, all other
    accepted changes count.
    """
    now = _outside(case, decided)
    changed = {path for path in {*now, *prepared.changed} if now.get(path) != prepared.changed.get(path)}
    if prepared.opened is None or not changed:
        return bool(changed)
    try:
        opened = msgspec.json.decode(case.journal.blobs.load(prepared.opened), type=frozenset[str])
    except (KeyError, msgspec.DecodeError) as error:
        raise ViewFailed(f"the record of what `{prepared.command}` read is damaged: {error}") from error
    return not opened.isdisjoint(changed)


def _outside(case: Case, decided: Decided) -> dict[str, str]:
    """Return the accepted changes outside of the default scope, with the digest of what a view has."""
    merged = {path: past.side for path, past in decided.view.items() if past.data is not None}
    return {
        recorded_text(path): "" if side is None else side.digest
        for path, side in sorted({**decided.accepted, **merged}.items())
        if case.scope.is_outside(path)
    }


def command_that_made(case: Case, paths: Sequence[str]) -> str:
    """Return the command of the run that made these paths, so that it can be the user's `--setup`.

    Returns empty if none did. `paths`: ignored files and folders of output that the result rests on. Of a folder of
    output, the first command that wrote there configured it; else the newest counts. Reads the journal.
    """
    changes = case.facts.changes
    built = (changes.unrecorded.built_by.get(path) for path in paths)
    ran = [(one.command, one.effects) for one in (*changes.standing, *changes.in_stage)]
    wrote = (command for command, effects in reversed(ran) if effects and _writes_below(case, effects.rows, paths))
    return next(filter(None, built), None) or next(filter(None, wrote), None) or ""


def files_changed_by(case: Case, command: str) -> set[str]:
    """Return the files that a command of the run changed. With the command as a setup, they need a `--scope` each."""
    changes = case.facts.changes
    return {path for one in (*changes.standing, *changes.in_stage) if one.command == command for path in one.files}


def _writes_below(case: Case, blob: str, paths: Sequence[str]) -> bool:
    try:
        rows = decode_rows(case.journal.blobs.load(blob))
    except KeyError:
        return False
    return any(is_below(row.path, path) for row in rows for path in paths)


def _store(case: Case, changed: Mapping[str, str]) -> Path:
    """Return the folder of what is kept for the views. It stays with the journal, because the run can be resumed.

    `changed`: what was changed when it was made: a run that was killed meanwhile must not use it for other content.
    """
    store = case.journal.path.with_suffix(".setup")
    digest = hashlib.sha256(msgspec.json.encode(sorted(changed.items()))).hexdigest()[:16]
    return store / digest if changed else store


def _keep(case: Case, root: Path, changed: Mapping[str, str]) -> list[str]:
    store, kept = _store(case, changed), list[str]()
    with suppress(FileNotFoundError):
        remove_tree(store)
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
