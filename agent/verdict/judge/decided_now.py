"""Decide on what a run has changed up to now, and note in the ledger what is left for later runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...layers.displaced_files import Kept
from ...layers.output_copies import OutputCopies
from ...layers.present import Present
from .accepted_commits import commits_of_run, head_of, without_committed
from .change_history import read_history
from .decided import Decided, History, InScope, decide
from .past_files import StoredContents
from .workspace_ledger import Ledger, Noted, UndecidedChange, replaced

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...layers.effect_rows import EffectRow
    from ...layers.start_copy import StartCopy
    from ...state.facts.run_facts import RunFacts
    from .change_history import UnitChanges


class DecidedNow(NamedTuple):
    """What somebody decided on, up to now."""

    decided: Decided
    contents: StoredContents
    """Finds what the paths of `decided.view` contain."""


def decided_now(
    facts: RunFacts,
    journal: Journal,
    base: Path,
    workspace: Path,
    scope: InScope,
    *,
    unit: UnitChanges | None = None,
    place: Path | None = None,
    start: StartCopy | None = None,
) -> DecidedNow:
    """Decide on all that a run changed. Reads the disk.

    `base`: the layers' folder of the workspace. `unit`: the changes in an open unit, and `place` is the root of its
    view. `start`: a copy of the workspace at the start.

    Raises OSError, and ValueError if the ledger is damaged.
    """
    ledger = Ledger(workspace, journal.path.parent)
    roots = [root for root in (place, workspace, start and start.root) if root is not None]
    contents = StoredContents(journal, Kept(base), ledger, roots)
    noted = without_committed(ledger.read(), workspace)
    rows = _since_start(facts, start)
    read = read_history(facts, journal, noted, Present(place or workspace), workspace, unit, rows)
    history = read.history if unit is not None else _with_copies(read.history, journal, base, workspace)
    return DecidedNow(decide(history, read.now, scope, contents), contents)


def _since_start(facts: RunFacts, start: StartCopy | None) -> Sequence[EffectRow] | None:
    """Return what differs from the start, if nothing else records it, or None if there is no copy of the start."""
    if start is None:
        return None
    return start.changed() if facts.changes.unrecorded.has_gaps else ()


def _with_copies(history: History, journal: Journal, base: Path, workspace: Path) -> History:
    copied = frozenset(OutputCopies(base, journal.path.stem, workspace).paths())
    return dataclasses.replace(history, copied=copied & history.outputs)


def note_undecided(
    facts: RunFacts, journal: Journal, base: Path, workspace: Path, scope: InScope, copied: StartCopy | None = None
) -> int:
    """Store in the ledger what nobody decided on, and return the number of its files. Reads and writes the disk.

    `copied`: the workspace at the start. Called at the end of a run, and before a child run or a fork begins.
    Raises OSError, and ValueError if the ledger is damaged.
    """
    ledger = Ledger(workspace, journal.path.parent)
    found = decided_now(facts, journal, base, workspace, scope, start=copied)
    if not found.decided.undecided and ledger.read() == Noted():
        return 0
    with ledger.locked():
        contents = found.contents
        noted = without_committed(ledger.read(), workspace)
        rows = _since_start(facts, copied)
        read = read_history(facts, journal, noted, Present(workspace), workspace, since_start=rows)
        decided = decide(read.history, read.now, scope, contents)
        run, head = facts.spec.run_id, head_of(workspace)
        entries, old = list[UndecidedChange](), dict[str, bytes | Path]()
        for one in decided.undecided:
            if one.what in ("output", "git"):
                continue
            past, start = decided.view[one.path], read.history.paths[one.path][0].before
            entries.append(UndecidedChange(one.path, past.side, read.now[one.path], run, start, head))
            if past.side is not None and past.data is not None:
                old[past.side.digest] = past.data
            for side in (past.side, start):
                data = None if side is None else contents.find(one.path, side)
                if side is not None and data is not None:
                    old[side.digest] = data
        outputs = [one.path for one in decided.undecided if one.what == "output"]
        noted = replaced(noted, read.history.paths.keys(), entries, outputs)
        made = commits_of_run(facts, [one.changes for one in read.history.git], workspace)
        ledger.write(noted._replace(commits=noted.commits | made), old)
    return len(entries)
