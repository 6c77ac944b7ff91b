"""Hold each file change and command until it is decided, and keep it up to date with the disk meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ..host.real_paths import real_path
from ..host.watch_files import watch_files
from ..protocol import Clock, Decide, GateMode, Rule, RuleAdded, Waiting
from ..state.common.person_requests import next_proposal_id
from .decision import added_rules, refused_elsewhere, rule_on_decision
from .draft import CommandDraft, Draft, FileDraft, digest_of_draft
from .policy import Verdict, is_named
from .proposal_events import SINGLE_FILE, Place, decided, in_conflict, opened, rebased
from .rebase import Conflict, conflict_digest, holds_already, rebase_draft
from .resolve_conflict import ALREADY_DONE, PROPOSAL_CHANGED, by_policy, resolve_conflict, send_back
from .rules import run_rule
from .ruling import Ruling, approved, interrupted, left_open
from .text_diff import split_bytes
from .waiting_proposal import OpenProposal, Postponed, StoredProposal

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace
    from ..journal.blobs import Blobs
    from ..journal.other_sessions import OtherSessions
    from ..layers.effect_classes import Class
    from ..protocol.text.hunks import Split
    from ..state.common.person_requests import PersonRequests
    from ..state.recorder import Events
    from .guarded_paths import GuardedPaths
    from .session_policy import GatedTree, SessionPolicy

_CHECK_EVERY = 1.0
"""Seconds between two checks of the file's status, because file systems like NFS do not report changes."""


class Attendance(Protocol):
    """Whether a person can be asked. Implemented by the `AttachedViews` of a journal."""

    def is_attended(self) -> bool:
        """Return whether somebody is there to decide."""
        ...


