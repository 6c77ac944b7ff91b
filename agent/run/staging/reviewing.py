"""Open an ended or waiting run, so that a person decides on what it changed: without a model and without a runner."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...gate.gate import Gate
from ...gate.session_policy import GatedTree, SessionPolicy
from ...journal.claim import claim
from ...journal.journal import Journal
from ...models.no_model import NoModel
from ...protocol import Evidence, GateMode
from ...state.facts.checkpoint import facts_of
from ...step.resources.models_in_use import ModelsInUse
from ...step.tool_calls.perform_calls import GatedCalls
from ..client.start_request import Order, ResumeChanges
from ..start.assemble import workspace_tree
from ..start.build_context import build
from ..start.damaged_journal import require_undamaged
from ..start.inputs import Inputs, ProcessContext
from ..start.layers_of_run import close_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext
    from ...step.resources.run_tree_files import Tree


@dataclass(slots=True)
class Person:
    """Whether somebody decides at the gate: on the result of the run yes, on what its checks change afterwards no."""

    is_here: bool = True

    def is_attended(self) -> bool:
        """Return whether the person still decides."""
        return self.is_here


class ClaimedRun(NamedTuple):
    """A run that no other process has meanwhile."""

    path: Path
    journal: Journal
    facts: RunFacts


class Reviewing(NamedTuple):
    """The objects of a run over its workspace, even if it worked in a stage."""

    ctx: RunContext
    person: Person
    why_no_layers: str


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision."""

    lines: Sequence[str]
    """What was applied and what was not, in sentences."""
    is_over: bool = True
    """Whether nothing is staged any more. Else an entry was skipped, or somebody changed a file meanwhile."""
    skipped: bool = False
    """Whether something was not accepted or applied."""
    met: str | None = None
    """The checks that passed in the workspace, or None if they did not pass, or there are none."""
    why: str = ""
    """Why that does not count, as text for people: it rests on something undecided, or is not confirmed."""
    evidence: Evidence | None = None
    has_checks: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the workspace is as the run wants it: its checks pass there and that counts, or all was applied."""
        return self.met is not None and not self.why if self.has_checks else self.is_over and not self.skipped


@contextmanager
def claimed_run(path: Path) -> Generator[ClaimedRun]:
    """Claim the run of this journal during the block. Raises RunHeld, JournalError, and UserError if it is damaged."""
    with claim(path):
        journal = Journal.open(path)
        try:
            require_undamaged(journal)
            yield ClaimedRun(path, journal, facts_of(journal))
        finally:
            journal.close()


@asynccontextmanager
async def reviewed_run(
    run: ClaimedRun, env: Mapping[str, str], tell: Callable[[str], None]
) -> AsyncGenerator[Reviewing]:
    """Build the run's objects over its workspace for the block. `tell` says what the person waits for."""
    inputs = Inputs(
        journal=run.journal,
        facts=run.facts,
        order=Order(journal=str(run.path), changes=ResumeChanges(gate=GateMode.EFFECTS), linger=False),
        process=ProcessContext(env=env),
        calls=GatedCalls(),
        on_event=lambda _: None,
        tell=tell,
    )
    tree, commands_env, _ = await workspace_tree(inputs)
    try:
        person = Person()
        gated = replace(tree, gate=_gate(run, tree, person))
        made = build(inputs, gated, ModelsInUse(NoModel(), commands_env, inputs.process.opener), None)
        yield Reviewing(made.ctx, person, tree.why_no_layers)
    finally:
        await close_layers(tree.layers, tree.units, tree.views)


def _gate(run: ClaimedRun, tree: Tree, person: Person) -> Gate:
    """Return a gate at which somebody decides on everything except build output, also on what a rule allows."""
    rules = [rule for rule in run.facts.rules if rule.verdict != "allow"]
    policy = SessionPolicy(msgspec.structs.replace(run.journal.spec.gate, mode=GateMode.EFFECTS), rules=rules)
    gated = GatedTree(workspace=tree.workspace, guard=tree.guard, sandbox=tree.sandbox.kind, layers=True)
    return Gate(
        gated,
        policy,
        blobs=run.journal.blobs,
        views=person,
        clock=ProcessContext().clock,
        requests=run.facts.requests,
    )
