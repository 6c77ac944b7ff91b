"""`rundry apply`: show what an ended run staged, and apply what is accepted. No model is used."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...gate.draft import digest_of_draft
from ...gate.effects_policy import HELD_BY_MODE
from ...gate.policy import Verdict
from ...gate.proposal_events import opened
from ...host.file_errors import StaleFile
from ...layers.git.apply_git_rows import keep_commits
from ...layers.git.import_objects import BadObjects
from ...layers.layer_effects import TooMuch
from ...layers.left_layers import remove_unit
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...layers.remedies import LayerRefused
from ...layers.unit import Unit, UnitElsewhere, UnitLost
from ...protocol import EntryChoice, ProposalDecided, ProposalOpened, StageEnded, UserError
from ...protocol.text.counts import plural
from ...repo.real_git import RealGit, RealGitFailed
from ...state.reports.deciding_chat import CHAT_DECIDES, deciding_chat
from ...step.resources.run_stage import Stage, decided_on
from ...step.resources.unit_watch import UnitWatch
from ...step.tool_calls.apply_effects import finish_accepted
from ...step.tool_calls.effect_entries import is_folder, sort_effects, storable_path, with_blobs
from ...step.tool_calls.effects_at_gate import accept_listed, effects_draft
from ..end.undecided import note_at_end
from .judge_in_place import InPlace, end_as_done, result_in_place
from .remove_left import remove_ended
from .reviewing import Applied, Person, claimed_run, reviewed_run
from .stage_note import DROPPED, decided_words, message_about_stage
from .stage_patch import patch_of, write_patch

if TYPE_CHECKING:
    from ...gate.effects_draft import EffectsDraft
    from ...layers.run_layers import Listed, RunLayers
    from ...protocol import Decide, EffectEntry, Event
    from ...step.resources.run_context import RunContext
    from ...step.tool_calls.effect_entries import Sorted
    from ...step.tool_calls.effects_at_gate import EffectsOutcome

NOTHING = "nothing is staged in run {run}: `rundry doctor` lists all stages of this folder"
_COMMAND = "rundry apply"
_STAGED = "the run was staged: what it changed waits"
"""What changed the files, for the list of changes and for an undo."""
_KILLED = "`rundry apply` was killed before the decision was carried out"
_MOST_SUBJECT = 72
_CHOICES = "choices"
"""The file next to a stage in which the choices of a review are."""


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
    is_refused: bool
    """Whether a rule refuses all that is staged. It stays staged: a patch has it, and the rule can be removed."""
    choices: Mapping[int, EntryChoice]
    """What a person chose in an earlier review that they left without a decision, by the index of the entry."""
    _ctx: RunContext
    _person: Person
    _stage: Stage
    _listed: Listed

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to decide on or to apply."""
        effects = self.shown.effects
        return effects is None or not (effects.entries or effects.along)

    def content(self, sha: str | None) -> bytes | None:
        """Return the bytes of a blob that an entry names."""
        return None if sha is None else self._ctx.journal.blobs.load(sha)

    def keep_choices(self, choices: Mapping[int, EntryChoice]) -> None:
        """Store choices for the next review, if this one ends without a decision. Raises UserError."""
        try:
            _store_choices(self._stage.unit.folder, _entries(self.shown), choices)
        except OSError as error:
            raise UserError(f"the choices cannot be stored: {error.strerror}") from None

    async def apply(self, decision: Decide) -> Applied:
        """Apply what the decision accepts, then run the checks in the workspace. Skipped entries stay staged.

        Raises UserError if the decision is not possible; then nothing was applied.
        """
        if self.is_refused:
            return Applied(lines=self.notes, is_over=False, skipped=True)
        ctx, events = self._ctx, _DecidedEvents(self._ctx, decision)
        outcome = await accept_listed(ctx, self._stage.layers, self._stage.unit.layer, self._listed, _COMMAND, events)
        if events.refused:
            raise UserError(events.refused[0])
        self._person.is_here = False
        conflicts = {entry.kind for entry in _entries(self.shown) if entry.conflict}
        is_partial = any(choice.skip or choice.hunks is not None for choice in decision.entries.values())
        stays = self._waiting.intersection(outcome.dropped)  # also what somebody changed since it was listed
        is_over, left = not (conflicts - {"git"} or outcome.failed or is_partial or stays), ""
        if is_over and conflicts:
            is_over, left = await asyncio.to_thread(self._leave_commits)
        lines = [*outcome.lines, *([left] if left else [])]
        self._tell_model(decided_words(lines, is_over=is_over))
        if not is_over:
            await asyncio.to_thread(self._keep_rest, outcome)
        await note_at_end(ctx)  # also if the checks are killed
        has_checks = ctx.facts.spec.predicates.exist
        found = await result_in_place(ctx) if has_checks else InPlace(met=None)
        if is_over:  # last, so that after a kill the next `rundry apply` runs the checks again
            await self.drop("applied")
            end_as_done(ctx, found)
        return Applied(
            lines=lines,
            is_over=is_over,
            skipped=bool(decision.entries or outcome.dropped or left) or not is_over,
            met=found.met,
            why=found.why,
            evidence=found.evidence,
            has_checks=has_checks,
        )

    def _leave_commits(self) -> tuple[bool, str]:
        """Keep commits under separate refs if they cannot be applied any more although their files were.

        Returns whether they are safe, and a line about them.
        """
        layers, workspace, kept = self._stage.layers, self._stage.workspace, list[str]()
        try:
            with layers.orders.locked():
                for changes in self._listed.git:
                    kept += keep_commits(changes, workspace.root, workspace.leftovers)
        except (BadObjects, OSError) as error:
            return False, f"The commits of the run cannot be kept apart: {error}."
        names = ", ".join(f"`{ref}`" for ref in kept)
        return True, f"The commits of the run are left behind, as {names}." if kept else ""

    def _keep_rest(self, outcome: EffectsOutcome) -> None:
        """Make what was not applied the stage from here on."""
        entries = (one for group in self._listed.groups if group.kind != "git" for one in group.entries)
        paths = [one.effect.path for one in entries]
        out = {*outcome.dropped, *outcome.failed}
        self._stage.unit.note_applied(path for path in paths if path not in out and storable_path(path) not in out)
        _store_choices(self._stage.unit.folder, [], {})

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
        return _commit_branch(self._stage, self._listed, name, self._ctx.facts.spec.task)


