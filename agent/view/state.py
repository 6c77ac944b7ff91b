"""What a view of a run knows: plain data, written by `reduce` alone, read by the widgets."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..facts.search.finder_facts import FinderFacts
from ..protocol import (
    Budget,
    CallAdmitted,
    CheckFinished,
    FinderSpec,
    GateMode,
    HandoffOpened,
    ImproveSpec,
    LoopKind,
    ModelQuoted,
    ModelShare,
    PatchKept,
    ProposalOpened,
    QuestionAsked,
    RunEnded,
    ScoreMeasured,
    Sleeping,
    Spent,
    TierAsked,
)
from .progress import Progress
from .transcript import Blocks


@dataclass(slots=True)
class Background:
    """A command that runs beside the steps."""

    name: str
    command: str
    since: float
    """Unix time."""
    line: str = ""
    """What it printed last."""


@dataclass(slots=True)
class Message:
    """A message of the person that waits for the step's end."""

    queued_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Rebasing:
    """A waiting proposal's file changed on disk; the proposal is what followed from that."""

    clock: str
    """When, in local time: `12:04:31`."""
    why: str = ""
    conflict: bool = False
    """It no longer fits: it cannot be approved as it is."""
    merged: str | None = None
    """In conflict: blob of both versions in one text, with conflict marks."""


@dataclass(slots=True)
class Stopwatch:
    """Seconds in which a model, a tool or a check ran, live: a finished step's own figure replaces what was watched."""

    settled: float = 0.0
    watched: float = 0.0
    since: float | None = None
    """Unix time since when something runs."""

    def start(self, at: float) -> None:
        """Something began to run at the unix time `at`."""
        if self.since is None:
            self.since = at

    def halt(self, at: float) -> None:
        """Nothing runs any longer."""
        if self.since is not None:
            self.watched += max(0.0, at - self.since)
            self.since = None

    def settle(self, seconds: float) -> None:
        """What was watched took so many seconds in truth."""
        self.settled += seconds
        self.watched, self.since = 0.0, None

    def read(self, now: float) -> float:
        """Seconds so far at the unix time `now`."""
        running = max(0.0, now - self.since) if self.since is not None else 0.0
        return self.settled + self.watched + running


