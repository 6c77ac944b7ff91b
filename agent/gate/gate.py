"""Where every edit and every command waits: opened, judged, decided, and kept in step with the disk meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..protocol import Clock, Decide, GatePolicy, Record, Rule, RundryError
from ..workspace import FileState, PathRefused, UnreadableFile, Workspace
from .answer import answer
from .diff import split_bytes
from .draft import CommandDraft, Draft, FileDraft, digest_of, look
from .entries import Keep, decided, opened, rebased
from .hunks import Split
from .policy import Standing, Verdict, judge
from .ruling import Ruling, approved, interrupted, refused_note

_LOOK_EVERY = 0.25
"""Seconds between two looks at a file whose change waits. Two stats: right on NFS too, where watching is not."""
NOBODY = "nobody is here to approve it"


@dataclass(slots=True)
class _Open:
    """A proposal that waits."""

    id: str
    draft: Draft
    digest: str
    parts: Split | None
    verdict: Verdict
    record: Record
    ruling: asyncio.Future[Ruling]
    seen: tuple[int, ...]


class Gate:
    """One run's gate. Proposals of several works may wait at once."""

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
        """`persist` writes a rule of `always` where it lasts; what it raises is told, and the rule holds here."""
        self.policy = policy
        self.mode = policy.mode
        self.unsandboxed_ok = policy.unsandboxed_ok
        self.rules = list(policy.rules)
        """Of the policy, and what the person said `always` to in this session."""
        self._ws, self._keep, self._guard, self._sandbox = workspace, keep, guard, sandbox
        self._attended, self._clock, self._persist = attended, clock, persist
        self._open: dict[str, _Open] = {}
        self._ids: dict[str, int] = {}

    @property
    def open(self) -> Sequence[str]:
        """Ids of the proposals that wait, oldest first."""
        return list(self._open)

    async def pass_(self, draft: Draft, *, call_id: str, record: Record) -> Ruling:
        """Opens a proposal and brings its end. Cancelled, it rejects the proposal before it ends."""
        verdict = self._judge(draft)
        name = self._new_id(call_id)
        digest = digest_of(draft, self._sandbox)
        parts = split_bytes(draft.before, draft.after) if isinstance(draft, FileDraft) else None
        seen = self._stamp(draft)
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
            )
        )
        if verdict.action != "ask" or not self._attended():
            ruling = self._by_policy(draft, verdict)
            record(decided(name, ruling))
            return ruling
        future: asyncio.Future[Ruling] = asyncio.get_running_loop().create_future()
        waiting = self._open[name] = _Open(name, draft, digest, parts, verdict, record, future, seen)
        return await self._wait(waiting)

    def decide(self, command: Decide) -> str | None:
        """Takes a person's decision. None: it was taken; else why it was not, for the person."""
        waiting = self._open.get(command.proposal_id)
        if waiting is None or waiting.ruling.done():
            return f"there is no open proposal {command.proposal_id}: it was decided already"
        self._refresh(waiting)
        if waiting.ruling.done():
            return "the file changed on disk so that this change no longer fits: it went back to the model"
        if command.digest != waiting.digest:
            return "the proposal changed since it was shown: look at the new one and decide again"
        ruling = answer(command, waiting.draft, waiting.parts, waiting.verdict.rule)
        if isinstance(ruling, str):
            return ruling
        if ruling.rule is not None and waiting.verdict.rule is not None:
            ruling = self._remember(waiting.verdict.rule, ruling)
        waiting.ruling.set_result(ruling)
        return None

    def never_again(self, ids: Iterable[str]) -> None:
        """Ids that an earlier runner of this run gave to its proposals."""
        for name in ids:
            base, _, number = name.partition(".")
            self._ids[base] = max(self._ids.get(base, 0), int(number or 1))

    def cancel_all(self, why: str) -> None:
        """Rejects everything that waits."""
        for waiting in self._open.values():
            if not waiting.ruling.done():
                waiting.ruling.set_result(interrupted(waiting.draft, why))

    def _judge(self, draft: Draft) -> Verdict:
        return judge(
            draft,
            Standing(
                workspace=self._ws,
                mode=self.mode,
                rules=self.rules,
                guard=self._guard,
                sandbox=self._sandbox,
                unsandboxed_ok=self.unsandboxed_ok,
            ),
        )

    def _new_id(self, call_id: str) -> str:
        """Unique in the run, also after a resume: made from the call's id, which is."""
        name = f"p_{call_id or 'x'}"
        count = self._ids[name] = self._ids.get(name, 0) + 1
        return name if count == 1 else f"{name}.{count}"

    def _by_policy(self, draft: Draft, verdict: Verdict) -> Ruling:
        why = "; ".join(verdict.why)
        if verdict.action == "allow":
            return approved(draft, by="policy", reason=why)
        handoff = False
        if verdict.action == "ask":
            why = f"{NOBODY}, and it has to be asked about ({why})"
            handoff = self.policy.on_ask == "handoff"
        return Ruling(
            approved=False,
            draft=draft,
            by="policy",
            reason=why,
            note_for_model=refused_note(draft, why),
            handoff=handoff,
            refused_by="policy",
        )

    def _remember(self, rule: Rule, ruling: Ruling) -> Ruling:
        if rule in self.rules:
            return ruling
        self.rules.append(rule)
        if self._persist is None:
            return ruling
        try:
            self._persist(rule)
        except (RundryError, OSError) as error:
            why = f"the rule holds for this session only, it could not be written: {error}"
            return msgspec.structs.replace(ruling, reason=why)
        return ruling

    async def _wait(self, waiting: _Open) -> Ruling:
        ruling = interrupted(waiting.draft, "the step was interrupted")
        try:
            while not waiting.ruling.done():
                pause = asyncio.ensure_future(self._clock.sleep(_LOOK_EVERY))
                try:
                    await asyncio.wait({waiting.ruling, pause}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    pause.cancel()
                if not waiting.ruling.done() and self._stamp(waiting.draft) != waiting.seen:
                    self._refresh(waiting)
            ruling = waiting.ruling.result()
            return ruling
        finally:
            del self._open[waiting.id]
            waiting.record(decided(waiting.id, ruling))

    def _refresh(self, waiting: _Open) -> None:
        """Plans the change anew where the file is no longer what the proposal was made from (REQUIREMENTS 6.5)."""
        draft = waiting.draft
        if isinstance(draft, CommandDraft) or draft.landed:
            return
        waiting.seen = self._stamp(draft)
        now = self._look_again(draft)
        if isinstance(now, str):
            self._conflict(waiting, draft, now)
            return
        if now.sha256 == draft.before.sha256:
            return
        after = draft.again(now)
        if isinstance(after, str):
            self._conflict(waiting, draft, after)
            return
        draft = waiting.draft = msgspec.structs.replace(draft, before=now, after=after)
        waiting.verdict = self._judge(draft)
        waiting.parts = split_bytes(now, after)
        waiting.digest = digest_of(draft, self._sandbox)
        why = "the file changed on disk"
        waiting.record(
            rebased(draft, waiting.parts, self._keep, proposal_id=waiting.id, digest=waiting.digest, why=why)
        )
        if waiting.verdict.action == "deny":
            waiting.ruling.set_result(self._by_policy(draft, waiting.verdict))

    def _look_again(self, draft: FileDraft) -> FileState | str:
        """The file as it is now, or why the proposal cannot go on."""
        try:
            now = look(self._ws, str(draft.before.path))
        except (PathRefused, UnreadableFile) as error:
            return str(error)
        if now.real != draft.before.real:
            return f"{draft.path} now leads somewhere else, to {now.real}"
        return now

    def _conflict(self, waiting: _Open, draft: FileDraft, why: str) -> None:
        waiting.record(
            rebased(
                draft,
                waiting.parts,
                self._keep,
                proposal_id=waiting.id,
                digest=waiting.digest,
                why=why,
                conflict=True,
            )
        )
        note = (
            f"conflict: {draft.path} changed on disk while your change waited, and it no longer fits ({why}). "
            "Nothing was written. Read the file again, then make the change anew."
        )
        waiting.ruling.set_result(
            Ruling(
                approved=False,
                draft=draft,
                by="policy",
                reason=f"conflict: {why}",
                note_for_model=note,
                refused_by="conflict",
            )
        )

    def _stamp(self, draft: Draft) -> tuple[int, ...]:
        """What a change of the file, or of a link in its place, changes too."""
        if isinstance(draft, CommandDraft):
            return ()
        given = self._ws.root / draft.before.path
        return tuple(part for path in {given, draft.before.real} for part in _status(path))


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.lstat()
    except OSError:
        return (0,)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
