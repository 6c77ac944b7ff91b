"""Close a pass: apply what it changed and commit it, or drop it and keep a patch.

The workspace is written in one order, and only if the pass is kept (decision 0039).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...host.file_errors import StaleFile
from ...layers.effect_rows import new_name
from ...layers.git.git_rows import GitChanges, HeadRow, RefRow, StashRow
from ...layers.layer_effects import TooMuch
from ...layers.namespaces import NamespacesRefused
from ...layers.occupied import Occupied
from ...protocol import Branch, FileChanged, Judged, PassKept, PatchKept, Reason, ToolFinished, WorkResult
from ...protocol.text.counts import plural
from ...repo.refs import ID, read_refs
from ...repo.repository import GitFailed, Repository
from ...state.facts.verdicts import result_of
from ...step.resources.activity import PersonInterrupted
from ...step.tool_calls.apply_effects import apply_effects
from ...step.tool_calls.direct_changes import look_before, reach_of, record_changes
from ...step.tool_calls.effect_entries import sort_effects
from ...step.tool_calls.effects_at_gate import Decided, decide_effects
from ...step.tool_calls.protected_changes import leave_protected
from ...verdict.judge.judge import not_judged
from ...verdict.judge.judge_view import ViewFailed
from ..end.suspect import accept_same_results
from ..loops.shared.judged_end import with_options
from ..loops.shared.loop_state import LoopState, met, suspects_left
from .check_tree import predicates_met
from .measure import Measured, judge_score
from .pass_commit import Before, Committed, Overlaps, make_commit
from .pass_end import finish_pass
from .pass_texts import commit_message, describe_failure, pass_summary
from .show_try import review
from .unit_changes import change_hash
from .unit_judging import case_of_pass, judge_unit
from .unit_work import Work, pass_approved, work_of, work_of_child

if TYPE_CHECKING:
    from ...layers.run_layers import Listed
    from ...protocol import PassStarted, RunSpec
    from ...sandbox.git_hooks import CommitHooks
    from ...state.facts.change_log import FileEffect
    from ...state.facts.pass_facts import PassFacts
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext
    from .pass_commit import PassFiles
    from .pass_unit import PassUnit
    from .unit_changes import UnitChange

_UNREADABLE = (Occupied, NamespacesRefused, TooMuch, OSError, StaleFile)
_NAMED = 3
_TRIES = 3
"""How often a patch is made again because the user changed a file meanwhile."""
_NOT_DONE = "not done: the layer of this pass is lost"


class _Found(NamedTuple):
    """What a pass changed."""

    listed: Listed
    files: PassFiles
    changes: list[UnitChange]
    change: str
    """Hash of what its tools and commands changed. Empty means nothing."""
    work: Work

    @property
    def history(self) -> list[str]:
        """A line for each change of HEAD, refs and the stash."""
        return [line for one in self.listed.git for line in _history(one)]


@dataclass(frozen=True, slots=True)
class UnitEnd:
    """Closes the passes of one run."""

    _ctx: RunContext
    """The context of the run: its files are the workspace."""

    @property
    def _facts(self) -> PassFacts:
        assert self._ctx.facts.pass_facts is not None  # facts of these loops always have it
        return self._ctx.facts.pass_facts

    @property
    def _is_run(self) -> bool:
        """Whether each pass is a child run."""
        improve = self._ctx.facts.spec.improve
        return improve is not None and improve.pass_loop is not None

    async def close(
        self, opened: PassUnit, started: PassStarted, why: str, *, is_whole: bool, judged: bool, asks: bool
    ) -> WorkResult:
        """Close the pass. It stays open if a person must be asked about a suspect check first.

        `is_whole`: it ended by itself, not because the run ends. `asks`: whether a person can be asked.
        Raises PersonInterrupted.
        """
        if self._facts.rolling_back is not None:
            return await self._drop(opened, started, self._facts.rolling_back)
        try:
            return await self._close(opened, started, why, is_whole=is_whole, judged=judged, asks=asks)
        except _UNREADABLE as error:
            if self._facts.keeping is not None or self._facts.rolling_back is not None:
                raise  # it is decided; the next runner ends it
            with suppress(*_UNREADABLE):
                await opened.leave()
            self.finish_lost(started, f"what it changed cannot be read ({error}); it stays in {opened.unit.folder}")
            return WorkResult()

    async def _close(
        self, opened: PassUnit, started: PassStarted, why: str, *, is_whole: bool, judged: bool, asks: bool
    ) -> WorkResult:
        found = await self._found(opened, started)
        if not found.change and (not found.history or self._ctx.facts.spec.improve is not None):
            if not found.changes and not found.history:
                await _forget(opened)
                finish_pass(self._ctx, started, "unchanged", why)
                return WorkResult()
            why = "only a check changed files" if found.changes else why
            return await self._keep_patch(opened, started, found, Measured(False, why))
        await opened.open_again()
        if started.tries > 1 or self._is_run:  # its own steps did not check it
            opened.ctx.files.mark_changed()
            opened.ctx.files.note_verified(None)
            await opened.ctx.fingerprint.take()
        measured: Measured | None = Measured(False, why)
        if judged:
            measured = await self._verdict(opened.ctx, started, why, is_whole=is_whole, asks=asks)
        if measured is None:
            return WorkResult()
        found = await self._found(opened, started)  # a check may write files and run git, too
        if measured.kept and self._ctx.judges:
            verdict = await self._judged(opened, started, found, measured)
            if isinstance(verdict, WorkResult):
                return verdict
            measured = verdict
        if not measured.kept:
            return await self._keep_patch(opened, started, found, measured)
        try:
            return await self._keep(opened, started, found, measured)
        except PersonInterrupted:  # the decision; the pass stays open
            await opened.open_again()
            raise

    async def _verdict(
        self, ctx: RunContext, started: PassStarted, why: str, *, is_whole: bool, asks: bool
    ) -> Measured | None:
        """Return the verdict on the pass, or None if a person must be asked about a suspect check first.

        `ctx`: whose files are those of the pass. `asks`: whether a person can be asked.
        Where the judge makes views, the score is measured in one later.
        Raises PersonInterrupted.
        """
        wanted = ctx.facts.spec.predicates.exist
        if wanted:
            fired = await predicates_met(ctx)
            if fired is None:
                accept_same_results(ctx.facts, ctx.events)
                fired = met(LoopState(ctx.facts))
            if fired is None:
                asks = asks and started.tries == 1 and has_undecided_suspect(ctx.facts)
                return None if asks else Measured(False, describe_failure(ctx.facts))
            why = fired
        improve = ctx.facts.spec.improve
        if improve is not None and ctx.views is None:
            return await judge_score(ctx, improve, started.number, self._facts.chosen, None)
        if improve is not None:
            return Measured(True, why)
        if wanted:
            return Measured(True, why)
        ended = is_whole and (ctx.facts.finish is not None or self._facts.silences > 0)
        return Measured(ended, why if ended else f"{why}, before the model called finish")

    async def _judged(
        self, opened: PassUnit, started: PassStarted, found: _Found, measured: Measured
    ) -> Measured | WorkResult:
        """Judge a green pass, and measure its score. Returns the end of a pass that the judge does not let pass.

        Raises PersonInterrupted.
        """
        ctx, spec = self._ctx, self._ctx.facts.spec
        if spec.tries is not None and opened.work is not None:  # it was judged when it was chosen
            return measured
        try:
            case = case_of_pass(opened, found.listed)
            judged = await judge_unit(ctx, case)
            if judged.passed and spec.improve is not None and ctx.views is not None:  # else it was measured in place
                scored = await judge_score(ctx, spec.improve, started.number, self._facts.chosen, case)
                return replace(scored, why=f"{scored.why}{_left_out(judged)}")
        except PersonInterrupted:  # the pass stays open
            await opened.open_again()
            raise
        except ViewFailed as failed:
            return await self._hand_over(opened, started, found, [not_judged(failed).detail])
        if judged.passed:
            return measured
        if judged.why == "budget":
            return Measured(False, judged.detail)
        return await self._hand_over(opened, started, found, [with_options(judged)])

    async def _found(self, opened: PassUnit, started: PassStarted) -> _Found:
        listed = await opened.listed()
        files = opened.files(listed)
        changes = await opened.changes(files)
        work = await self._work(opened, started)
        return _Found(listed, files, changes, change_hash([one for one in changes if one.path in work.paths]), work)

    async def _work(self, opened: PassUnit, started: PassStarted) -> Work:
        chosen = self._facts.chosen
        if opened.work is not None:
            return opened.work
        if chosen is not None:  # its runner is gone, and with it what was approved in it
            return Work(frozenset(chosen.files), {})
        if self._is_run:
            return await work_of_child(opened.ctx, started)
        return work_of(self._ctx.facts.changes.in_pass)

    async def _keep(self, opened: PassUnit, started: PassStarted, found: _Found, measured: Measured) -> WorkResult:
        """Decide on what the pass changed, commit and apply it."""
        ctx, events = self._ctx, self._ctx.events.bound(None, None)
        try:
            found, made, why = await self._made(opened, started, found, measured.why)
        except Overlaps as overlaps:
            return await self._hand_over(opened, started, found, overlaps.lines)
        except GitFailed as error:
            failed = Measured(False, f"it could not be committed: {error}")
            return await self._keep_patch(opened, started, await self._found(opened, started), failed)
        listed, name = found.listed._replace(git=[]), f"pass {started.number}"
        decided = await self._decided(found, listed, name)
        if isinstance(decided, WorkResult):
            return decided
        if isinstance(decided, Measured):
            return await self._keep_patch(opened, started, found, decided)
        if decided.refused:
            return await self._hand_over(opened, started, found, decided.refused)
        kept = PassKept(
            number=started.number,
            order=new_name(),
            why=f"{why}; {made.remark}" if made.remark else why,
            files=[one.path for one in found.changes],
            commit=made.commit,
            change=found.change,
        )
        accepted = decided.accepted(made.git, ["git: the commit of the pass"] if made.git else [])
        await apply_effects(ctx, opened.layers, opened.unit.layer, listed.groups, accepted, name, events, kept)
        remark = ""
        if ctx.hooks is not None and made.commit is not None and (own := await self._repository()) is not None:
            before = await look_before(ctx, events)
            await ctx.hooks.after(own)
            changed = await record_changes(ctx, before, "the hook post-commit", events, reach=await reach_of(ctx))
            await leave_protected(ctx, events, changed)
            remark = ctx.hooks.take_notes()
        result = self.finish_kept(started, remark)
        await _forget(opened)
        await ctx.fingerprint.take()
        return result

    async def _decided(self, found: _Found, listed: Listed, name: str) -> Decided | Measured | WorkResult:
        """Decide on what is applied, or return why nothing is. Raises PersonInterrupted."""
        ctx, chosen = self._ctx, self._facts.chosen
        if chosen is not None and ctx.facts.spec.tries is not None:
            return await review(ctx, chosen, listed)
        root = ctx.workspace.root
        entries = await asyncio.to_thread(sort_effects, ctx.gate, root, listed, ctx.guard, is_hook=False)
        pass_approved(entries, found.work)
        return await decide_effects(ctx, entries, listed, name, ctx.events.bound(None, None), asks=True)

    async def _made(
        self, opened: PassUnit, started: PassStarted, found: _Found, why: str
    ) -> tuple[_Found, Committed, str]:
        """Make the commit of the pass. Returns what it changed, the commit, and the reason of its verdict.

        Raises Overlaps and GitFailed.
        """
        spec, message = self._ctx.facts.spec, ""
        nothing = Committed(None, (), "")
        if started.head is None:
            return found, nothing, why if spec.tries is not None else f"{why}; not committed"
        try:
            if self._ctx.hooks is not None:
                message = await self._through_hooks(opened, started, found, why, self._ctx.hooks)
                found = await self._found(opened, started)
            return found, await self._committed(started, found, why, message), why
        except GitFailed as error:
            if spec.improve is None:
                raise
            return await self._found(opened, started), nothing, f"{why}; not committed: {error}"

    async def _committed(
        self, started: PassStarted, found: _Found, why: str, message: str, before: Before | None = None
    ) -> Committed:
        """Make the commit of the pass. `message`: empty means the usual one. Raises GitFailed and Overlaps."""
        ctx, repository = self._ctx, await self._repository()
        if repository is None:
            raise GitFailed(f"{ctx.workspace.root} is no longer in a git repository")
        message = message or commit_message(ctx.facts, started.number, pass_summary(ctx.facts), why)
        start, protected = started.head or "", branch_of(ctx.facts.spec).protected
        return await make_commit(repository, found.files, found.listed, start, message, protected, before)

    async def _repository(self) -> Repository | None:
        return await Repository.find(self._ctx.workspace.root, self._ctx.env)

    async def _through_hooks(
        self, opened: PassUnit, started: PassStarted, found: _Found, why: str, hooks: CommitHooks
    ) -> str:
        """Run the user's hooks in the unit, on the commit that would be made, and return its message.

        Raises GitFailed if they refuse it or change files, and Overlaps.
        """
        ctx = self._ctx
        message = commit_message(ctx.facts, started.number, pass_summary(ctx.facts), why)

        async def before(tree: str) -> None:
            nonlocal message
            repository = await self._repository()
            assert repository is not None  # the commit is made in it
            await opened.open_again()  # so that it has the new objects
            own = opened.ctx
            message = await hooks.before_in(repository, tree, message, own.sandbox, own.workspace.root)
            now = {one.path: one.after for one in (await self._found(opened, started)).changes}
            was = {one.path: one.after for one in found.changes}
            if changed := sorted(path for path in now.keys() | was.keys() if now.get(path) != was.get(path)):
                raise GitFailed(f"a hook changed {changed[0]}, and rundry commits only what was decided")

        await self._committed(started, found, why, message, before)
        return message

    def finish_kept(self, started: PassStarted, remark: str = "") -> WorkResult:
        """Record the end of a pass whose changes are applied. `remark`: for people."""
        kept, conflicts = self._facts.keeping, self._facts.kept_conflicts or []
        assert kept is not None  # the caller applied it
        if not conflicts:
            why = f"{kept.why}; {remark}" if remark else kept.why
            finish_pass(self._ctx, started, "kept", why, of=kept)
            return WorkResult()
        why = f"pass {started.number} was applied, but not committed, because of changes meanwhile: {conflicts[0]}"
        finish_pass(self._ctx, started, "undecided", why, of=kept, left=conflicts, ends=Reason.HANDOFF)
        return WorkResult(handoff=why)

    async def _hand_over(
        self, opened: PassUnit, started: PassStarted, found: _Found, lines: Sequence[str]
    ) -> WorkResult:
        """Drop a green pass that somebody has to decide about, and keep its patch."""
        more = f" and {plural(len(lines) - 1, 'more reason')}" if len(lines) > 1 else ""
        why = f"pass {started.number} is green, and was not applied: {lines[0]}{more}. Its patch is in the journal"
        return await self._keep_patch(opened, started, found, Measured(False, why), lines)

    async def _keep_patch(
        self,
        opened: PassUnit,
        started: PassStarted,
        found: _Found,
        measured: Measured,
        undecided: Sequence[str] = (),
    ) -> WorkResult:
        """Store the changes as a patch, then drop them."""
        ctx, patch = self._ctx, b""
        prefix = await self._prefix()
        for tried in range(_TRIES):
            try:
                patch = await opened.patch(found.listed, prefix)
                break
            except StaleFile:
                if tried == _TRIES - 1:
                    raise
                found = await self._found(opened, started)
        bundles = [one for one in map(_bundle, found.listed.git) if one is not None]
        kept = PatchKept(
            number=started.number,
            why=measured.why,
            patch=ctx.journal.blobs.keep(patch),
            world=None,
            bundle=ctx.journal.blobs.keep(bundles[0][0]) if bundles else None,
            commits=[line for _, lines in bundles for line in lines],
            history=found.history,
            files=[one.path for one in found.changes],
            change=found.change,
            unmeasured=not measured.is_measured,
            undecided=[*undecided],
            ends=measured.ends,
        )
        ctx.events.record(kept, durable=True)
        return await self._drop(opened, started, kept)

    async def _drop(self, opened: PassUnit, started: PassStarted, kept: PatchKept) -> WorkResult:
        await _forget(opened)
        await self._ctx.fingerprint.take()
        return self.finish_dropped(started, kept)

    def finish_dropped(self, started: PassStarted, kept: PatchKept) -> WorkResult:
        """Record that what the pass changed is gone, and its end."""
        with self._ctx.events.together():
            self._record_restored()
            if kept.undecided:
                left, ends = kept.undecided, Reason.HANDOFF
                finish_pass(self._ctx, started, "undecided", kept.why, of=kept, left=left, ends=ends)
            else:
                is_moved = bool(kept.history) and self._ctx.facts.spec.improve is None
                verdict = "unmeasured" if kept.unmeasured else "reverted" if kept.change or is_moved else "unchanged"
                finish_pass(self._ctx, started, verdict, kept.why, of=kept, ends=kept.ends)
        return WorkResult(handoff=kept.why) if kept.undecided else WorkResult()

    def finish_lost(self, started: PassStarted, why: str) -> None:
        """Record the end of a pass whose changes cannot be read. Its open calls get a result."""
        ctx = self._ctx
        with ctx.events.together():
            for call in ctx.facts.main.unanswered():
                lost = ToolFinished(
                    call_id=call.call_id, tool=call.tool, ok=False, result=_NOT_DONE, summary="not done"
                )
                ctx.events.record(lost, step=ctx.facts.step)
            self._record_restored()
            finish_pass(ctx, started, "reverted", why)

    def _record_restored(self) -> None:
        """Record for each file that the pass changed that it is as before."""
        first, last = dict[str, "FileEffect"](), dict[str, "FileEffect"]()
        for change in self._ctx.facts.changes.in_pass:
            for path, moved in change.files.items():
                first.setdefault(path, moved)
                last[path] = moved
        for path, moved in first.items():
            newest = last[path]
            if moved.old != newest.new:
                self._ctx.events.record(
                    FileChanged(
                        path=path,
                        by="restore",
                        before=newest.after,
                        after=moved.before,
                        unstored_before=newest.unstored_after,
                        unstored_after=moved.unstored_before,
                    )
                )

    async def _prefix(self) -> str:
        """Return the workspace below the top of its repository, with `/`.

        Returns empty if there is none, or it is the top.
        """
        ctx = self._ctx
        try:
            found = await Repository.find(ctx.workspace.root, ctx.env)
            return "" if found is None else (await found.run_checked("rev-parse", "--show-prefix")).line
        except GitFailed:
            return ""


def branch_of(spec: RunSpec) -> Branch:
    """Return where the passes of a run are committed."""
    if spec.interval is not None:
        return spec.interval.branch
    return spec.improve.branch if spec.improve is not None else Branch()


def has_undecided_suspect(facts: RunFacts) -> bool:
    """Return whether nobody decided about a check of the run that is suspect."""
    return any(result_of(check) not in facts.verdicts.asked for check in suspects_left(facts))


def _left_out(judged: Judged) -> str:
    """Return a text about the changes that the view of a score did not have, or empty if it had all."""
    if not judged.undecided:
        return ""
    more = f" and {judged.undecided_count - _NAMED} more" if judged.undecided_count > _NAMED else ""
    names = ", ".join(judged.undecided[:_NAMED])
    return f" without {names}{more}, which nobody decided on (`--scope` lets the run change a file)"


async def _forget(opened: PassUnit) -> None:
    """Delete the layer. What cannot be deleted stays, and `rundry doctor` lists it."""
    with suppress(OSError):
        await opened.drop()


def _history(changes: GitChanges) -> list[str]:
    lines = list[str]()
    for row in changes.rows:
        if isinstance(row, RefRow):
            lines.append(f"{row.name}: {_short(row.before)} -> {_short(row.after)}")
        elif isinstance(row, HeadRow) and row.before != row.after:
            lines.append(f"HEAD: {_head(row.before)} -> {_head(row.after)}")
    stashed = [row for row in changes.rows if isinstance(row, StashRow)]
    return [*lines, *([f"stash: {plural(len(stashed), 'entry')} changed"] if stashed else [])]


def _short(commit: str) -> str:
    return commit[:9] or "none"


def _head(value: str) -> str:
    return value.removeprefix("ref: refs/heads/") if value.startswith("ref: ") else f"{_short(value)} (detached)"


def _bundle(changes: GitChanges) -> tuple[bytes, list[str]] | None:
    """Return new commits of a repository as a git bundle (gitformat-bundle(5)), with a line for each.

    Returns None if there are no commits. The pack of the layer lacks what the repository's own refs have, so it needs
    their commits.
    """
    tips = {row.name: row.after for row in changes.rows if isinstance(row, RefRow) and row.after}
    heads = [row.after for row in changes.rows if isinstance(row, HeadRow) and not row.after.startswith("ref: ")]
    if heads and heads[0] not in tips.values():
        tips["HEAD"] = heads[0]
    if not tips or not changes.pack:
        return None
    try:
        pack = Path(os.fsdecode(changes.pack)).read_bytes()
    except OSError:
        return None
    if int.from_bytes(pack[8:12], "big") == 0:
        return None
    refs = read_refs(Path(os.fsdecode(changes.common)))
    befores = (row.before.removeprefix("ref: ") for row in changes.rows if isinstance(row, RefRow | HeadRow))
    needs = {commit for one in befores if ID.fullmatch(commit := refs.get(one, one))}
    is_sha1 = all(len(one) == 40 for one in tips.values())
    head = "# v2 git bundle\n" if is_sha1 else "# v3 git bundle\n@object-format=sha256\n"
    lines = [*(f"-{one}\n" for one in sorted(needs)), *(f"{tip} {name}\n" for name, tip in sorted(tips.items()))]
    subjects = dict.fromkeys(line for told in changes.commits.values() for line in told.subjects)
    commits = list(subjects) or [f"{_short(tip)} {name}" for name, tip in tips.items()]
    return f"{head}{''.join(lines)}\n".encode() + pack, commits