@dataclass(slots=True)
class Shown:
    """What a view of one run shows next to the transcript: the part of `ViewState` that a checkpoint stores."""

    last_seq: int = 0
    last_at: float = 0.0
    """Unix time of the newest event."""

    run_id: str = ""
    loop: LoopKind | None = None
    task: str = ""
    workspace: str = ""
    journal: str = ""
    model: str = ""
    effort: str = ""
    """How much the model is to reason, where that was set."""
    local: bool = False
    priced: bool = True
    window: int | None = None
    sees_images: bool | None = None
    """The model accepts images; None: not known."""
    """Tokens."""
    sandbox: str | None = None
    network: bool = False
    """Commands reach it."""
    not_held: list[str] = field(default_factory=list[str])
    """Guarantees that the sandbox does not give here."""
    gate_mode: GateMode = GateMode.ASK

    budget: Budget | None = None
    spent: Spent = field(default_factory=Spent)
    """Against the budget: in a chat, since the newest message. Seconds are in `busy`."""
    busy: Stopwatch = field(default_factory=Stopwatch)
    prompt_tokens: int = 0
    """Of the newest call: what fills the window."""

    step: int | None = None
    activity: str = ""
    """`thinking`, `streaming`, `running` or nothing."""
    waiting: str = ""
    """`message`, `gate`, `question` or `handoff` while the run does nothing until someone acts."""
    paused: bool = False
    driving: bool = False
    """The person has the wheel."""
    background: dict[str, Background] = field(default_factory=dict[str, Background])
    """What runs beside the steps, by name."""
    wrapping_up: bool = False
    progress: Progress = field(default_factory=Progress)
    """What that search does just now."""
    search: FinderSpec | None = None
    pass_number: int = 0
    """Of a loop of clock, delay or money."""
    pass_step: int | None = None
    """The first step of the pass that is open; None: none is."""
    trying: dict[str, str] = field(default_factory=dict[str, str])
    """Work to `try 2 of 3`, of the tries that have not ended."""
    newest_try: str = ""
    """The one whose step is the newest; empty: none works."""
    going_back: PatchKept | None = None
    """What a pass changed is being put back."""
    scores: list[ScoreMeasured] = field(default_factory=list[ScoreMeasured])
    unmeasured: int = 0
    """Passes in a row whose score could not be measured."""
    stale: int = 0
    """Passes in a row that did not move the score."""
    every: float | None = None
    """Seconds from pass to pass, of an interval run."""
    improve: ImproveSpec | None = None
    """What has to move, of an improve run."""
    dry: tuple[int, int] | None = None
    """Dry passes in a row, and how many are asked for."""

    goals: list[str] = field(default_factory=list[str])
    """The checks' commands, as they were first seen."""
    check: CheckFinished | None = None
    failing_first: int | None = None
    """What the check counted the first time."""
    proposals: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Those that wait for the person, oldest first, re-based ones as they are now."""
    rebased: dict[str, Rebasing] = field(default_factory=dict[str, Rebasing])
    """Proposal to its last re-basing."""
    question: QuestionAsked | None = None
    queue: list[Message] = field(default_factory=list[Message])
    sleeping: Sleeping | None = None
    asleep_since: float = 0.0
    """Unix time."""
    handoff: HandoffOpened | None = None
    last_handoff: HandoffOpened | None = None
    """Also once it is closed, or the run ended with it: its page can still be read."""
    handed_over_at: float = 0.0
    """Unix time."""
    tier: TierAsked | None = None
    """Who is asked now."""
    quoted: ModelQuoted | None = None
    """The switch whose price was told, until the model is switched."""
    shares: dict[str, ModelShare] = field(default_factory=dict[str, ModelShare])
    """What each model used of the whole run."""
    plan: list[str] = field(default_factory=list[str])
    outcome: RunEnded | None = None
    page_first: int = 0
    """Number of blocks before the newest page of the transcript."""
    page_seq: int = 0
    """The event before that page."""
    last_text: str = ""
    """Digest of the newest text of the model that is complete."""

    refused: dict[int, str] = field(default_factory=dict[int, str])
    """Command id to why the runner refused it."""
    taken: set[int] = field(default_factory=set[int])
    """Ids of the commands that the runner carried out."""
    holds: set[int] = field(default_factory=set[int])
    """Charges of which the provider may still bill more, by their place in the journal."""
    admitted: dict[str | None, CallAdmitted] = field(default_factory=dict[str | None, CallAdmitted])
    """Calls that were neither charged nor faulted yet, by work."""

    at_call: dict[str, int] = field(default_factory=dict[str, int])
    """Call id to the index of its block."""
    at_shell: dict[int, int] = field(default_factory=dict[int, int])
    """Command of the person's own to the index of its block."""
    at_proposal: dict[str, int] = field(default_factory=dict[str, int])
    at_question: dict[str, int] = field(default_factory=dict[str, int])
    growing: dict[tuple[str | None, str], int] = field(default_factory=dict[tuple[str | None, str], int])
    """Work and block kind to the index of the block that still grows."""

    @property
    def pointed(self) -> set[int]:
        """Indexes of the blocks that events can still change."""
        places = (self.at_call, self.at_shell, self.at_proposal, self.at_question, self.growing)
        return {index for place in places for index in place.values()}


@dataclass(slots=True)
class ViewState(Shown):
    """All that a view of one run shows."""

    blocks: Blocks = field(default_factory=Blocks)
    changed_from: int = 0
    """Blocks before this index are as they were when the view last took them."""
    finder: FinderFacts | None = None
    """What a search has found so far, of an until-dry run."""

    @property
    def phase(self) -> str:
        """One word for what the run does: the newest thing that needs the person first."""
        if self.outcome is not None:
            return "ended"
        if self.proposals or self.question is not None or self.waiting:
            return "waiting for you"
        if self.driving:
            return "you drive"
        if self.wrapping_up:
            return "wrapping up"
        if self.sleeping is not None:
            return "sleeping"
        if self.activity:
            return self.activity
        if self.paused:
            return "paused"
        return "starting" if self.last_seq == 0 else "thinking"

    @property
    def movement(self) -> str:
        """How the check's failures moved: `14→3`, `3` where nothing moved, or nothing."""
        if self.check is None or self.check.failing is None:
            return ""
        if self.failing_first is None or self.failing_first == self.check.failing:
            return str(self.check.failing)
        return f"{self.failing_first}→{self.check.failing}"

    def take_changes(self) -> int:
        """The index from which blocks changed since the last call."""
        first, self.changed_from = self.changed_from, len(self.blocks)
        return first