class Gate:
    """The gate of one run. Several proposals can wait at the same time."""

    def __init__(
        self,
        tree: GatedTree,
        policy: SessionPolicy,
        *,
        blobs: Blobs,
        views: Attendance,
        clock: Clock,
        requests: PersonRequests,
    ) -> None:
        """`requests`: those of this run, with the ids of its proposals."""
        self.policy = policy
        self._tree, self._blobs, self._views, self._clock, self._requests = tree, blobs, views, clock, requests
        self._reviser = _Reviser(tree, policy, blobs=blobs, views=views, clock=clock)
        self._open: dict[str, OpenProposal] = {}
        self.postponed = Postponed()
        """Proposals that stay open because nobody is here to decide."""
        self._is_leaving = False
        self._others: list[Gate] = []
        """Gates of other worktrees of this run."""

    def for_worktree(
        self,
        workspace: Workspace,
        guard: GuardedPaths,
        who: str,
        *,
        reviews_result: bool = False,
        shows_result: bool = False,
    ) -> Gate:
        """Return the gate of another tree of this run, for `who`. The person and the rules are the same.

        `reviews_result`, `shows_result`: as in `GatedTree`.
        """
        tree = replace(self._tree, workspace=workspace, guard=guard, who=who, layers=False, others=None)
        other = Gate(
            replace(tree, reviews_result=reviews_result, shows_result=shows_result),
            self.policy,
            blobs=self._blobs,
            views=self._views,
            clock=self._clock,
            requests=self._requests,
        )
        other.postponed = self.postponed
        self._others.append(other)
        return other

    def forget(self, other: Gate) -> None:
        """Remove the gate of a worktree that no longer exists."""
        self._others.remove(other)

    @property
    def others(self) -> OtherSessions | None:
        """The other sessions that write in this tree. None means that it belongs to the run alone."""
        return self._tree.others

    @property
    def asks_for_effects(self) -> bool:
        """Whether changes by commands wait for a decision in this mode."""
        return self.policy.mode is GateMode.EFFECTS

    @property
    def open(self) -> Sequence[str]:
        """Ids of the waiting proposals, oldest first."""
        return [*self._open, *(name for other in self._others for name in other.open)]

    async def propose(
        self,
        draft: Draft,
        *,
        call_id: str,
        events: Events,
        can_stay_open: bool = False,
        stored: StoredProposal | None = None,
        place: Place = SINGLE_FILE,
    ) -> Ruling:
        """Open a proposal, wait until it is decided, and return the ruling. Cancelling the call rejects the proposal.

        `can_stay_open`: if nobody is here to decide, it stays open in the journal. `stored`: it is open in the journal
        already, with `draft` as its content, and is shown again unchanged. `place`: that of its file in the model's
        answer.
        """
        if stored is not None:
            await self._reviser.read_others()
        verdict = self._judge(draft)
        future: asyncio.Future[Ruling] = asyncio.get_running_loop().create_future()
        if stored is not None:
            return await self._open_again(stored.waiting(draft, verdict, events, future))
        name, digest, parts = self._announce(draft, verdict, call_id, events, place)
        waiting = OpenProposal(name, draft, digest, parts, verdict, events, future, can_stay_open)
        if verdict.action != "ask" or not self._views.is_attended():
            ruling = by_policy(draft, verdict, self.policy.on_ask)
            if ruling.handoff and can_stay_open:
                return self._postpone(waiting, "; ".join(verdict.why))
            events.record(decided(name, ruling, self._blobs))
            return ruling
        self._open[name] = waiting
        return await self._wait(waiting)

    async def _open_again(self, waiting: OpenProposal) -> Ruling:
        """Open a proposal of an earlier runner: apply the person's decision or a new rule to it, or let it wait."""
        why = "; ".join(waiting.verdict.why)
        waiting.split_hunks()
        self._open[waiting.id] = waiting
        command = self.postponed.pop(waiting.id)
        self._reviser.revise(waiting)
        if waiting.verdict.action == "deny" or (command is None and waiting.verdict.action == "allow"):
            self._decide_by_policy(waiting)
        elif command is not None and not waiting.is_decided():
            why = self.decide(command) or why
        if waiting.is_decided() or self._views.is_attended():
            if not waiting.is_decided():
                waiting.events.record(Waiting(why="gate"))
            return await self._wait(waiting)
        del self._open[waiting.id]
        return self._postpone(waiting, why)

    def _decide_by_policy(self, waiting: OpenProposal) -> None:
        if waiting.is_decided():
            return
        ruling = by_policy(waiting.draft, waiting.verdict, self.policy.on_ask)
        if ruling.handoff and waiting.can_stay_open:
            ruling = left_open(waiting.draft, "; ".join(waiting.verdict.why))
        elif waiting.conflict is not None and isinstance(waiting.draft, FileDraft):
            ruling = send_back(waiting.draft, waiting.conflict.why, by="policy")
        waiting.decide(ruling)

    def _postpone(self, waiting: OpenProposal, why: str) -> Ruling:
        self.postponed.proposals[waiting.id] = waiting
        return left_open(waiting.draft, why)

    def record_person_action(self, draft: Draft, *, call_id: str, events: Events) -> Ruling:
        """Record an action of the person in control like any proposal, approved by that person."""
        verdict = Verdict(action="allow", why=["the person is in control"])
        name, _, _ = self._announce(draft, verdict, call_id, events)
        ruling = approved(draft, by="person")
        events.record(decided(name, ruling, self._blobs))
        return ruling

    def decide(self, command: Decide) -> str | None:
        """Apply a person's decision. Returns why it could not be applied, for the person; None if it was."""
        for other in self._others:
            if command.proposal_id in other.open:
                return other.decide(command)
        waiting = self._open.get(command.proposal_id) or self.postponed.proposals.get(command.proposal_id)
        if waiting is None or waiting.is_decided():
            return f"proposal {command.proposal_id} is not open: it was decided already"
        self._reviser.revise(waiting)
        if waiting.is_decided():
            return f"the file changed on disk, which decided the proposal: {waiting.ruling.result().reason}"
        if command.digest != waiting.digest:
            return PROPOSAL_CHANGED
        danger = waiting.verdict.danger or self._judge(waiting.draft).danger
        if refused := refused_elsewhere(command, waiting.draft, danger=danger):
            return refused
        ruling = self._rule(command, waiting)
        if isinstance(ruling, str):
            return ruling
        if waiting.id in self.postponed.proposals:
            self.decide_later(command)
            return None
        for rule in added_rules(command, waiting.verdict.offer):
            if command.always:
                ruling = self.policy.remember(rule, ruling)
            else:
                self.policy.add(run_rule(rule))
                waiting.events.record(RuleAdded(rule=run_rule(rule)))
        waiting.decide(ruling)
        return None

    def decide_later(self, command: Decide) -> None:
        """Store the decision on a proposal that is not open at this gate now. It applies when that is opened again."""
        self.postponed.decisions[command.proposal_id] = command

    def _rule(self, command: Decide, waiting: OpenProposal) -> Ruling | str:
        if waiting.conflict is not None and isinstance(waiting.draft, FileDraft):
            ruling = resolve_conflict(command, waiting.draft, waiting.conflict)
        else:
            ruling = rule_on_decision(command, waiting.draft, waiting.parts, waiting.verdict.offer)
        return ruling if isinstance(ruling, str) else msgspec.structs.replace(ruling, channel=command.channel)

    def judge_effect(self, kind: Class, paths: Sequence[str], *, is_hook: bool, command: str = "") -> Verdict:
        """Return the verdict on effects of a command, before there is a proposal. See `SessionPolicy.judge_effect`."""
        return self.policy.judge_effect(kind, paths, self._tree, is_hook=is_hook, command=command)

    def names(self, path: str) -> bool:
        """Return whether the user named a path of this tree with `--scope`."""
        return is_named(path, self._tree.scope)

    def verdict(self, draft: Draft) -> Verdict:
        """Return what the policy says about a draft that is not proposed yet."""
        return self._judge(draft)

    def starts_alone(self, draft: CommandDraft, mode: GateMode) -> bool:
        """Return whether a command that can change nothing would start in this mode without asking."""
        return self.policy.starts_alone(draft, mode, self._tree)

    def restrict(self, rule: Rule) -> None:
        """Add a rule that denies; it applies to waiting proposals too."""
        self.policy.add(rule)
        for gate in (self, *self._others):
            gate.apply_denials()

    def apply_denials(self) -> None:
        """Reject the waiting proposals that a rule now denies."""
        for waiting in (*self._open.values(), *self.postponed.proposals.values()):
            verdict = self._judge(waiting.draft)
            if verdict.action == "deny":
                waiting.verdict = verdict
                self._decide_by_policy(waiting)

    def decide_by_mode(self) -> None:
        """Decide the waiting proposals that need no person in the present mode. Those in conflict still wait."""
        for waiting in list(self._open.values()):
            self._reviser.revise(waiting)
            if waiting.is_decided() or waiting.conflict is not None:
                continue
            verdict = self._judge(waiting.draft)
            if verdict.action != "ask":
                waiting.verdict = verdict
                self._decide_by_policy(waiting)
        for other in self._others:
            other.decide_by_mode()

    def decide_all_by_policy(self) -> None:
        """Decide the waiting proposals by the policy, because nobody is here. Those that can stay open do so."""
        for waiting in self._open.values():
            self._decide_by_policy(waiting)
        for other in self._others:
            other.decide_all_by_policy()

    def leave_open(self) -> None:
        """Leave waiting proposals open in the journal when the runner ends, if they can outlive it."""
        for gate in (self, *self._others):
            gate._is_leaving = True

    def cancel_all(self, why: str) -> None:
        """Reject all waiting proposals for this reason."""
        for waiting in self._open.values():
            if not waiting.is_decided():
                waiting.decide(interrupted(waiting.draft, why))
        for other in self._others:
            other.cancel_all(why)

    def _judge(self, draft: Draft) -> Verdict:
        return self.policy.judge(draft, self._tree)

    def _announce(
        self, draft: Draft, verdict: Verdict, call_id: str, events: Events, place: Place = SINGLE_FILE
    ) -> tuple[str, str, Split | None]:
        """Record the new proposal, and that the run waits if it asks; return its id, its digest and its hunks."""
        name = next_proposal_id(call_id, self._requests.proposal_ids)
        digest = digest_of_draft(draft, self._tree.sandbox)
        parts = split_bytes(draft.before, draft.after) if isinstance(draft, FileDraft) else None
        proposal = opened(
            draft,
            verdict,
            parts,
            self._blobs,
            proposal_id=name,
            call_id=call_id,
            digest=digest,
            sandbox=self._tree.sandbox,
            who=self._tree.who,
            place=place,
        )
        events.record(proposal)
        if proposal.asks:
            events.record(Waiting(why="gate"))
        return name, digest, parts

    async def _wait(self, waiting: OpenProposal) -> Ruling:
        ruling: Ruling | None = interrupted(waiting.draft, "the step was interrupted")
        try:
            await self._reviser.until_decided(waiting)
            ruling = waiting.ruling.result()
            if ruling.is_left_open:
                ruling = None
                waiting.reopen()
                return self._postpone(waiting, "; ".join(waiting.verdict.why))
            return ruling
        except asyncio.CancelledError:
            if self._is_leaving and waiting.can_stay_open:
                ruling = None
            raise
        finally:
            del self._open[waiting.id]
            if ruling is not None:
                waiting.events.record(decided(waiting.id, ruling, self._blobs))