@asynccontextmanager
async def open_stage(
    path: Path, env: Mapping[str, str], tell: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[StageReview]:
    """Mount what the run of this journal staged, and provide a review of it during the block.

    Raises RunHeld, JournalError, and UserError if nothing is staged or it cannot be used.
    """
    with claimed_run(path) as run:
        if chat := deciding_chat(run.journal.spec):
            raise UserError(CHAT_DECIDES.format(chat=chat))
        name = run.facts.changes.stage
        if name is None:
            await asyncio.to_thread(remove_ended, path, Path(run.journal.spec.workspace))
            raise UserError(NOTHING.format(run=run.journal.spec.run_id))
        async with reviewed_run(run, env, tell) as found:
            layers = found.ctx.layers or found.ctx.units
            if layers is None:
                why = found.why_no_layers
                raise UserError(f"the stage of run {run.journal.spec.run_id} cannot be mounted: {why}")
            async with _reviewed(found.ctx, layers, layers.folder / name, found.person) as review:
                yield review


@dataclass(frozen=True, slots=True)
class _DecidedEvents:
    """Records events, and applies the decision to the proposal as soon as it is open."""

    ctx: RunContext
    decision: Decide
    refused: list[str] = field(default_factory=list[str])
    """Why the decision is not possible."""

    def record(self, event: Event) -> None:
        self.ctx.events.record(event)
        if isinstance(event, ProposalOpened):
            asyncio.get_running_loop().call_soon(self._decide, event)

    def _decide(self, asked: ProposalOpened) -> None:
        why = self.ctx.gate.decide(msgspec.structs.replace(self.decision, proposal_id=asked.proposal_id))
        if why is not None:
            self.refused.append(why)
            self.ctx.gate.cancel_all(why)


@asynccontextmanager
async def _reviewed(ctx: RunContext, layers: RunLayers, folder: Path, person: Person) -> AsyncGenerator[StageReview]:
    for name in list(ctx.facts.requests.ends_with_runner):
        ctx.events.record(ProposalDecided(proposal_id=name, decision="reject", by="policy", reason=_KILLED))
    notes = await finish_accepted(ctx, layers, ctx.events)
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
            choices=await asyncio.to_thread(_stored_choices, unit.folder, _entries(shown)),
            _waiting=_waiting(listed, found),
            is_refused=bool(found.left) and not (found.asking or found.along or found.passing),
            _ctx=ctx,
            _person=person,
            _stage=stage,
            _listed=listed,
        )
        stage.is_empty = review.is_empty and not review.is_refused
        yield review
    finally:
        if ctx.facts.changes.stage is not None:
            await stage.close()


def _entries(shown: ProposalOpened) -> Sequence[EffectEntry]:
    return [] if shown.effects is None else shown.effects.entries


