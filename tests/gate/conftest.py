from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes.blobs_in_memory import BlobsInMemory
from fakes.clock import ManualClock

from rundry.agent.gate.draft import CommandDraft, FileDraft, read_file_state
from rundry.agent.gate.gate import Gate
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.policy import PolicyContext, Verdict, judge
from rundry.agent.gate.ruling import Ruling
from rundry.agent.gate.session_policy import GatedTree, SessionPolicy
from rundry.agent.host.files.file_states import FileState
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import Decide, Event, GateMode, GatePolicy, ProposalOpened, Rule, Stamped
from rundry.agent.settings.remembered import RememberedRules
from rundry.agent.state.common.person_requests import PersonRequests


@dataclass(frozen=True)
class Replaced:
    """A plan that replaces one piece of a file."""

    old: bytes
    new: bytes

    def on(self, state: FileState) -> bytes | str:
        return state.data.replace(self.old, self.new) if self.old in state.data else "the text is gone"


@dataclass
class Place:
    """A workspace, a gate in it, and what it recorded."""

    ws: Workspace
    events: list[Event] = field(default_factory=list)
    blobs: BlobsInMemory = field(default_factory=BlobsInMemory)
    clock: ManualClock = field(default_factory=ManualClock)
    attended: bool = True
    requests: PersonRequests = field(default_factory=PersonRequests)

    def record(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, ProposalOpened):
            self.requests.apply(Stamped(len(self.events), 0.0, None, None, event))

    def is_attended(self) -> bool:
        return self.attended

    def gate(
        self,
        mode: GateMode = GateMode.ASK,
        rules: list[Rule] | None = None,
        *,
        sandbox: str | None = "bubblewrap",
        guard: tuple[str, ...] = (),
        on_ask: str = "refuse",
        remembered: RememberedRules | None = None,
        others: Any = None,
    ) -> Gate:
        return Gate(
            GatedTree(workspace=self.ws, guard=GuardedPaths(guard), sandbox=sandbox, others=others),
            SessionPolicy(GatePolicy(mode=mode, rules=rules or [], on_ask=on_ask), remembered=remembered),
            blobs=self.blobs,
            views=self,
            clock=self.clock,
            requests=self.requests,
        )

    def file(self, name: str, content: bytes) -> Path:
        path = self.ws.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def replacing(self, name: str, old: bytes, new: bytes) -> FileDraft:
        """A draft that replaces one piece of a file."""

        before, plan = read_file_state(self.ws, name), Replaced(old, new)
        after = plan.on(before)
        assert isinstance(after, bytes)
        real = self.ws.relative(before.real)
        return FileDraft(tool="edit_file", path=real, before=before, after=after, plan=plan)

    def command(self, command: str, tool: str = "run_command", **more: Any) -> CommandDraft:
        return CommandDraft(tool=tool, command=command, timeout=5, cwd=self.ws.root, **more)

    async def begin(self, gate: Gate, draft: FileDraft | CommandDraft, **more: Any) -> asyncio.Task[Ruling]:
        """Brings the draft before the gate, up to where it waits."""
        task = asyncio.ensure_future(gate.propose(draft, call_id="call_1", events=self, **more))
        for _ in range(5):
            await asyncio.sleep(0)
        return task

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def shown(self) -> tuple[str, str]:
        """Id and digest of the proposal as a screen painted it first."""
        opened = next(event for event in reversed(self.events) if isinstance(event, ProposalOpened))
        return opened.proposal_id, opened.digest

    def decide(self, verdict: str, **more: object) -> Decide:
        proposal_id, digest = self.shown()
        return Decide(**({"proposal_id": proposal_id, "digest": digest, "verdict": verdict} | more))

    def judge_command(
        self,
        command: str,
        *allowed: str,
        mode: GateMode = GateMode.ASK,
        sandbox: str | None = None,
        unsandboxed_ok: bool = False,
        rules: list[Rule] | None = None,
        layers: bool = False,
        **draft: Any,
    ) -> Verdict:
        """What the policy says of a command line where these beginnings are allowed."""
        context = PolicyContext(
            workspace=self.ws,
            mode=mode,
            rules=[*(rules or []), *(Rule(verdict="allow", tool="run_command", command=words) for words in allowed)],
            guard=GuardedPaths(),
            sandbox=sandbox,
            unsandboxed_ok=unsandboxed_ok,
            layers=layers,
        )
        return judge(self.command(command, **draft), context)

    def judge_file(
        self,
        name: str,
        *,
        mode: GateMode = GateMode.ASK,
        rules: list[Rule] | None = None,
        guard: tuple[str, ...] = (),
    ) -> Verdict:
        before = read_file_state(self.ws, name)
        draft = FileDraft(
            tool="write_file",
            path=self.ws.relative(before.real),
            before=before,
            after=b"new",
            plan=Replaced(before.data, b"new"),
        )
        context = PolicyContext(
            workspace=self.ws, mode=mode, rules=rules or [], guard=GuardedPaths(guard), sandbox="bubblewrap"
        )
        return judge(draft, context)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "w"
    root.mkdir()
    return Place(Workspace(root))