class _Reviser:
    """Keeps waiting proposals up to date with their files on the disk."""

    def __init__(
        self, tree: GatedTree, policy: SessionPolicy, *, blobs: Blobs, views: Attendance, clock: Clock
    ) -> None:
        self._tree, self._policy = tree, policy
        self._blobs, self._views, self._clock = blobs, views, clock
        self._endings: set[asyncio.Task[None]] = set()
        """Tasks of closed file watches, which end by themselves."""

    async def until_decided(self, waiting: OpenProposal) -> None:
        """Return as soon as the proposal has a ruling, and revise it meanwhile whenever its file changes."""
        draft = waiting.draft
        if not isinstance(draft, FileDraft) or draft.written_by is not None:
            await asyncio.wait({waiting.ruling})
            return
        watch = _FileWatch(self._tree.workspace, draft, self._clock)
        try:
            if draft.conflict is not None or holds_already(draft):
                await self._revise_later(waiting)
            while not waiting.is_decided():
                if await watch.wait(waiting.ruling):
                    await self._revise_later(waiting)
        finally:
            ending = watch.close()
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def read_others(self) -> None:
        """Read what other sessions wrote, so that `revise` has to read only what is newer."""
        if self._tree.others is not None:
            await asyncio.to_thread(self._tree.others.written)

    async def _revise_later(self, waiting: OpenProposal) -> None:
        await self.read_others()
        if not waiting.is_decided():
            self.revise(waiting)

    def revise(self, waiting: OpenProposal) -> None:
        """Plan the change again if its file differs from what the proposal was made from (docs/requirements.md 6.5)."""
        draft = waiting.draft
        if not isinstance(draft, FileDraft) or draft.written_by is not None:
            return
        found = rebase_draft(self._tree.workspace, draft)
        if isinstance(found, Conflict):
            self._enter_conflict(waiting, draft, found)
        elif holds_already(found):
            waiting.decide(approved(found, by="policy", reason=ALREADY_DONE))
        elif waiting.conflict is not None or found.before.sha256 != draft.before.sha256:
            self._rebase(waiting, found)
        else:
            waiting.draft = found

    def _rebase(self, waiting: OpenProposal, draft: FileDraft) -> None:
        verdict, digest = self._policy.judge(draft, self._tree), digest_of_draft(draft, self._tree.sandbox)
        waiting.replace_draft(draft, verdict, digest)
        why = self._whose(draft, draft.before.sha256)
        waiting.events.record(
            rebased(draft, waiting.parts, self._blobs, proposal_id=waiting.id, digest=digest, why=why)
        )
        if verdict.action == "deny":
            waiting.decide(by_policy(draft, verdict, self._policy.on_ask))

    def _enter_conflict(self, waiting: OpenProposal, draft: FileDraft, conflict: Conflict) -> None:
        """Let the proposal wait in conflict. If nobody is here and it cannot stay open, the model gets the conflict."""
        digest = conflict_digest(draft, conflict)
        if not waiting.enter_conflict(conflict, digest):
            return
        why = f"{self._whose(draft, None if conflict.now is None else conflict.now.sha256)}: {conflict.why}"
        waiting.events.record(in_conflict(draft, conflict, self._blobs, proposal_id=waiting.id, digest=digest, why=why))
        if not self._views.is_attended() and not waiting.can_stay_open:
            waiting.decide(send_back(draft, conflict.why, by="policy"))

    def _whose(self, draft: FileDraft, digest: str | None) -> str:
        """Return who changed the file, for the person. `digest`: that of its content now, or None if there is none."""
        if self._tree.workspace.run_writes.is_ours(draft.before.real):
            return "another change of this run"
        others = self._tree.others
        if others is not None and (run_id := others.writer(draft.path, digest)):
            return f"session {run_id}"
        return f"your edit of {time.strftime('%H:%M:%S', time.localtime(self._clock.now()))}"


