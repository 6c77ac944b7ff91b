"""The parts of a run that an undo needs, of a run that has no runner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...host.leftovers import Leftovers
from ...host.workspace_paths import Workspace
from ...journal.integrity.durable import must_be_flushed
from ...repo.old_snapshots.snapshots import Snapshots
from ...state.facts.run_facts import fold
from ..start.sandbox_of_run import hide_rules_of
from .undo_context import UndoContext

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Event, Stamped


def context_after_end(journal: Journal) -> UndoContext:
    """Return the parts of a run that has no runner. It writes to the journal."""
    facts = fold(journal.spec, journal.read())

    def record(event: Event) -> Stamped:
        stamped = journal.append(event, durable=must_be_flushed(event))
        facts.apply(stamped)
        return stamped

    store = journal.path.with_suffix(".snapshots")
    workspace = Workspace(
        Path(journal.spec.workspace),
        private=[journal.path, store],
        leftovers=Leftovers(journal.path),
        hide_rules=hide_rules_of(
            journal.spec.gate, journal.path.parent, held_out=journal.spec.predicates.holdout_files
        ),
    )
    return UndoContext(journal, facts, workspace, Snapshots(store), record)
