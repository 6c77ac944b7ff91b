"""A run begins, goes on, changes its frame, ends."""

from __future__ import annotations

from typing import Any

from ..budget import Budget, Tokens
from ..clockwork import ImproveSpec, IntervalSpec, PacedSpec
from ..coverage import Coverage, Estimate
from ..evidence import Evidence
from ..finder import FinderSpec
from ..handoff import HandoffRecord
from ..outcome import FindingCounts, Reason
from ..spec import GateMode, LoopKind, ModelSpec, Rule
from .base import EventBase


class RunStarted(EventBase, frozen=True, kw_only=True):
    run_id: str
    loop: LoopKind
    task: str
    workspace: str
    model: str
    budget: Budget
    journal: str
    local: bool = False
    """The model's server is on this machine or network."""
    window: int | None = None
    """Tokens."""
    priced: bool = True
    effort: str | None = None
    """How much the model is to reason, where that was set."""
    sees_images: bool | None = None
    """None: not known."""
    sandbox: str | None = None
    """`bubblewrap`, `landlock`, `seatbelt`; None: commands run unsandboxed."""
    network: bool = False
    """Commands reach the network: it was allowed, or nothing holds it."""
    not_held: list[str] = []
    """Guarantees that the sandbox does not give on this machine, in few words each."""
    gate: GateMode = GateMode.ASK
    instructions: str | None = None
    world: str | None = None
    """Fingerprint of the workspace at the start."""
    finder: FinderSpec | None = None
    """What is searched, of an until-dry run."""
    interval: IntervalSpec | None = None
    paced: PacedSpec | None = None
    improve: ImproveSpec | None = None
    notes: list[str] = []
    """What the person should know at the start, a line each (a limit that was dropped, config that was ignored)."""


class RunResumed(EventBase, frozen=True, kw_only=True):
    run_id: str
    from_seq: int
    """The last event that the earlier runner recorded."""
    not_held: list[str] = []
    """As in `run_started`."""
    notes: list[str] = []
    damaged: list[int] = []
    """Events that cannot be trusted: a person resumed the run without them."""
    missing: int = 0
    """Events that were lost from the end of the journal: a person resumed the run without them."""
    lost_steps: int = 0
    """Steps that only the record next to the journal knows of."""
    lost_seconds: float = 0.0
    """Seconds of work, likewise."""


class PassStarted(EventBase, frozen=True, kw_only=True):
    number: int
    lenses: list[str] = []
    """Who takes part in it, of a search by lenses."""
    began: float | None = None
    """Unix time by the run's own clock, of a pass that has one."""
    world: str | None = None
    """The snapshot that it starts from: where it is red, all goes back to this."""
    head: str | None = None
    """The commit that it starts from; None: the pass is not committed."""
    git: str | None = None
    """State of the repository, in the snapshot store: HEAD, refs, index, stash, submodules, operations in progress."""
    green: bool = False
    """The success predicates held when it started: that they hold does not end it."""
    fresh: bool = False
    """Its conversation begins anew, after the system prompt."""
    tries: int = 1
    """Candidates that work on it, each in a worktree of its own."""


class PatchKept(EventBase, frozen=True, kw_only=True):
    """What a pass changed, kept as a patch that git can apply, before it is put back."""

    number: int
    why: str
    patch: str
    """Blob."""
    world: str | None
    """The snapshot with the change in it."""
    files: list[str] = []
    git: str | None = None
    """State of the repository after the pass, in the snapshot store."""
    bundle: str | None = None
    """Blob: the commits of the pass, for `git fetch`."""
    commits: list[str] = []
    """Those commits, and where they are kept if they fit into no bundle."""
    history: list[str] = []
    """What the pass did to HEAD, refs, stash and submodules."""
    unmeasured: bool = False
    """The score could not be measured."""
    change: str = ""
    """Hash of the change without its place and its white space at line ends: the same twice is a repeat."""


class PassFinished(EventBase, frozen=True, kw_only=True):
    number: int
    new: int = 0
    dry_streak: int = 0
    dry_passes: int = 0
    verdict: str = ""
    """Of a pass that changes files: `kept`, `unchanged`, `reverted`, `unmeasured` (rolled back because the score could
    not be measured), or `skipped` where it could not start."""
    why: str = ""
    """What the verdict rests on, as a person reads it."""
    said: str = ""
    """What the pass did, in a line: for the next pass."""
    files: list[str] = []
    commit: str | None = None
    """Where it was committed."""
    change: str = ""
    """As in `PatchKept`; empty: nothing was changed."""
    repeats: int | None = None
    """The earlier pass that made the same change."""
    left: list[str] = []
    """Files that could not be put back, each with the reason."""
    tries: int = 1
    """As in `PassStarted`."""
    candidate: int = 0
    """The try that was chosen, from 1; 0: none was, or the pass has no tries."""


