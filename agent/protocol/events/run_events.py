"""Events about the run as a whole: start, resume, passes, changed settings, hand-offs, end."""

from __future__ import annotations

from typing import Any, Literal

from ..budget import Budget, Held, LimitName, Tokens
from ..coverage import Coverage, Estimate
from ..evidence import Evidence
from ..finder_settings import FinderSpec, RepeatSpec, ReviewLoopSpec
from ..handoff import HandoffRecord
from ..loops import FixSpec, ImproveSpec, IntervalSpec, PacedSpec, ParentRef
from ..outcome import ChildOutcome, EndedJob, FindingCounts, Reason
from ..spec import BY_TOOLS, EditFormat, EffortLevel, GateMode, LoopKind, ModelSpec, Rule, TierKind
from .base import EventBase, WaitsFor

SandboxKind = Literal["bubblewrap", "landlock", "seatbelt"]
SwitchedBy = Literal[
    "person",
    "escalate",  # the rule for a stall
    "tier",  # of a hand-off
]
McpState = Literal["starting", "ready", "failed", "ended"]
McpLogin = Literal["none", "stored", "wanted"]
"""State of an MCP server. `failed`: it could not be used at its start. `starting`: also while it is started again."""


class RunStarted(EventBase, frozen=True, kw_only=True):
    """The first event of a run, with its settings."""

    run_id: str
    loop: LoopKind
    task: str
    workspace: str
    model: str
    budget: Budget
    journal: str
    local: bool = False
    """The model's server is on this machine or the local network."""
    window: int | None = None
    """Size of the context window in tokens."""
    priced: bool = True
    effort: EffortLevel | None = None
    """How much the model should reason, if set."""
    sees_images: bool | None = None
    """Whether the model accepts images, or None if unknown."""
    sandbox: SandboxKind | None = None
    """None means that commands run without a sandbox."""
    network: bool = False
    """Commands can reach the network, because it was allowed or because there is no sandbox."""
    not_held: list[str] = []
    """Guarantees that the sandbox cannot give on this machine, each in a few words."""
    direct: bool = False
    """Commands write to the workspace itself, because layers do not work here."""
    gate: GateMode = GateMode.ASK
    instructions: str | None = None
    skills: list[str] = []
    """Names of the skills that the model can load."""
    world: str | None = None
    """Fingerprint of the workspace at the start."""
    finder: FinderSpec | None = None
    """Settings of the search, for an until-dry run."""
    fix: FixSpec | None = None
    """Settings of a fix run: what its children work on."""
    repeat: RepeatSpec | None = None
    """Settings of a repeat run: the search and its clock."""
    review: ReviewLoopSpec | None = None
    """Settings of a review run: its searches and the checks of its repairs."""
    parent: ParentRef | None = None
    """The run that started this one. None means that a person or a script did."""
    interval: IntervalSpec | None = None
    paced: PacedSpec | None = None
    improve: ImproveSpec | None = None
    restarts: int | None = None
    """How often the run may start over (`--restarts`). None means no limit."""
    edit_format: EditFormat = BY_TOOLS
    """How the model edits files at the start."""
    edit_format_why: str = ""
    """The reason, in words for the person."""
    notes: list[str] = []
    """Notes for the person at the start, one line each, for example a dropped limit or ignored configuration."""


class RunResumed(EventBase, frozen=True, kw_only=True):
    """A new runner continues the run."""

    run_id: str
    from_seq: int
    """The last event that the earlier runner recorded."""
    not_held: list[str] = []
    """As in `run_started`."""
    direct: bool = False
    """As in `run_started`."""
    notes: list[str] = []
    damaged: list[int] = []
    """Numbers of damaged events; a person resumed the run without them."""
    missing: int = 0
    """Number of events lost from the end of the journal; a person resumed the run without them."""
    lost_steps: int = 0
    """Steps that are recorded only in the file next to the journal."""
    lost_seconds: float = 0.0
    """Seconds of work that are recorded only there."""
    executor: str | None = None
    """The Dask cluster of a search from now on. None means the same as before."""
    rested: float = 0.0
    """Seconds since the last event of the earlier runner."""
    changed: list[str] = []
    """Files that the model has seen, or that the run wrote, and that somebody changed since."""
    head: list[str] = []
    """The commits of git's HEAD, before and now, if somebody moved it since; else empty."""


class ModelSwitched(EventBase, frozen=True, kw_only=True):
    """The run uses another model from now on."""

    model: str
    local: bool = False
    window: int | None = None
    priced: bool = True
    sees_images: bool | None = None
    """Whether the model accepts images, or None if unknown."""
    by: SwitchedBy = "person"
    spec: ModelSpec | None = None
    """What a resumed run needs to open the model again."""
    prompt_tokens: int = 0
    """Tokens of the conversation that the new model has not read yet, as counted by this program."""
    cold_usd: float | None = None
    """Cost of reading them, or None if the price is unknown."""


class ModelQuoted(EventBase, frozen=True, kw_only=True):
    """The cost of a model switch before the first answer. The model was not switched."""

    model: str
    prompt_tokens: int
    """Tokens of the conversation, as counted by this program; the new model has none of them cached."""
    cold_usd: float | None
    """Cost of reading them, or None if the price is unknown."""
    warm_usd: float | None = None
    """What the current model would charge for the same tokens if all of them were cached."""


