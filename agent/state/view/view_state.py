"""The state of a view of a run: plain data, written only by `reduce` and read by the widgets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ...protocol import (
    BY_TOOLS,
    Budget,
    CallAdmitted,
    CheckFinished,
    EditFormat,
    FinderSpec,
    GateMode,
    HandoffOpened,
    ImproveSpec,
    LoopKind,
    McpServerChanged,
    ModelQuoted,
    ModelShare,
    ParentRef,
    PatchKept,
    PlanAccepted,
    ProposalOpened,
    QuestionAsked,
    Queued,
    Rule,
    RunEnded,
    ScoreMeasured,
    Sleeping,
    TierAsked,
    WaitsFor,
)
from ..common.common_facts import CommonFacts
from .search_progress import Progress
from .transcript_entries import Blocks

if TYPE_CHECKING:
    from ..common.await_facts import Await
    from ..common.manual_facts import Background
    from ..common.person_requests import Rebase
    from ..search.finder_facts import FinderFacts

Activity = Literal["", "thinking", "streaming", "running", "judging", "compacting"]


@dataclass(frozen=True, slots=True)
class RebaseResult:
    """The result of rebasing a waiting proposal after its file changed on disk."""

    clock: str
    """Local time of the change: `12:04:31`."""
    why: str = ""
    conflict: bool = False
    """The proposal no longer fits: it cannot be approved as it is."""
    merged: str | None = None
    """In a conflict: blob of both versions in one text with conflict markers."""

    @staticmethod
    def of(rebase: Rebase) -> RebaseResult:
        """Return what a screen shows of a rebase."""
        event, clock = rebase.event, time.strftime("%H:%M:%S", time.localtime(rebase.at))
        return RebaseResult(clock, event.why, event.conflict, event.merged)


@dataclass(frozen=True, slots=True)
class LockWait:
    """A lock that a step waits for, as a view shows it."""

    work: str | None
    lock: str
    holder: str
    since: float
    """Unix time."""


@dataclass(slots=True)
class Stopwatch:
    """Live seconds in which a model, a tool or a check ran, until an event reports the exact value."""

    measured: float = 0.0
    """Seconds of activities that have ended."""
    since: float | None = None
    """Unix time at which the current activity started."""

    def start(self, at: float) -> None:
        """Record that an activity started at the Unix time `at`."""
        if self.since is None:
            self.since = at

    def halt(self, at: float) -> None:
        """Record that all activities stopped at the Unix time `at`."""
        if self.since is not None:
            self.measured += max(0.0, at - self.since)
            self.since = None

    def clear(self) -> None:
        """Forget what was measured, because the ledger has the exact value, or because it does not count."""
        self.measured, self.since = 0.0, None

    def read(self, now: float) -> float:
        """Return the seconds up to the Unix time `now`."""
        running = max(0.0, now - self.since) if self.since is not None else 0.0
        return self.measured + running


@dataclass(slots=True)
class Shown:
    """The part of `ViewState`, other than the transcript, that a checkpoint stores."""

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
    """How much the model should reason, if set."""
    local: bool = False
    priced: bool = True
    window: int | None = None
    """Size of the context window in tokens."""
    sees_images: bool | None = None
    """Whether the model accepts images, or None if unknown."""
    sandbox: str | None = None
    network: bool = False
    """Commands can reach the network."""
    not_held: list[str] = field(default_factory=list[str])
    """Guarantees that the sandbox cannot give on this machine."""
    direct: bool = False
    """Commands write to the workspace itself."""
    mcp: dict[str, McpServerChanged] = field(default_factory=dict[str, McpServerChanged])
    """The MCP servers, by name."""
    gate_mode: GateMode = GateMode.ASK
    allowed: list[Rule] = field(default_factory=list[Rule])
    """Rules of the person that hold for the rest of the run."""
    in_stage: bool = False
    """What the run changes is staged, and not in the workspace."""
    staged: dict[str, tuple[str | None, str | None]] = field(default_factory=dict[str, tuple[str | None, str | None]])
    """Path to (first blob before, newest blob after) of files that changed in the stage."""

    budget: Budget | None = None
    common: CommonFacts = field(default_factory=CommonFacts)
    """The part of the state that the runner decides from, too."""
    busy: Stopwatch = field(default_factory=Stopwatch)
    """Busy seconds of the run itself that the ledger does not have yet."""
    child_busy: dict[int, Stopwatch] = field(default_factory=dict[int, Stopwatch])
    """The same for its running child runs, by their numbers."""
    least_busy: float = 0.0
    """What `busy_seconds` was when the ledger got an exact value. A smaller exact value does not turn it back."""
    prompt_tokens: int = 0
    """Tokens of the newest call's prompt, which fill the context window."""

    step: int | None = None
    activity: Activity = ""
    waiting: WaitsFor | Literal[""] = ""
    """What the run waits for, or empty if it does not wait for a person."""
    paused: bool = False
    wrapping_up: bool = False
    progress: Progress = field(default_factory=Progress)
    """Current activity of the search."""
    search: FinderSpec | None = None
    pass_number: int = 0
    """Number of the pass, in an interval, paced or improve run."""
    pass_step: int | None = None
    """The first step of the open pass, or None if there is no open pass."""
    running_tries: dict[str, str] = field(default_factory=dict[str, str])
    """Work to `try 2 of 3`, for tries that have not ended."""
    edit_format: EditFormat = BY_TOOLS
    """How the model edits files."""
    edit_format_why: str = ""
    """The reason, in words."""
    restarts: int = 0
    """How often the run started over after an answer in a file format."""
    most_restarts: int | None = None
    """Limit of `restarts`, or None if there is none."""
    newest_try: str = ""
    """The try with the newest step, or empty if no try is running."""
    rolling_back: PatchKept | None = None
    """The changes of a pass that are being rolled back."""
    scores: list[ScoreMeasured] = field(default_factory=list[ScoreMeasured])
    unmeasured: int = 0
    """Number of passes in a row whose score could not be measured."""
    stale: int = 0
    """Number of passes in a row that did not improve the score."""
    every: float | None = None
    """Seconds between the starts of two passes, in an interval run."""
    child_count: int = 0
    """Number of findings of a fix run, each of which gets a child run."""
    child_phase: str = ""
    """What the running child run does, in a few words, or empty if none runs."""
    parent: ParentRef | None = None
    """The run that started this one. None means that a person or a script did."""
    improve: ImproveSpec | None = None
    """Settings of an improve run."""
    dry: tuple[int, int] | None = None
    """Number of dry passes in a row, and the number required."""

    goals: list[str] = field(default_factory=list[str])
    """Commands of the checks, in the order in which they first ran."""
    scope: list[str] = field(default_factory=list[str])
    """What the run may change, in lines, or empty if nothing decides when it is done."""
    check: CheckFinished | None = None
    failing_first: int | None = None
    """The check's first number of failures."""
    sleeping: Sleeping | None = None
    asleep_since: float = 0.0
    """Unix time at which the sleep started."""
    quoted: ModelQuoted | None = None
    """The model switch whose cost was shown, until the model is switched."""
    plan: list[str] = field(default_factory=list[str])
    """The plan of the model, a step a line."""
    applies_child: str = ""
    """The child run whose changes were accepted last: `child 2, rename`, or empty if a command made them."""
    accepted: PlanAccepted | None = None
    """The plan that the person accepted, which another run carries out."""
    retrying: tuple[str, float, float] | None = None
    """After a failed call: why, the Unix time of the failure, and the seconds until the next attempt."""
    outcome: RunEnded | None = None
    page_first: int = 0
    """Number of blocks before the newest page of the transcript."""
    page_seq: int = 0
    """Number of the event before that page."""
    last_text: str = ""
    """Digest of the newest complete text of the model."""

    refused: dict[int, str] = field(default_factory=dict[int, str])
    """Command id to the reason why the runner refused it."""
    taken: set[int] = field(default_factory=set[int])
    """Ids of the commands that the runner carried out."""
    at_call: dict[str, int] = field(default_factory=dict[str, int])
    """Call id to the index of its block."""
    at_shell: dict[int, int] = field(default_factory=dict[int, int])
    """The person's own command to the index of its block."""
    waiting_children: set[int] = field(default_factory=set[int])
    """Numbers of the child runs that wait for a person."""
    at_child: dict[int, int] = field(default_factory=dict[int, int])
    """Number of a child run to the index of its block."""
    at_proposal: dict[str, int] = field(default_factory=dict[str, int])
    at_question: dict[str, int] = field(default_factory=dict[str, int])
    growing: dict[tuple[str | None, str], int] = field(default_factory=dict[tuple[str | None, str], int])
    """Work and block kind to the index of the growing block."""
    printed: dict[int, str] = field(default_factory=dict[int, str])
    """Index of a running command's block to its newest line of output."""
    prompts_read: dict[str | None, tuple[int, int]] = field(default_factory=dict[str | None, tuple[int, int]])
    """Work to how far the server has read its prompt: the tokens that are read, and all tokens."""
    locks: list[LockWait] = field(default_factory=list[LockWait])
    """Locks that steps wait for, oldest first."""

    @property
    def staged_files(self) -> list[str]:
        """Sorted paths of the files that are changed in the stage, and not in the workspace."""
        return sorted(path for path, (before, after) in self.staged.items() if before != after)

    @property
    def changeable(self) -> set[int]:
        """Indexes of the blocks that events can still change."""
        places = (self.at_call, self.at_shell, self.at_child, self.at_proposal, self.at_question, self.growing)
        return {index for place in places for index in place.values()}


