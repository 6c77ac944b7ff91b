"""Events about the run as a whole: start, resume, passes, changed settings, hand-offs, end."""

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
    """The model's server is on this machine or the local network."""
    window: int | None = None
    """Size of the context window in tokens."""
    priced: bool = True
    effort: str | None = None
    """How much the model should reason, if set."""
    sees_images: bool | None = None
    """Whether the model accepts images; None: unknown."""
    sandbox: str | None = None
    """`bubblewrap`, `landlock`, `seatbelt`; None: commands run without a sandbox."""
    network: bool = False
    """Commands can reach the network, because it was allowed or because there is no sandbox."""
    not_held: list[str] = []
    """Guarantees that the sandbox cannot give on this machine, each in a few words."""
    gate: GateMode = GateMode.ASK
    instructions: str | None = None
    world: str | None = None
    """Fingerprint of the workspace at the start."""
    finder: FinderSpec | None = None
    """Settings of the search, for an until-dry run."""
    interval: IntervalSpec | None = None
    paced: PacedSpec | None = None
    improve: ImproveSpec | None = None
    notes: list[str] = []
    """Notes for the person at the start, one line each, for example a dropped limit or ignored configuration."""


class RunResumed(EventBase, frozen=True, kw_only=True):
    run_id: str
    from_seq: int
    """The last event that the earlier runner recorded."""
    not_held: list[str] = []
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


class PassStarted(EventBase, frozen=True, kw_only=True):
    number: int
    lenses: list[str] = []
    """In a search by lenses: the lenses of the pass."""
    began: float | None = None
    """Unix time of the run's own clock, for a pass of a clock or delay loop."""
    world: str | None = None
    """The snapshot at the start of the pass: if its check fails, the files are restored to this state."""
    head: str | None = None
    """The commit at the start of the pass; None: the pass is not committed."""
    git: str | None = None
    """State of the repository, in the snapshot store: HEAD, refs, index, stash, submodules, operations in progress."""
    green: bool = False
    """The success predicates already held at the start, so that they do not end the pass."""
    fresh: bool = False
    """The pass starts a new conversation after the system prompt."""
    tries: int = 1
    """Number of candidates in the pass, each in its own worktree."""


class PatchKept(EventBase, frozen=True, kw_only=True):
    """The changes of a pass, kept as a git patch before they are rolled back."""

    number: int
    why: str
    patch: str
    """Blob of the patch."""
    world: str | None
    """The snapshot that includes the change."""
    files: list[str] = []
    git: str | None = None
    """State of the repository after the pass, in the snapshot store."""
    bundle: str | None = None
    """Blob of a git bundle with the commits of the pass, for `git fetch`."""
    commits: list[str] = []
    """Those commits, and where they are kept if they do not fit into a bundle."""
    history: list[str] = []
    """What the pass changed in HEAD, refs, stash and submodules."""
    unmeasured: bool = False
    """The score could not be measured."""
    change: str = ""
    """Hash of the change without positions and trailing white space; the same hash twice means a repeated change."""


class PassFinished(EventBase, frozen=True, kw_only=True):
    number: int
    new: int = 0
    dry_streak: int = 0
    dry_passes: int = 0
    verdict: str = ""
    """For a pass that changes files: `kept`, `unchanged`, `reverted`, `unmeasured` (rolled back because the score could
    not be measured), or `skipped` if it could not start.
    """
    why: str = ""
    """The reason for the verdict, as text for a person."""
    said: str = ""
    """Summary of the pass in one line, for the next pass."""
    files: list[str] = []
    commit: str | None = None
    """The commit that contains the pass, if any."""
    change: str = ""
    """As in `PatchKept`; empty: nothing was changed."""
    repeats: int | None = None
    """Number of the earlier pass that made the same change."""
    left: list[str] = []
    """Files that could not be restored, each with the reason."""
    tries: int = 1
    """As in `PassStarted`."""
    candidate: int = 0
    """Number of the chosen try, from 1. 0: no try was chosen, or the pass has no tries."""


class ModelSwitched(EventBase, frozen=True, kw_only=True):
    model: str
    local: bool = False
    window: int | None = None
    priced: bool = True
    sees_images: bool | None = None
    """Whether the model accepts images; None: unknown."""
    by: str = "person"
    """The cause: `person`, `escalate` (the rule for a stall) or `tier` (of a hand-off)."""
    spec: ModelSpec | None = None
    """What a resumed run needs to open the model again."""
    prompt_tokens: int = 0
    """Tokens of the conversation that the new model has not read yet, as counted by this program."""
    cold_usd: float | None = None
    """Cost of reading them; None: unknown price."""


class ModelQuoted(EventBase, frozen=True, kw_only=True):
    """The cost of a model switch before the first answer. The model was not switched."""

    model: str
    prompt_tokens: int
    """Tokens of the conversation, as counted by this program; the new model has none of them cached."""
    cold_usd: float | None
    """Cost of reading them; None: unknown price."""
    warm_usd: float | None = None
    """What the current model would charge for the same tokens if all of them were cached."""


class BudgetChanged(EventBase, frozen=True, kw_only=True):
    budget: Budget
    by: str = "person"


class LimitsChanged(EventBase, frozen=True, kw_only=True):
    """Limits other than the budget were changed."""

    limits: dict[str, float | str | None]
    """Name to new value. The name is in `LIMITS`, or is a tool with its quota as value. None: no limit."""
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
    """The run waits until somebody acts. The kind is `message`, `gate`, `question` or `handoff`."""

    why: str
    detail: str = ""
    """The limit that stopped the chat, if one did."""


class Sleeping(EventBase, frozen=True, kw_only=True):
    seconds: float
    asked: float
    why: str
    warm_until: float | None = None
    """Unix time until which the prompt cache is warm."""
    until: float | None = None
    """Unix time of the run's own clock at which it continues."""
    moved: str = ""
    """Set if the delay differs from the requested one: `inside` the warm window or `out` of the dead zone."""
    warm_usd: float | None = None
    """Cost of reading the prompt while the cache is warm; None: unknown price."""
    cold_usd: float | None = None
    """Cost of reading the prompt when the cache is cold."""


class Woken(EventBase, frozen=True, kw_only=True):
    by: str
    """`clock`, `person`, `message` or `deadline`."""
    slept: float = 0.0
    """Seconds."""


class HandoffOpened(EventBase, frozen=True, kw_only=True):
    reason: str
    suggested_action: str
    record: HandoffRecord = HandoffRecord()
    """Task, last actions, changed files, failing check: everything a successor needs to know."""


class TierAsked(EventBase, frozen=True, kw_only=True):
    """The next tier was asked to continue the run."""

    number: int
    """Number of the tier, from 1."""
    kind: str
    """`person`, `model` or `command`."""
    name: str
    until: float | None = None
    """Unix time of the run's own clock at which the next tier is asked; None: no time limit."""


class TierPassed(EventBase, frozen=True, kw_only=True):
    """Nobody in this tier accepted the hand-off. The tier is not asked again for the same hand-off."""

    number: int
    why: str


class HandoffClosed(EventBase, frozen=True, kw_only=True):
    by: str
    note: str = ""


class RunEnded(EventBase, frozen=True, kw_only=True):
    """The last event; it has the fields of `Outcome`."""

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
