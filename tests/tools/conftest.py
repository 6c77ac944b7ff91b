from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes.blobs_in_memory import BlobsInMemory
from fakes.clock import ManualClock

from rundry.agent.extend.mcp.mcp_servers import no_servers
from rundry.agent.gate.draft import CommandDraft, Draft, FileDraft
from rundry.agent.gate.gate import Gate
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.session_policy import GatedTree, SessionPolicy
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import Event, GateMode, GatePolicy
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.state.common.person_requests import PersonRequests
from rundry.agent.tools.carry_out import carry_out, draft_of, plan_again, run_reading_tool
from rundry.agent.tools.parse import parse_arguments
from rundry.agent.tools.tool_context import ToolContext
from rundry.agent.tools.tool_result import ToolResult


class Nobody:
    def is_attended(self) -> bool:
        return False


@dataclass
class Bench:
    """A workspace, tools in it, and a gate that lets edits and commands pass."""

    root: Path
    ctx: ToolContext
    gate: Gate
    blobs: BlobsInMemory
    events: list[Event] = field(default_factory=list)

    def record(self, event: Event) -> None:
        self.events.append(event)

    def file(self, name: str, content: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def read(self, tool: str, arguments: str) -> ToolResult:
        parsed = parse_arguments(tool, arguments)
        assert parsed.error is None, parsed.error
        return await run_reading_tool(tool, parsed.arguments, self.ctx)

    def draft(self, tool: str, arguments: str) -> object:
        parsed = parse_arguments(tool, arguments)
        assert parsed.error is None, parsed.error
        return draft_of(tool, parsed.arguments, self.ctx)

    async def act(self, tool: str, arguments: str) -> ToolResult:
        """The whole way: draft, gate, deed."""
        draft = self.draft(tool, arguments)
        if isinstance(draft, ToolResult):
            return draft
        assert isinstance(draft, FileDraft | CommandDraft)
        return await self.carry_out(draft)

    async def carry_out(self, draft: Draft, *, by_person: bool = False) -> ToolResult:
        """Pass the draft through the gate and carry it out; if its file changed in between, plan it and ask again."""
        if by_person:
            return await carry_out(
                draft, self.gate.record_person_action(draft, call_id="call_1", events=self), self.ctx
            )
        ruling = await self.gate.propose(draft, call_id="call_1", events=self)
        result = await carry_out(draft, ruling, self.ctx)
        if not result.stale or not isinstance(draft, FileDraft):
            return result
        return await self.carry_out(plan_again(ruling, self.ctx))


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Bench]:
    def make(*, mode: GateMode = GateMode.AUTO, **settings: object) -> Bench:
        root = tmp_path / "w"
        root.mkdir(exist_ok=True)
        ws = Workspace(root)
        blobs = BlobsInMemory()
        ctx = ToolContext(
            workspace=ws,
            env=command_env(os.environ),
            sandbox=Sandbox(),
            blobs=blobs,
            mcp=no_servers(),
            **{"contents": None, **settings},
        )
        gate = Gate(
            GatedTree(workspace=ws, guard=GuardedPaths(), sandbox=None),
            SessionPolicy(GatePolicy(mode=mode, unsandboxed_ok=True)),
            blobs=blobs,
            views=Nobody(),
            clock=ManualClock(),
            requests=PersonRequests(),
        )
        return Bench(root, ctx, gate, blobs)

    return make


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    return make_bench()
