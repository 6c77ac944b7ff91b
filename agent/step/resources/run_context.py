"""The objects that the steps of a run use: journal, gate, tools, budget and so on. Each has one duty."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ...verdict.judge.judged_runs import is_judged
from ...verdict.scope.run_scope import scope_of_run
from ..diagnostics.diagnostics_memory import DiagnosticsMemory

if TYPE_CHECKING:
    import msgspec

    from ...budget.quota import Quotas
    from ...budget.shared_ledger import SharedLedger
    from ...gate.gate import Gate
    from ...gate.guarded_paths import GuardedPaths
    from ...gate.ruling import Ruling
    from ...host.workspace_paths import Workspace
    from ...journal.journal import Journal
    from ...layers.run_layers import RunLayers
    from ...layers.unit import Unit
    from ...protocol import Clock, OnStall, ToolCall
    from ...repo.old_snapshots.snapshots import Snapshots
    from ...sandbox.git_hooks import CommitHooks
    from ...sandbox.sandbox import Sandbox
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events, Recorder
    from ...tools.tool_arguments import StartChild
    from ...tools.tool_context import ToolContext
    from ...tools.tool_result import ToolResult
    from ...verdict.scope.scope import Scope
    from ..formats.text_edits import TextEdits
    from ..model_call.outages import Outages
    from ..tool_calls.background import Background
    from ..tool_calls.call_results import CallResults, Endings, GateResult
    from ..tool_calls.commit_edits import Commits
    from .activity import Activity
    from .change_tracker import ChangeTracker, Fingerprint
    from .models_in_use import ModelsInUse
    from .prompt_limits import PromptLimits
    from .run_stage import Stage
    from .stall_watches import StallWatches
    from .used_limits import UsedLimits


class ToolCalls(Protocol):
    """Performs the tool calls of the model. Each gets one result, unless its proposal stays open.

    The runner passes it in, so that a step does not import the tools.
    """

    async def perform(
        self,
        ctx: RunContext,
        calls: Sequence[ToolCall],
        events: Events,
        *,
        step: int,
        work: str | None,
        names: Sequence[str],
        endings: Endings | None,
    ) -> CallResults:
        """Record and perform the calls of an answer. `names`: the offered tools. Raises PersonInterrupted."""
        ...

    async def resume(
        self, ctx: RunContext, calls: Sequence[ToolCall], events: Events, *, names: Sequence[str]
    ) -> CallResults:
        """Perform calls that are in the journal without a result. Raises PersonInterrupted."""
        ...

    async def carry_out(
        self, ctx: RunContext, call: ToolCall, arguments: msgspec.Struct | None, ruling: Ruling, events: Events
    ) -> GateResult:
        """Carry out a ruling on a file change, after the runner died that should have done it."""
        ...


class CalledChildren(Protocol):
    """The child runs that the model of a chat starts."""

    async def call(self, call_id: str, given: StartChild, events: Events, *, among: int) -> ToolResult:
        """Drive a child run to its end, and decide on its changes. Raises PersonInterrupted.

        `among`: number of child runs that the answer starts.
        """
        ...


class StartChecks(Protocol):
    """Facts that are found out while the first call of the model runs."""

    async def ready(self) -> None:
        """Wait until everything is known that the first tool needs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The objects of one run, or of one try of a pass. It is built once and never changed."""

    journal: Journal
    facts: RunFacts
    clock: Clock
    events: Recorder
    """Writes events."""
    activity: Activity
    """What is running, and how a person interrupts it. Tries share it with their run."""
    limits: UsedLimits
    """How much of its limits the run uses."""
    shared: SharedLedger
    """Where a child run counts for the runs above it, whose limits it keeps as well."""
    models: ModelsInUse
    gate: Gate
    workspace: Workspace
    snapshots: Snapshots
    """Snapshots that an older version stored of the workspace; empty in a new run."""
    files: ChangeTracker
    """Whether the files changed since their id was computed and since the last check."""
    fingerprint: Fingerprint
    sandbox: Sandbox
    tools: ToolContext
    calls: ToolCalls
    guard: GuardedPaths
    """Files whose changes always need approval."""
    quotas: Quotas
    env: Mapping[str, str]
    """Environment of commands and checks, without the provider keys."""
    background: Background
    """Commands that run in the background."""
    stalls: StallWatches
    prompts: PromptLimits
    outages: Outages
    """The servers that do not answer now. Tries share it with their run."""
    on_stall: OnStall | None
    """What the user chose for a repeated stall, or None."""
    start_checks: StartChecks
    """What must be known before the first tool runs."""
    headless: bool
    """Whether no screen owns the run: without a view the policy decides, and nobody is waited for."""
    layers: RunLayers | None = None
    """Where commands write. None means that they write to the workspace, and what they changed is found out
    afterwards."""
    units: RunLayers | None = None
    """Where passes, tries and items work: layers or copies, or None if there are none, or this is one of them."""
    views: RunLayers | None = None
    """Where the judge makes its views, over the workspace of the user. None means that it can make none, see
    `no_views`."""
    no_views: str = ""
    """Why the judge can make no views. Empty means that it can, or nothing is judged."""
    unit: Unit | None = None
    """The unit of work in which everything happens: `workspace` is its view, and commands enter it. None means none."""
    stage: Stage | None = None
    """The stage of the run, whose unit that is. None means that the run has none."""
    commits: Commits | None = None
    """Set by `--commit`."""
    children: CalledChildren | None = None
    """The child runs of a chat. None means that the model can start none."""
    hooks: CommitHooks | None = None
    """Set by `--commit-hooks`."""
    edits: TextEdits | None = None
    """Shows files to the model and makes edits of its answers, while the run has a file format."""
    not_held: list[str] = field(default_factory=list[str])
    """Guarantees that could not be given, one line each. Units share the list with their run."""
    hook_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a hook of the spec runs; tries share it with their run."""
    start_context: list[str] = field(default_factory=list[str])
    """Messages to the model of the hooks that ran at the start. Tries share the list with their run."""
    diagnostics: DiagnosticsMemory = field(default_factory=DiagnosticsMemory)
    """Which tools are too slow here, and what was reported about changed files. Tries share it with their run."""
    work: str | None = None
    """Name of the try that uses it. None means the run itself."""

    @property
    def judges(self) -> bool:
        """Whether a green result is judged without the changes that nobody decided on (decision 0040)."""
        return is_judged(self.facts.spec)

    @property
    def is_own_tree(self) -> bool:
        """Whether `workspace` is a worktree of rundry, in which nobody else writes (docs/decisions/0036)."""
        return self.unit is not None or self.facts.spec.home != self.facts.spec.workspace

    @property
    def scope(self) -> Scope | None:
        """What the run may change, or None if nothing decides when it is done, or an older version began it."""
        return scope_of_run(self.facts.verdicts, self.journal, self.workspace.root)
