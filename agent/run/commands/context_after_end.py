"""The parts of a run that an undo needs, for a run without a runner."""

from __future__ import annotations

from dataclasses import dataclass
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
    from ...protocol import Event
    from ...state.facts.run_facts import RunFacts


def context_after_end(journal: Journal) -> UndoContext:
    """Return the parts of a run that has no runner. It writes to the journal."""
    facts = fold(journal.spec, journal.read())

    store = journal.path.with_suffix(".snapshots")
    workspace = Workspace(
        Path(journal.spec.workspace),
        private=[journal.path, store],
        leftovers=Leftovers(journal.path),
        hide_rules=hide_rules_of(
            journal.spec.gate, journal.path.parent, held_out=journal.spec.predicates.holdout_files
        ),
    )
    return UndoContext(journal, facts, workspace, Snapshots(store), _EventsAfterEnd(journal, facts))


@dataclass(frozen=True, slots=True)
class _EventsAfterEnd:
    journal: Journal
    facts: RunFacts

    def record(self, event: Event) -> None:
        self.facts.apply(self.journal.append(event, durable=must_be_flushed(event)))
