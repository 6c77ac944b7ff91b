"""`rundry apply`: show what an ended run staged, and apply what is accepted. No model is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...facts.checkpoint import facts_of
from ...gate.draft import digest_of
from ...gate.effects.policy import HELD_BY_MODE
from ...gate.entries import opened
from ...gate.gate import Gate
from ...gate.policy import Verdict
from ...gate.session_policy import GatedTree, SessionPolicy
from ...journal.claim import claim
from ...journal.journal import Journal
from ...layers.effects import TooMuch
from ...layers.left import remove_unit
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit, UnitElsewhere, UnitLost
from ...loops.shared.state import LoopState, met
from ...model.no_model import NoModel
from ...protocol import EntryChoice, GateMode, ProposalDecided, ProposalOpened, StageEnded, UserError
from ...step.checks.verify import verify
from ...step.resources.models_in_use import ModelsInUse
from ...step.resources.stage import Stage, decided_on
from ...step.resources.unit_watch import UnitWatch
from ...step.tool_calls.apply_effects import finish_accepted
from ...step.tool_calls.effect_entries import is_folder, readable, sort_effects, with_blobs
from ...step.tool_calls.effects_at_gate import effects_draft, take_listed
from ...step.tool_calls.perform_calls import GatedCalls
from ..client.start_request import Order, ResumeChanges
from ..damaged.admission import require_undamaged
from ..setup.assemble import workspace_tree
from ..setup.build_context import Committing, build
from ..setup.inputs import Inputs, ProcessContext
from .at_end import write_patch
from .branch import make_branch
from .choices import keep_choices, kept_choices
from .left import remove_ended
from .told import DROPPED, decided_words, message_about_stage

if TYPE_CHECKING:
    from ...facts.facts import RunFacts
    from ...gate.effects.draft import EffectsDraft
    from ...layers.run_layers import Listed
    from ...protocol import Decide, EffectEntry, Event, Stamped
    from ...step.resources.context import RunContext
    from ...step.resources.tree import Tree
    from ...step.tool_calls.effect_entries import Sorted
    from ...step.tool_calls.effects_at_gate import Taken

NOTHING = "nothing is staged in run {run}: `rundry doctor` lists all stages of this folder"
_COMMAND = "rundry apply"
_STAGED = "the run was staged: what it changed waits"
"""What changed the files, for the list of changes and for an undo."""
_KILLED = "`rundry apply` was killed before the decision was carried out"


@dataclass(slots=True)
class _Person:
    """Somebody decides at the gate on the result of the run, and nobody on what its checks change afterwards."""

    is_here: bool = True


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a decision."""

    lines: Sequence[str]
    """What was applied and what was not, in sentences."""
    is_over: bool
    """Whether nothing is staged any more. Else an entry was skipped, or somebody changed a file meanwhile."""
    skipped: bool
    """Whether something of the stage was not applied."""
    met: str | None = None
    """The checks that passed in the workspace; None: they did not pass, or there are none."""
    has_checks: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the workspace is as the run wants it: its checks pass there, or all of it was applied."""
        return self.met is not None if self.has_checks else self.is_over and not self.skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReview:
    """What a run staged. It is made by `open_stage`, and can be decided on once."""

    run_id: str
    shown: ProposalOpened
    """The whole result as one proposal, which is not in the journal. It may have no entries."""
    notes: Sequence[str]
    """What is never applied or refused, and what an earlier process left undone."""
    _waiting: frozenset[str]
    """The paths that somebody has to decide on, without those that a rule refuses."""
    choices: Mapping[int, EntryChoice]
    """What a person chose in an earlier review that they left without a decision, by the index of the entry."""
    _ctx: RunContext
    _person: _Person
    _stage: Stage
    _listed: Listed

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to decide on or to apply."""
        effects = self.shown.effects
        return effects is None or not (effects.entries or effects.along)

    def content(self, sha: str | None) -> bytes | None:
        """Return the bytes of a blob that an entry names."""
        return None if sha is None else self._ctx.journal.blob(sha)

    def keep_choices(self, choices: Mapping[int, EntryChoice]) -> None:
        """Store choices for the next review, if this one ends without a decision. Raises UserError."""
        try:
            keep_choices(self._stage.unit.folder, _entries(self.shown), choices)
        except OSError as error:
            raise UserError(f"the choices cannot be stored: {error.strerror}") from None

    async def apply(self, decision: Decide) -> Applied:
        """Apply what the decision accepts, then run the checks in the workspace. Skipped entries stay staged.

        Raises UserError if the decision is not possible; then nothing was applied.
        """
        ctx = self._ctx
        refused = list[str]()

        def record(event: Event) -> Stamped:
            stamped = ctx.events.record(event)
            if isinstance(event, ProposalOpened):
                asyncio.get_running_loop().call_soon(decide, event)
            return stamped

        def decide(asked: ProposalOpened) -> None:
            own = msgspec.structs.replace(decision, proposal_id=asked.proposal_id)
            why = ctx.gate.decide(own)
            if why is not None:
                refused.append(why)
                ctx.gate.cancel_all(why)

        taken = await take_listed(ctx, self._stage.layers, self._stage.unit.layer, self._listed, _COMMAND, record)
        if refused:
            raise UserError(refused[0])
        self._person.is_here = False
        effects = self.shown.effects
        in_conflict = any(entry.conflict for entry in effects.entries) if effects is not None else False
        is_partial = any(choice.skip or choice.hunks is not None for choice in decision.entries.values())
        stays = self._waiting.intersection(taken.dropped)  # also what somebody changed since it was listed
        is_over = not (in_conflict or taken.failed or is_partial or stays)
        self._tell_model(decided_words(taken.lines, is_over=is_over))
        if not is_over:
            await asyncio.to_thread(self._keep_rest, taken)
        has_checks = ctx.facts.spec.predicates.exist
        if has_checks:
            with ctx.activity.in_progress():
                await verify(ctx, ctx.events.record, claim=True, compared=False)
        if is_over:  # last, so that after a kill the next `rundry apply` runs the checks again
            await self.drop("applied")
        return Applied(
            lines=taken.lines,
            is_over=is_over,
            skipped=bool(decision.entries or taken.dropped) or not is_over,
            met=met(LoopState(ctx.facts)) if has_checks else None,
            has_checks=has_checks,
        )

    def _keep_rest(self, taken: Taken) -> None:
        """Let what was not applied be the stage from here on."""
        entries = (one for group in self._listed.groups if group.kind != "git" for one in group.entries)
        paths = [one.effect.path for one in entries]
        out = {*taken.dropped, *taken.failed}
        self._stage.unit.note_applied(path for path in paths if path not in out and readable(path) not in out)
        keep_choices(self._stage.unit.folder, [], {})

    async def drop(self, how: str = "dropped") -> None:
        """Delete what is staged."""
        self._ctx.events.record(StageEnded(how="applied" if how == "applied" else "dropped"), durable=True)
        await asyncio.to_thread(self._stage.unit.drop)
        if how == "dropped":
            self._tell_model(DROPPED)

    def _tell_model(self, text: str) -> None:
        if (message := message_about_stage(self._ctx.facts, text)) is not None:
            self._ctx.events.record(message)

    def write_patch(self, target: Path) -> None:
        """Write the whole stage as a patch for plain git. Raises OSError and StaleFile."""
        write_patch(self._stage, self._listed, target)

    def make_branch(self, name: str) -> str:
        """Commit the whole stage to a new branch, on HEAD, and return the commit. Raises UserError."""
        return make_branch(self._stage, self._listed, name, self._ctx.facts.spec.task)


