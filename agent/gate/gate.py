"""Hold each file change and command until it is decided, and keep it up to date with the disk meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from ..facts.common.asking import next_proposal_id
from ..protocol import Clock, Decide, GatePolicy, Record, Rule, RundryError, Waiting
from ..workspace import Workspace
from .answer import answer
from .change.diff import split_bytes
from .change.hunks import Split
from .change.rebase import Conflict, conflict_digest, holds_already, renew
from .change.resolve_conflict import CHANGED, HELD, by_policy, made_anew, settle
from .draft import CommandDraft, Draft, FileDraft, digest_of
from .entries import Keep, decided, in_conflict, opened, rebased
from .file_watch import Lookout
from .policy import Standing, Verdict, judge
from .ruling import Ruling, approved, interrupted, left_open
from .stored.later import Kept, Later, OpenProposal


class Gate:
    """The gate of one run. Proposals of several searchers may wait together."""

    def __init__(
        self,
        *,
        workspace: Workspace,
        keep: Keep,
        policy: GatePolicy,
        guard: Callable[[str], bool],
        sandbox: str | None,
        attended: Callable[[], bool],
        clock: Clock,
        persist: Callable[[Rule], None] | None = None,
    ) -> None:
        """`persist` stores a rule of `always`. If it raises, the person sees why; the rule holds in this session."""
        self.policy = policy
        self.mode = policy.mode
        self.unsandboxed_ok = policy.unsandboxed_ok
        self.rules = list(policy.rules)
        """Rules of the policy, and those that the person added with `always` in this session."""
        self._ws, self._keep, self._guard, self._sandbox = workspace, keep, guard, sandbox
        self._attended, self._clock, self._persist = attended, clock, persist
        self.given_ids: Callable[[], Iterable[str]] = tuple
        """Ids that this run gave to its proposals; `next_proposal_id` needs them."""
        self._open: dict[str, OpenProposal] = {}
        self._endings: set[asyncio.Task[None]] = set()
        """File watches that are about to end by themselves."""
        self.later = Later()
        """Proposals that stay open because nobody is here to decide."""
        self._is_leaving = False
        self._origin, self._who = self, ""
        self._beside: list[Gate] = []
        """Gates of other worktrees of this run."""

    def beside(self, workspace: Workspace, guard: Callable[[str], bool], who: str) -> Gate:
        """Return the gate of another worktree of this run, for `who`. The person and the rules are the same."""
        other = Gate(
            workspace=workspace,
            keep=self._keep,
            policy=self.policy,
            guard=guard,
            sandbox=self._sandbox,
            attended=self._attended,
            clock=self._clock,
            persist=self._persist,
        )
        other._origin, other.rules, other._who, other.given_ids = self, self.rules, who, self.given_ids
        self._beside.append(other)
        return other

    def forget(self, other: Gate) -> None:
        """Remove the gate of a worktree that no longer exists."""
        self._beside.remove(other)

    @property
    def open(self) -> Sequence[str]:
        """Ids of the waiting proposals, oldest first."""
        return [*self._open, *(name for other in self._beside for name in other.open)]

    async def pass_(
        self,
        draft: Draft,
        *,
        call_id: str,
        record: Record,
        may_stay: bool = False,
        kept: Kept | None = None,
    ) -> Ruling:
        """Open a proposal and return its ruling. A cancelled call rejects the proposal first.

        `may_stay`: the proposal can stay open in the journal if nobody is here to decide. `kept`: it is open already,
        with `draft` as its content, and is shown again as it is.
        """
        verdict = self._judge(draft)
        future: asyncio.Future[Ruling] = asyncio.get_running_loop().create_future()
        if kept is not None:
            return await self._open_again(kept.waiting(draft, verdict, record, future))
        name, digest, parts = self._announce(draft, verdict, call_id, record)
        waiting = OpenProposal(name, draft, digest, parts, verdict, record, future, may_stay)
        if verdict.action != "ask" or not self._attended():
            ruling = by_policy(draft, verdict, self.policy.on_ask)
            if ruling.handoff and may_stay:
                return self._leave(waiting, "; ".join(verdict.why))
            record(decided(name, ruling, self._keep))
            return ruling
        self._open[name] = waiting
        return await self._wait(waiting)

    async def _open_again(self, waiting: OpenProposal) -> Ruling:
        """Decide a proposal that outlived its runner by the person's decision or a new rule, or let it wait."""
        why = "; ".join(waiting.verdict.why)
        if isinstance(waiting.draft, FileDraft):
            waiting.parts = split_bytes(waiting.draft.before, waiting.draft.after)
        self._open[waiting.id] = waiting
        command = self.later.take(waiting.id)
        self._refresh(waiting)
        if waiting.verdict.action == "deny" or (command is None and waiting.verdict.action == "allow"):
            self._settle_by_policy(waiting)
        elif command is not None and not waiting.ruling.done():
            why = self.decide(command) or why
        if waiting.ruling.done() or self._attended():
            if not waiting.ruling.done():
                waiting.record(Waiting(why="gate"))
            return await self._wait(waiting)
        del self._open[waiting.id]
        return self._leave(waiting, why)

    def _settle_by_policy(self, waiting: OpenProposal) -> None:
        if waiting.ruling.done():
            return
        ruling = by_policy(waiting.draft, waiting.verdict, self.policy.on_ask)
        if ruling.handoff and waiting.may_stay:
            ruling = left_open(waiting.draft, "; ".join(waiting.verdict.why))
        elif waiting.conflict is not None and isinstance(waiting.draft, FileDraft):
            ruling = made_anew(waiting.draft, waiting.conflict.why, by="policy")
        waiting.ruling.set_result(ruling)

    def _leave(self, waiting: OpenProposal, why: str) -> Ruling:
        self.later.proposals[waiting.id] = waiting
        return left_open(waiting.draft, why)

    def pass_person(self, draft: Draft, *, call_id: str, record: Record) -> Ruling:
        """Record an action of the person in control like any proposal, approved by that person."""
        verdict = Verdict(action="allow", why=["the person is in control"])
        name, _, _ = self._announce(draft, verdict, call_id, record)
        ruling = approved(draft, by="person")
        record(decided(name, ruling, self._keep))
        return ruling

    def decide(self, command: Decide) -> str | None:
        """Apply a person's decision. Returns None, or for the person why it was not applied."""
        for other in self._beside:
            if command.proposal_id in other.open:
                return other.decide(command)
        waiting = self._open.get(command.proposal_id) or self.later.proposals.get(command.proposal_id)
        if waiting is None or waiting.ruling.done():
            return f"proposal {command.proposal_id} is not open: it was decided already"
        self._refresh(waiting)
        if waiting.ruling.done():
            return f"the file changed on disk, which decided the proposal: {waiting.ruling.result().reason}"
        if command.digest != waiting.digest:
            return CHANGED
        ruling = self._answer(command, waiting)
        if isinstance(ruling, str):
            return ruling
        if waiting.id in self.later.proposals:
            self.later.given[waiting.id] = command
            return None
        if ruling.rule is not None and waiting.verdict.rule is not None:
            ruling = self._remember(waiting.verdict.rule, ruling)
        waiting.ruling.set_result(ruling)
        return None

    def _answer(self, command: Decide, waiting: OpenProposal) -> Ruling | str:
        if waiting.conflict is not None and isinstance(waiting.draft, FileDraft):
            return settle(command, waiting.draft, waiting.conflict)
        return answer(command, waiting.draft, waiting.parts, waiting.verdict.rule)

    def restrict(self, rule: Rule) -> None:
        """Add a rule that denies; it applies to waiting proposals too."""
        self.rules.append(rule)
        for gate in (self, *self._beside):
            gate.apply_denials()

    def apply_denials(self) -> None:
        """Reject the waiting proposals that a rule now denies."""
        for waiting in (*self._open.values(), *self.later.proposals.values()):
            verdict = self._judge(waiting.draft)
            if verdict.action == "deny":
                waiting.verdict = verdict
                self._settle_by_policy(waiting)

    def settle_alone(self) -> None:
        """Decide waiting proposals by the policy because nobody is here; those that can stay open do."""
        for waiting in self._open.values():
            self._settle_by_policy(waiting)
        for other in self._beside:
            other.settle_alone()

    def leave_open(self) -> None:
        """Leave waiting proposals open in the journal when the runner ends, if they can outlive it."""
        self._is_leaving = True

    def cancel_all(self, why: str) -> None:
        """Reject all waiting proposals."""
        for waiting in self._open.values():
            if not waiting.ruling.done():
                waiting.ruling.set_result(interrupted(waiting.draft, why))
        for other in self._beside:
            other.cancel_all(why)

    def _judge(self, draft: Draft) -> Verdict:
        return judge(
            draft,
            Standing(
                workspace=self._ws,
                mode=self._origin.mode,
                rules=self.rules,
                guard=self._guard,
                sandbox=self._sandbox,
                unsandboxed_ok=self._origin.unsandboxed_ok,
            ),
        )

    def _announce(self, draft: Draft, verdict: Verdict, call_id: str, record: Record) -> tuple[str, str, Split | None]:
        """Record the new proposal; return its id, its digest and its hunks."""
        name = next_proposal_id(call_id, self.given_ids())
        digest = digest_of(draft, self._sandbox)
        parts = split_bytes(draft.before, draft.after) if isinstance(draft, FileDraft) else None
        record(
            opened(
                draft,
                verdict,
                parts,
                self._keep,
                proposal_id=name,
                call_id=call_id,
                digest=digest,
                sandbox=self._sandbox,
                who=self._who,
            )
        )
        return name, digest, parts

    def _remember(self, rule: Rule, ruling: Ruling) -> Ruling:
        if rule in self.rules:
            return ruling
        self.rules.append(rule)
        if self._persist is None:
            return ruling
        try:
            self._persist(rule)
        except (RundryError, OSError) as error:
            why = f"the rule could not be saved and holds for this session only: {error}"
            return msgspec.structs.replace(ruling, reason=why)
        return ruling

    async def _wait(self, waiting: OpenProposal) -> Ruling:
        ruling: Ruling | None = interrupted(waiting.draft, "the step was interrupted")
        try:
            await self._until_decided(waiting)
            ruling = waiting.ruling.result()
            if ruling.is_left_open:
                ruling, waiting.ruling = None, asyncio.get_running_loop().create_future()
                return self._leave(waiting, "; ".join(waiting.verdict.why))
            return ruling
        except asyncio.CancelledError:
            if self._is_leaving and waiting.may_stay:
                ruling = None
            raise
        finally:
            del self._open[waiting.id]
            if ruling is not None:
                waiting.record(decided(waiting.id, ruling, self._keep))

    async def _until_decided(self, waiting: OpenProposal) -> None:
        draft = waiting.draft
        if isinstance(draft, CommandDraft) or draft.landed is not None:
            await asyncio.wait({waiting.ruling})
            return
        lookout = Lookout(self._ws, draft, self._clock)
        try:
            if draft.misfit is not None or holds_already(draft):
                self._refresh(waiting)
            while not waiting.ruling.done():
                if await lookout.wait(waiting.ruling):
                    self._refresh(waiting)
        finally:
            ending = lookout.close()
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    def _refresh(self, waiting: OpenProposal) -> None:
        """Plan the change again if its file differs from what the proposal was made from (docs/requirements.md 6.5)."""
        draft = waiting.draft
        if isinstance(draft, CommandDraft) or draft.landed is not None:
            return
        found = renew(self._ws, draft)
        if isinstance(found, Conflict):
            self._conflict(waiting, draft, found)
        elif holds_already(found):
            waiting.ruling.set_result(approved(found, by="policy", reason=HELD))
        elif waiting.conflict is not None or found.before.sha256 != draft.before.sha256:
            self._rebase(waiting, found)
        else:
            waiting.draft = found

    def _rebase(self, waiting: OpenProposal, draft: FileDraft) -> None:
        waiting.draft, waiting.conflict = draft, None
        waiting.verdict = self._judge(draft)
        waiting.parts = split_bytes(draft.before, draft.after)
        waiting.digest = digest_of(draft, self._sandbox)
        why = self._whose(draft)
        waiting.record(
            rebased(draft, waiting.parts, self._keep, proposal_id=waiting.id, digest=waiting.digest, why=why)
        )
        if waiting.verdict.action == "deny":
            waiting.ruling.set_result(by_policy(draft, waiting.verdict, self.policy.on_ask))

    def _conflict(self, waiting: OpenProposal, draft: FileDraft, conflict: Conflict) -> None:
        """Keep the proposal waiting in conflict. If nobody is here and it cannot stay, the model gets the conflict."""
        digest = conflict_digest(draft, conflict)
        is_known = waiting.conflict is not None and digest == waiting.digest
        waiting.conflict, waiting.digest = conflict, digest
        if is_known:
            return
        why = f"{self._whose(draft)}: {conflict.why}"
        waiting.record(in_conflict(draft, conflict, self._keep, proposal_id=waiting.id, digest=digest, why=why))
        if not self._attended() and not waiting.may_stay:
            waiting.ruling.set_result(made_anew(draft, conflict.why, by="policy"))

    def _whose(self, draft: FileDraft) -> str:
        """Say who changed the file, for the person."""
        if self._ws.ledger.is_ours(draft.before.real):
            return "another change of this run"
        return f"your edit of {time.strftime('%H:%M:%S', time.localtime(self._clock.now()))}"