class _FileWatch:
    """Watches one file, by its name and at its link's target, until `close`. Without reports it looks every second."""

    def __init__(self, ws: Workspace, draft: FileDraft, clock: Clock) -> None:
        self._clock = clock
        given = ws.at(draft.before.path)
        self._paths = {given, draft.before.real}
        self._reported, self._stop = asyncio.Event(), asyncio.Event()
        self._seen = self._stamp()
        named = real_path(given.parent) / given.name
        inside = {path for path in (named, draft.before.real) if path.is_relative_to(ws.root)}
        self._task = asyncio.ensure_future(watch_files(inside, self._reported.set, self._stop))
        self._task.add_done_callback(_raise_unexpected)

    def close(self) -> asyncio.Task[None]:
        """Stop watching. The returned task ends by itself within 0.1 s, so nobody has to wait for it."""
        self._stop.set()
        return self._task

    async def wait(self, until: asyncio.Future[Ruling]) -> bool:
        """Return True as soon as the file may have changed, False after a second or when `until` is done."""
        pause = asyncio.ensure_future(self._clock.sleep(_CHECK_EVERY))
        reported = asyncio.ensure_future(self._reported.wait())
        try:
            await asyncio.wait({until, pause, reported}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
            reported.cancel()
        is_reported, before, self._seen = self._reported.is_set(), self._seen, self._stamp()
        self._reported.clear()
        return not until.done() and (is_reported or before != self._seen)

    def _stamp(self) -> tuple[int, ...]:
        """Return values that change with the file, or with a link in its place."""
        return tuple(part for path in self._paths for part in _status(path))


def _raise_unexpected(task: asyncio.Task[None]) -> None:
    """Raise an unexpected error. A folder that cannot be watched (no watches left, or deleted) is still checked."""
    if not task.cancelled() and isinstance(error := task.exception(), Exception) and not isinstance(error, OSError):
        raise error


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.lstat()
    except OSError:
        return (0,)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