@asynccontextmanager
async def open_stage(
    path: Path, env: Mapping[str, str], tell: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[StageReview]:
    """Mount what the run of this journal staged, and let it be decided on during the block.

    Raises RunHeld, JournalError, and UserError if nothing is staged or it cannot be used.
    """
    with claim(path):
        journal = Journal.open(path)
        try:
            require_undamaged(journal)
            facts = facts_of(journal)
            name, run = facts.changes.stage, journal.spec.run_id
            if name is None:
                await asyncio.to_thread(remove_ended, path, Path(journal.spec.workspace))
                raise UserError(NOTHING.format(run=run))
            inputs = Inputs(
                journal=journal,
                facts=facts,
                order=Order(journal=str(path), changes=ResumeChanges(gate=GateMode.EFFECTS), linger=False),
                process=ProcessContext(env=env),
                calls=GatedCalls(),
                on_event=lambda _: None,
                tell=tell,
            )
            tree, commands_env, _ = await workspace_tree(inputs)
            layers = tree.layers
            if layers is None:
                raise UserError(f"the stage of run {run} cannot be mounted: {tree.why_no_layers}")
            try:
                person = _Person()
                gated = replace(tree, gate=_gate(journal, facts, tree, person))
                made = build(inputs, gated, ModelsInUse(NoModel(), commands_env), Committing(None, None))
                async with _reviewed(made.ctx, layers.folder / name, person) as review:
                    yield review
            finally:
                await asyncio.to_thread(layers.close)
        finally:
            journal.close()


def _gate(journal: Journal, facts: RunFacts, tree: Tree, person: _Person) -> Gate:
    """Return a gate at which somebody decides on all that is not built by the way, also on what a rule allows."""
    rules = [rule for rule in facts.rules if rule.verdict != "allow"]
    policy = SessionPolicy(msgspec.structs.replace(journal.spec.gate, mode=GateMode.EFFECTS), rules=rules)
    gated = GatedTree(workspace=tree.workspace, guard=tree.guard.matches, sandbox=tree.sandbox.kind, layers=True)
    return Gate(
        gated,
        policy,
        keep=journal.keep,
        attended=lambda: person.is_here,
        clock=ProcessContext().clock,
        given_ids=lambda: facts.requests.proposal_ids,
    )


@asynccontextmanager
async def _reviewed(ctx: RunContext, folder: Path, person: _Person) -> AsyncGenerator[StageReview]:
    layers = ctx.layers
    assert layers is not None  # the caller looked
    await ctx.guarded.start(is_new=True)  # what the user has now counts
    for name in list(ctx.facts.requests.ends_with_runner):
        ctx.events.record(ProposalDecided(proposal_id=name, decision="reject", by="policy", reason=_KILLED))
    notes = await finish_accepted(ctx, layers, ctx.events.record)
    try:
        unit = await asyncio.to_thread(Unit.left, layers, folder, is_final=True)
    except UnitLost as lost:
        run, exists = ctx.facts.spec.run_id, await asyncio.to_thread(folder.exists)
        if isinstance(lost, UnitElsewhere):
            raise UserError(f"the stage of run {run} cannot be mounted: {lost}") from None
        if not exists and not ctx.facts.staged:  # an empty stage does not outlast its runner
            raise UserError(NOTHING.format(run=run)) from None
        ctx.events.record(StageEnded(how="lost"), durable=True)
        if exists:
            await asyncio.to_thread(remove_unit, folder)
        raise UserError(f"the stage of run {run} is lost: {lost}") from None
    except (LayerRefused, Occupied) as error:
        raise UserError(f"the stage of run {ctx.facts.spec.run_id} cannot be mounted: {error}") from None
    stage = Stage(unit, layers, ctx.workspace, ctx.sandbox, UnitWatch(ctx.workspace))
    try:
        try:
            listed = await stage.listed()
        except (Occupied, TooMuch, NamespacesRefused, OSError) as error:
            raise UserError(f"the stage of run {ctx.facts.spec.run_id} cannot be listed: {error}") from None
        found, shown = await asyncio.to_thread(_shown, ctx, listed)
        review = StageReview(
            run_id=ctx.facts.spec.run_id,
            shown=shown,
            notes=[*notes, *found.refused, *(f"never applied: {line}" for line in listed.left_out)],
            choices=await asyncio.to_thread(kept_choices, unit.folder, _entries(shown)),
            _waiting=_waiting(listed, found),
            _ctx=ctx,
            _person=person,
            _stage=stage,
            _listed=listed,
        )
        stage.is_empty = review.is_empty
        yield review
    finally:
        if ctx.facts.changes.stage is not None:
            await stage.close()


def _entries(shown: ProposalOpened) -> Sequence[EffectEntry]:
    return [] if shown.effects is None else shown.effects.entries


def _shown(ctx: RunContext, listed: Listed) -> tuple[Sorted, ProposalOpened]:
    """Return the sorted effects, and the proposal as it will be opened."""
    found = sort_effects(ctx.gate, ctx.workspace.root, listed, ctx.guarded.holds, is_hook=False)
    with ctx.journal.transaction():
        found.asking = with_blobs(found.asking, ctx.journal.keep)
    draft = effects_draft(ctx, found, _COMMAND)
    return found, _opened(ctx, draft)


def _waiting(listed: Listed, found: Sorted) -> frozenset[str]:
    files = (one for one in decided_on(listed) if not is_folder(one))
    return frozenset(readable(one.path) for one in files if one.conflict or one.path not in found.left)


def _opened(ctx: RunContext, draft: EffectsDraft) -> ProposalOpened:
    verdict = ctx.gate.verdict(draft) if draft.entries else Verdict(action="ask", why=[])
    why = [_STAGED if line == HELD_BY_MODE else line for line in verdict.why]
    return opened(
        draft,
        msgspec.structs.replace(verdict, why=why),
        None,
        ctx.journal.keep,
        proposal_id="stage",
        call_id="",
        digest=digest_of(draft, ctx.sandbox.kind),
        sandbox=ctx.sandbox.kind,
    )
