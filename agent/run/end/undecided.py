"""Record for later runs which changes of this one nobody decided on, and read what earlier runs left."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ...layers.fitness import place_of_copies, place_of_orders
from ...layers.start_copy import StartCopy, own_folder_in, start_name
from ...protocol import Fault
from ...protocol.text.counts import first_names, plural
from ...protocol.text.path_text import quoted_path
from ...verdict.judge.accepted_commits import without_committed
from ...verdict.judge.decided_now import note_undecided
from ...verdict.judge.workspace_ledger import Ledger
from ...verdict.scope.run_scope import scope_of_run

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext

_NAMED = 3


def layers_folder(ctx: RunContext) -> Path:
    """Return the layers' folder of the workspace, whether the run has layers or not. Raises OSError."""
    layers = ctx.layers or ctx.views or ctx.units
    return layers.contents_base if layers is not None else place_of_orders(ctx.workspace.seen, ctx.journal.path.parent)


async def note_at_end(ctx: RunContext) -> None:
    """Note what nobody decided on in the ledger of the workspace."""
    scope = ctx.scope
    if scope is None:
        return
    try:
        base = await asyncio.to_thread(layers_folder, ctx)
        start = None if ctx.views is None else ctx.views.start
        await asyncio.to_thread(note_undecided, ctx.facts, ctx.journal, base, ctx.workspace.seen, scope, start)
    except (OSError, ValueError) as error:
        text = f"later runs cannot know which changes nobody decided on: {error}"
        ctx.events.record(Fault(kind="program", text=text))


def note_before_fork(journal: Journal, facts: RunFacts) -> None:
    """Note what a run changed so far, before one begins that has only a part of it in its journal.

    Raises OSError, and ValueError if the ledger is damaged.
    """
    workspace = Path(journal.spec.workspace)
    scope = scope_of_run(facts.verdicts, journal, workspace)
    if scope is None or facts.verdicts.scope is None:
        return
    base, runs = place_of_orders(workspace, journal.path.parent), place_of_copies(workspace, journal.path.parent)
    is_copied, hidden = facts.verdicts.scope.in_copy, own_folder_in(workspace)
    start = StartCopy.left(runs, start_name(journal), workspace, hidden) if is_copied else None
    try:
        note_undecided(facts, journal, base, workspace, scope, start)
    finally:
        if start is not None:
            start.close()


def left_undecided(ctx: RunContext) -> list[str]:
    """Return a line about what earlier runs changed and nobody decided on; none if there is nothing. Reads the disk.

    Raises OSError, and ValueError if the ledger is damaged.
    """
    noted = without_committed(Ledger(ctx.workspace.seen, ctx.journal.path.parent).read(), ctx.workspace.seen)
    paths = sorted(entry.path for entry in noted.entries)
    if not paths:
        return []
    names = first_names([*map(quoted_path, paths)], _NAMED)
    return [f"earlier runs changed {plural(len(paths), 'file')} that nobody decided on: {names}"]