@dataclass(slots=True)
class ViewState(Shown):
    """Everything that a view of one run shows."""

    blocks: Blocks = field(default_factory=Blocks)
    changed_from: int = 0
    """Blocks before this index have not changed since the view last took changes."""
    finder: FinderFacts | None = None
    """Findings and counts of an until-dry run."""

    def busy_seconds(self, now: float) -> float:
        """Return the seconds that count against the limits up to the Unix time `now`: measured where not yet known.

        Those of child runs count, also if several work at the same time.
        """
        watches = (self.busy, *self.child_busy.values())
        counted = self.common.ledger.limited.seconds + sum(watch.read(now) for watch in watches)
        return max(self.least_busy, counted)

    def count_exact(self, at: float, watch: Stopwatch) -> None:
        """Clear a stopwatch whose time the ledger gets now, at the Unix time `at`, as an exact value."""
        self.least_busy = self.busy_seconds(at)
        watch.clear()

    @property
    def is_timed(self) -> bool:
        """Whether something runs whose seconds count."""
        return any(watch.since is not None for watch in (self.busy, *self.child_busy.values()))

    @property
    def shares(self) -> Mapping[str, ModelShare]:
        """Usage of the whole run by model."""
        return self.common.ledger.shares

    @property
    def admitted(self) -> Mapping[str | None, CallAdmitted]:
        """Calls that were neither charged nor failed yet, by work."""
        return self.common.ledger.admitted

    @property
    def proposals(self) -> Mapping[str, ProposalOpened]:
        """Open proposals, oldest first, with the changes of a rebase."""
        return self.common.requests.waiting()

    @property
    def rebased(self) -> Mapping[str, RebaseResult]:
        """Proposal id to its newest rebase."""
        return {name: RebaseResult.of(rebase) for name, rebase in self.common.requests.rebases.items()}

    @property
    def question(self) -> QuestionAsked | None:
        """The newest open question, unless the run has ended."""
        questions = self.common.requests.questions
        return questions[next(reversed(questions))] if questions and self.outcome is None else None

    @property
    def queue(self) -> Sequence[Queued]:
        """Messages of the person that wait for the end of the step, unless the run has ended."""
        return self.common.queue.in_order if self.outcome is None else []

    @property
    def handoff(self) -> HandoffOpened | None:
        """The open hand-off, unless the run has ended."""
        return self.common.handoff.opened if self.outcome is None else None

    @property
    def last_handoff(self) -> HandoffOpened | None:
        """The newest hand-off, also when it is closed or the run ended with it, so that its page can be read."""
        return self.common.handoff.newest

    @property
    def handed_over_at(self) -> float:
        """Unix time of the newest hand-off."""
        return self.common.handoff.opened_at

    @property
    def tier(self) -> TierAsked | None:
        """The tier that is being asked."""
        return self.common.handoff.asked if self.outcome is None else None

    @property
    def is_user_in_control(self) -> bool:
        """Whether the person is in control."""
        return self.common.manual.wheel is not None

    @property
    def awaits(self) -> Sequence[Await]:
        """What the model waits for with `wait_for`, oldest first."""
        return list(self.common.awaits.open.values()) if self.outcome is None else []

    @property
    def awaits_person(self) -> bool:
        """Whether the model waits for something that the person is to do."""
        return any(each.began.what == "person" for each in self.awaits)

    @property
    def background(self) -> Mapping[str, Background]:
        """Background commands that run now, by name."""
        return self.common.manual.background

    @property
    def _waits(self) -> str:
        """Return in one word that the run makes no model call until something happens, or an empty text."""
        return "sleeping" if self.sleeping is not None else "waiting" if self.awaits else ""

    @property
    def phase(self) -> str:
        """One phrase for the state of the run; what needs the person comes first."""
        if self.outcome is not None:
            return "ended"
        if self.activity == "compacting":
            return "compacting"
        if self.proposals or self.question is not None or self.waiting or self.awaits_person:
            return "waiting for you"
        if self.is_user_in_control:
            return "you control"
        if self.wrapping_up:
            return "wrapping up"
        if self.sleeping is None and self.child_phase and not self.paused:
            return self.child_phase
        if now := self._waits or self.activity:
            return now
        if self.paused:
            return "paused"
        return "starting" if self.last_seq == 0 else "thinking"

    @property
    def try_words(self) -> str:
        """The try of a run that started over: `try 3`, with a limit `try 3/6`, or empty if it did not start over."""
        if not self.restarts:
            return ""
        limit = f"/{self.most_restarts + 1}" if self.most_restarts is not None else ""
        return f"try {self.restarts + 1}{limit}"

    @property
    def failure_change(self) -> str:
        """The change of the check's failures: `14→3`, `3` if it did not change, or nothing."""
        if self.check is None or self.check.failing is None:
            return ""
        if self.failing_first is None or self.failing_first == self.check.failing:
            return str(self.check.failing)
        return f"{self.failing_first}→{self.check.failing}"

    def take_changes(self) -> int:
        """Return the index from which blocks changed since the last call."""
        first, self.changed_from = self.changed_from, len(self.blocks)
        return first