class BudgetChanged(EventBase, frozen=True, kw_only=True):
    """The budget was changed. All limits are those of the new budget."""

    budget: Budget
    by: str = "person"


class LimitsChanged(EventBase, frozen=True, kw_only=True):
    """Limits other than the budget were changed."""

    limits: dict[str, float | str | None]
    """Name to new value. The name is in `LIMITS`, or is a tool with its quota as value. None means no limit."""
    by: str = "person"


class GateModeChanged(EventBase, frozen=True, kw_only=True):
    """The mode of the gate was changed."""

    mode: GateMode
    by: str = "person"
    channel: str = ""
    """As in `proposal_decided`."""


class RuleAdded(EventBase, frozen=True, kw_only=True):
    """A person added a rule to the gate of the run."""

    rule: Rule
    by: str = "person"


class RuleRemoved(EventBase, frozen=True, kw_only=True):
    """A person removed a rule that they had added to the gate of the run."""

    rule: Rule
    by: str = "person"


class Paused(EventBase, frozen=True, kw_only=True):
    """A pause of the run begins."""

    by: str = "person"
    why: str = ""


class Unpaused(EventBase, frozen=True, kw_only=True):
    """The run continues after a pause."""

    by: str = "person"


class Waiting(EventBase, frozen=True, kw_only=True):
    """The run waits until somebody acts."""

    why: WaitsFor
    detail: str = ""
    """The limit that stopped the chat, if one did."""


class HandoffOpened(EventBase, frozen=True, kw_only=True):
    """The run was handed over."""

    reason: str
    suggested_action: str
    record: HandoffRecord = HandoffRecord()
    """Task, last actions, changed files, failing check: everything a successor needs to know."""


class TierAsked(EventBase, frozen=True, kw_only=True):
    """The next tier was asked to continue the run."""

    number: int
    """Number of the tier, from 1."""
    kind: TierKind
    name: str
    until: float | None = None
    """Unix time of the run's own clock at which the next tier is asked. None means no time limit."""


class TierPassed(EventBase, frozen=True, kw_only=True):
    """Nobody in this tier accepted the hand-off. The tier is not asked again for the same hand-off."""

    number: int
    why: str


class HandoffClosed(EventBase, frozen=True, kw_only=True):
    """Somebody accepted the hand-off, and the run continues."""

    by: str
    note: str = ""


class TelemetryFailed(EventBase, frozen=True, kw_only=True):
    """Spans of the run were not sent. Recorded once for each runner."""

    server: str
    """Scheme, host and port of the collector."""
    why: str

    @property
    def line(self) -> str:
        """The event as a line for people."""
        return f"no telemetry reaches {self.server}: {self.why}; send it later with rundry export --format otlp"


class RunEnded(EventBase, frozen=True, kw_only=True):
    """The last event; it has the fields of `Outcome`."""

    reason: Reason
    detail: str
    complete: bool
    exit_code: int
    retryable: bool = False
    limit: LimitName | None = None
    """The limit that ended a run with the reason `budget`; None in journals of versions without this field."""
    answer: str | None = None
    citations: list[Any] = []
    steps: int = 0
    passes: int = 0
    restarts: int = 0
    tokens: Tokens = Tokens()
    usd: float | None = 0.0
    held: Held = Held()
    seconds: float = 0.0
    check_seconds: float = 0.0
    files_changed: list[str] = []
    staged: list[str] = []
    seen: int = 0
    findings: FindingCounts = FindingCounts()
    coverage: Coverage | None = None
    estimate: Estimate | None = None
    failed_items: list[str] = []
    evidence: Evidence | None = None
    ended_jobs: list[EndedJob] = []
    approved_by: list[str] = []
    journal: str = ""
    undone_since: int = 0
    """0 when it is recorded. Views show the number of changes that were undone after the end."""
    changed_since: list[str] = []
    """Empty when it is recorded. Views show the judged files that somebody changed after the end."""
    children: list[ChildOutcome] = []


class McpServerChanged(EventBase, frozen=True, kw_only=True):
    """An MCP server started, failed, ended or is started again, or offers other tools."""

    name: str
    state: McpState
    place: str = ""
    """Its command line or its URL."""
    detail: str = ""
    """Why it failed or ended, and what it asked for and did not get."""
    tools: list[str] = []
    """Names of the tools that are offered to the model."""
    tokens: int = 0
    """Tokens that they take in each prompt, as counted by this program."""
    refused: list[str] = []
    """Tools that are not offered, and why, one line each."""
    network: bool = False
    """Whether it reaches the network."""
    outputs: list[str] = []
    """Folders of the workspace that it can write; `.`: all of it."""
    restarts: int = 0
    """How often it was started again in this run, because it died."""
    instructions: str = ""
    """Its accepted instructions, as the model gets them."""
    login: McpLogin = "none"
    """Whether a login is stored for its address, or it wants one."""


RunEvent = (
    RunStarted
    | RunResumed
    | ModelSwitched
    | ModelQuoted
    | BudgetChanged
    | LimitsChanged
    | GateModeChanged
    | RuleAdded
    | RuleRemoved
    | Paused
    | Unpaused
    | Waiting
    | HandoffOpened
    | HandoffClosed
    | TierAsked
    | TierPassed
    | McpServerChanged
    | TelemetryFailed
    | RunEnded
)
"""The events of this module."""