class ModelSwitched(EventBase, frozen=True, kw_only=True):
    model: str
    local: bool = False
    window: int | None = None
    priced: bool = True
    sees_images: bool | None = None
    """None: not known."""
    by: str = "person"
    """`person`, `escalate` (the rule for a stall) or `tier` (of a hand-off)."""
    spec: ModelSpec | None = None
    """What a resumed run needs to open it again."""
    prompt_tokens: int = 0
    """Of the conversation that it has not read yet, by our own count."""
    cold_usd: float | None = None
    """What reading them costs; None: it has no price."""


class ModelQuoted(EventBase, frozen=True, kw_only=True):
    """What a switch would cost before the first answer. Nothing was switched."""

    model: str
    prompt_tokens: int
    """Of the conversation, by our own count: no cache holds it there."""
    cold_usd: float | None
    """What reading them costs; None: it has no price."""
    warm_usd: float | None = None
    """What the model that answers now would take for the same, were all of it cached."""


class BudgetChanged(EventBase, frozen=True, kw_only=True):
    budget: Budget
    by: str = "person"


class LimitsChanged(EventBase, frozen=True, kw_only=True):
    """Limits other than the budget."""

    limits: dict[str, float | str | None]
    """Name to its new value: a name of `LIMITS`, or a tool, whose value is its quota. None: no limit."""
    by: str = "person"


class GateModeChanged(EventBase, frozen=True, kw_only=True):
    mode: GateMode
    by: str = "person"


class RuleAdded(EventBase, frozen=True, kw_only=True):
    """A person added a rule to the gate of the run."""

    rule: Rule
    by: str = "person"


class Paused(EventBase, frozen=True, kw_only=True):
    by: str = "person"
    why: str = ""


class Unpaused(EventBase, frozen=True, kw_only=True):
    by: str = "person"


class Waiting(EventBase, frozen=True, kw_only=True):
    """The run does nothing until someone acts: `message`, `gate`, `question`, `handoff`."""

    why: str
    detail: str = ""
    """Which limit stopped the chat, where one did."""


class Sleeping(EventBase, frozen=True, kw_only=True):
    seconds: float
    asked: float
    why: str
    warm_until: float | None = None
    """Unix time until which the prompt cache is warm."""
    until: float | None = None
    """Unix time at which it goes on, by the run's own clock."""
    moved: str = ""
    """`inside` the warm window or `out` of the dead zone, where the delay is not the one that was asked for."""
    warm_usd: float | None = None
    """What reading the prompt costs while the cache is warm; None: it has no price."""
    cold_usd: float | None = None
    """What it costs once the cache is cold."""


class Woken(EventBase, frozen=True, kw_only=True):
    by: str
    """`clock`, `person`, `message` or `deadline`."""
    slept: float = 0.0
    """Seconds."""


class HandoffOpened(EventBase, frozen=True, kw_only=True):
    reason: str
    suggested_action: str
    record: HandoffRecord = HandoffRecord()
    """Task, last actions, files changed, failing check: what nobody should have to derive again."""


class TierAsked(EventBase, frozen=True, kw_only=True):
    """The next one is asked to take the hand-off up."""

    number: int
    """Counts from 1."""
    kind: str
    """`person`, `model` or `command`."""
    name: str
    until: float | None = None
    """Unix time, by the run's own clock, at which the one after it is asked; None: no time was set."""


class TierPassed(EventBase, frozen=True, kw_only=True):
    """Nobody of this tier took it up. It is not asked again for the same hand-off."""

    number: int
    why: str


class HandoffClosed(EventBase, frozen=True, kw_only=True):
    by: str
    note: str = ""


class RunEnded(EventBase, frozen=True, kw_only=True):
    """The last event; its fields are those of `Outcome`."""

    reason: Reason
    detail: str
    complete: bool
    exit_code: int
    retryable: bool = False
    answer: str | None = None
    citations: list[Any] = []
    steps: int = 0
    passes: int = 0
    tokens: Tokens = Tokens()
    usd: float | None = 0.0
    seconds: float = 0.0
    files_changed: list[str] = []
    seen: int = 0
    findings: FindingCounts = FindingCounts()
    coverage: Coverage | None = None
    estimate: Estimate | None = None
    failed_items: list[str] = []
    evidence: Evidence | None = None
    journal: str = ""