def _shown(ctx: RunContext, listed: Listed) -> tuple[Sorted, ProposalOpened]:
    """Return the sorted effects, and the proposal as it will be opened."""
    found = sort_effects(ctx.gate, ctx.workspace.root, listed, ctx.guard, is_hook=False)
    with ctx.journal.transaction():
        found.asking = with_blobs(found.asking, ctx.journal.blobs)
    draft = effects_draft(ctx, found, _COMMAND, ())  # the notes have what is never applied
    return found, _opened(ctx, draft)


def _waiting(listed: Listed, found: Sorted) -> frozenset[str]:
    files = (one for one in decided_on(listed) if not is_folder(one))
    return frozenset(storable_path(one.path) for one in files if one.conflict or one.path not in found.left)


def _opened(ctx: RunContext, draft: EffectsDraft) -> ProposalOpened:
    verdict = ctx.gate.verdict(draft) if draft.entries else Verdict(action="ask", why=[])
    why = [_STAGED if line == HELD_BY_MODE else line for line in verdict.why]
    return opened(
        draft,
        msgspec.structs.replace(verdict, why=why),
        None,
        ctx.journal.blobs,
        proposal_id="stage",
        call_id="",
        digest=digest_of_draft(draft, ctx.sandbox.kind),
        sandbox=ctx.sandbox.kind,
    )


def _commit_branch(stage: Stage, listed: Listed, name: str, task: str) -> str:
    """Commit HEAD with what is staged to a new branch, without touching the workspace or its index.

    Returns the commit. Raises UserError.
    """
    folders = stage.unit.layer.git
    if folders is None:
        raise UserError(f"--branch {name}: {stage.workspace.root} is not in a git repository")
    git = RealGit(folders, stage.workspace.root)
    try:
        git.run("check-ref-format", "--branch", name)
        patch = b"".join(patch_of(stage, listed))
        with tempfile.TemporaryDirectory(dir=stage.unit.folder) as folder:
            more = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            git.run("read-tree", "HEAD", more=more)
            try:
                git.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch, more=more)
            except RealGitFailed as error:
                raise UserError(f"--branch {name}: {_why_not_on_head(git, listed) or error}") from None
            tree = git.run("write-tree", more=more).decode().strip()
        subject = " ".join(task.split())[:_MOST_SUBJECT] or "Apply a stage"
        commit = git.run("commit-tree", tree, "-p", "HEAD", stdin=f"{subject}\n".encode()).decode().strip()
        git.run("update-ref", f"refs/heads/{name}", commit, "0" * len(commit))
    except (RealGitFailed, OSError, StaleFile) as error:
        raise UserError(f"--branch {name}: {error}") from None
    return commit


def _why_not_on_head(git: RealGit, listed: Listed) -> str:
    """Return why the stage does not fit the last commit, or empty if the reason is not uncommitted lines."""
    status = git.run("status", "--porcelain=v1", "-z", "--untracked-files=all").split(b"\0")
    uncommitted = {os.fsdecode(line[3:]) for line in status}
    paths = [storable_path(one.path) for one in decided_on(listed) if one.path in uncommitted]
    if not paths:
        return ""
    more = f" and {plural(len(paths) - 1, 'file')} more" if len(paths) > 1 else ""
    what = "has changes that are not committed, and the stage begins with them"
    return f"{paths[0]}{more} {what}. Commit them, or use --patch FILE"


def _store_choices(folder: Path, entries: Sequence[EffectEntry], choices: Mapping[int, EntryChoice]) -> None:
    """Store the choices next to the stage, by the digest of their entry. `choices`: by index. Raises OSError."""
    kept = {_digest_of_entry(entries[at]): choice for at, choice in choices.items()}
    new = folder / f"{_CHOICES}-new"
    new.write_bytes(msgspec.json.encode(kept))
    new.replace(folder / _CHOICES)


def _stored_choices(folder: Path, entries: Sequence[EffectEntry]) -> dict[int, EntryChoice]:
    """Return the stored choices for entries that are as they were then, by index. Raises OSError."""
    try:
        kept = msgspec.json.decode((folder / _CHOICES).read_bytes(), type=dict[str, EntryChoice])
    except (FileNotFoundError, msgspec.MsgspecError):  # of another version: the person chooses again
        return {}
    digests = {at: _digest_of_entry(entry) for at, entry in enumerate(entries)}
    return {at: kept[digest] for at, digest in digests.items() if digest in kept}


def _digest_of_entry(entry: EffectEntry) -> str:
    return hashlib.sha256(msgspec.json.encode(entry)).hexdigest()
