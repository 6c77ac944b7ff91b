"""Decide on what a run has changed up to now, and note in the ledger what is left for later runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..layers.kept import Kept
from ..layers.present import Present
from .commits import commits_of_run, head_of, without_committed
from .decided import Decided, InScope, decide
from .history import read_history
from .ledger import Entry, Ledger, replaced
from .places import StoredContents

if TYPE_CHECKING:
    from ..facts.facts import RunFacts
    from ..journal.journal import Journal
    from .history import UnitChanges


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
) -> DecidedNow:
    """Decide on all that a run changed. Reads the disk.

    `base`: the layers' folder of the workspace. `unit`: the changes in an open unit, and `place` is the root of its
    view.

    Raises OSError, and ValueError if the ledger is damaged.
    """
    ledger = Ledger(base)
    contents = StoredContents(journal, Kept(base), ledger, place or workspace)
    noted = without_committed(ledger.read(), workspace)
    read = read_history(facts, journal, noted, Present(place or workspace), workspace, unit)
    return DecidedNow(decide(read.history, read.now, scope, contents), contents)


def note_undecided(facts: RunFacts, journal: Journal, base: Path, workspace: Path, scope: InScope) -> int:
    """Store in the ledger what nobody decided on, and return the number of its files. Reads and writes the disk.

    Called at the end of a run, and before a child run or a fork begins. Raises OSError, and ValueError if the ledger is
    damaged.
    """
    ledger = Ledger(base)
    with ledger.locked():
        contents = StoredContents(journal, Kept(base), ledger, workspace)
        noted = without_committed(ledger.read(), workspace)
        read = read_history(facts, journal, noted, Present(workspace), workspace)
        decided = decide(read.history, read.now, scope, contents)
        run, head = facts.spec.run_id, head_of(workspace)
        entries, old = list[Entry](), dict[str, bytes | Path]()
        for one in decided.undecided:
            if one.what in ("output", "git"):
                continue
            past = decided.view[one.path]
            entries.append(Entry(one.path, past.side, read.now[one.path], run, head))
            found = None if past.side is None else past.data or contents.find(one.path, past.side)
            if found is not None and past.side is not None:
                old[past.side.digest] = found
        outputs = [one.path for one in decided.undecided if one.what == "output"]
        noted = replaced(noted, read.history.paths.keys(), entries, outputs)
        made = commits_of_run(facts, [one.changes for one in read.history.git], workspace)
        ledger.write(noted._replace(commits=noted.commits | made), old)
    return len(entries)
