"""The state of a run, derived from its events and shared by the runner, resume, reports and views."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..protocol import (
    Budget,
    BudgetChanged,
    CallAdmitted,
    FileChanged,
    FinderSpec,
    GateMode,
    GateModeChanged,
    HandoffClosed,
    HandoffOpened,
    ImagesRefused,
    Interrupted,
    LimitsChanged,
    ModelSpec,
    ModelSwitched,
    PassFinished,
    PassStarted,
    Paused,
    Queued,
    ReasoningArrived,
    ReplyFinished,
    Rewound,
    Rule,
    RuleAdded,
    RunEnded,
    RunResumed,
    RunSpec,
    RunStarted,
    Said,
    Snapshotted,
    Spent,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    Undone,
    Unpaused,
    Unqueued,
    WheelGiven,
    WorkFinished,
    is_try,
    with_limits,
)
from .action_log import ActionLog
from .actions import Action, answer_of, close_action, forget_older, paths_read
from .asking import ASKED, Asking
from .changes import Changes
from .conversation import SPOKEN, Conversation, last_text
from .escalations import ESCALATE, Handing
from .guarded_files import SealFacts
from .manual import Hands
from .passes import OF_TRIES, PassFacts, passing_of
from .search.finder_facts import FINDER_EVENTS, FINDER_ONLY, FinderFacts
from .spending import Spending
from .verdicts import JUDGED, Verdicts


@dataclass(slots=True)
class RunFacts:
    """Facts of a run, derived from events only, so that a resumed run has the same state as the live one."""

    spec: RunSpec
    """The spec at the start of the run, with the limits that were changed since."""
    budget: Budget = field(init=False)
    gate_mode: GateMode = field(init=False)
    rules: list[Rule] = field(init=False)
    """Rules of the policy, and rules that a person added to the run."""
    model: str = field(init=False)
    model_spec: ModelSpec = field(init=False)
    """The current model: the one in the spec, or the one that a person switched to."""
    spending: Spending = field(default_factory=Spending)
    conversations: dict[str | None, Conversation] = field(default_factory=dict[str | None, Conversation])
    last_seq: int = 0
    step: int = 0
    step_seq: int = 0
    """Position of the start of the newest step."""
    open_steps: dict[int, str | None] = field(default_factory=dict[int, str | None])
    """Steps that started and have not ended, with their works."""
    passes: int = 0
    started: bool = False
    reply: ReplyFinished | None = None
    """The newest answer of a step in the main conversation, until the next step starts."""
    wrapped_up: bool = False
    """The closing summary was made, and no step followed."""
    interrupted: bool = False
    """A person interrupted the run, and nobody has continued it since."""
    verdicts: Verdicts = field(default_factory=Verdicts)
    """Results of checks and predicates."""
    finish: Action | None = None
    """The newest accepted `finish`."""
    finish_seq: int = 0
    outputs: list[str] = field(default_factory=list[str])
    """Blobs of results that were too long to show."""
    actions: ActionLog = field(default_factory=ActionLog)
    last_edit: int = 0
    """Position of the newest file change by the model, its commands, or a person who decided on a proposal."""
    last_result: int = 0
    """Position of the newest result of a tool."""
    changes: Changes = field(default_factory=Changes)
    """Changes that can be undone, and files that differ from the start."""
    sealing: SealFacts = field(default_factory=SealFacts)
    """The approved content of guarded files."""
    hands: Hands = field(default_factory=Hands)
    """Actions of a person in control, and background commands."""
    queue: dict[int, Queued] = field(default_factory=dict[int, Queued])
    """Messages that wait for the end of the step, by their id."""
    refused_images: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Images that are not sent to a model again, by the model's name; an empty list: it gets no images at all."""
    asking: Asking = field(default_factory=Asking)
    """Proposals and questions."""
    paused: bool = False
    handoff: HandoffOpened | None = None
    handing: Handing = field(default_factory=Handing)
    stalls: list[StallDetected] = field(default_factory=list[StallDetected])
    stall: StallDetected | None = None
    """The newest stall that the loop has not yet answered with a prompt."""
    ended: RunEnded | None = None
    world: str | None = None
    finder: FinderFacts | None = None
    passing: PassFacts | None = None
    """State of passes, in a run with a clock, a delay or a score."""

    def __post_init__(self) -> None:
        if hasattr(self, "budget"):  # it was read from a checkpoint
            return
        if self.spec.finder is not None:
            self.finder = FinderFacts.of(self.spec.finder)
        self.passing = passing_of(self.spec)
        self.budget = self.spec.budget
        self.gate_mode = self.spec.gate.mode
        self.rules = list(self.spec.gate.rules)
        self.model = self.spec.model.name
        self.model_spec = self.spec.model

    @property
    def may_change_files(self) -> bool:
        """Whether the run may change files. Most searches only read, so they have nothing to undo."""
        return self.spec.finder is None or self.spec.finder.traits.changes_files

    @property
    def search(self) -> FinderSpec:
        """Settings of the search with the current limits. Only for an until-dry run."""
        assert self.spec.finder is not None  # only code for searches calls this
        return self.spec.finder

    @property
    def spent(self) -> Spent:
        """The usage of the whole run."""
        return self.spending.spent

    @property
    def message_spent(self) -> Spent:
        """The usage since the newest message of a chat."""
        return self.spending.since_message

    @property
    def margins(self) -> list[tuple[int, int]]:
        """(our count, billed) of prompts whose usage the provider reported."""
        return self.spending.margins

    @property
    def admitted(self) -> dict[str | None, CallAdmitted]:
        """Admitted calls that were neither charged nor abandoned yet, by work."""
        return self.spending.admitted

    @property
    def next_step(self) -> int:
        """The number of the next step."""
        return self.step + 1

    @property
    def open_step(self) -> int | None:
        """The run's own step that started and has not ended yet."""
        return next((number for number, work in self.open_steps.items() if work is None), None)

    @property
    def main(self) -> Conversation:
        """The main conversation of the run."""
        return self.conversation(None)

    def conversation(self, work: str | None) -> Conversation:
        """Return the conversation of an item or lens, or the main one."""
        found = self.conversations.get(work)
        if found is None:
            found = self.conversations[work] = Conversation()
        return found

    @property
    def files_changed(self) -> list[str]:
        """Sorted paths whose content differs from that before the run's tools first changed them."""
        return sorted(path for path, (before, after) in self.changes.files.items() if before != after)

    @property
    def answer(self) -> str | None:
        """The answer that an outcome would report now."""
        return answer_of(self.finish, last_text(self.main.messages))

    @property
    def applied(self) -> frozenset[tuple[int | None, str]]:
        """(step, path) of edits that were not undone."""
        edits = (landed for landed in self.changes.standing if landed.command is None)
        return frozenset((landed.step, path) for landed in edits for path in landed.files)

    def touched(self) -> set[str]:
        """Paths that this run read or wrote, as the model named them."""
        return paths_read(self.actions) | set(self.changes.files)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        self.last_seq = stamped.seq
        event = stamped.event
        if isinstance(event, TextArrived):  # most events are text
            self.conversation(stamped.work).pending += event.text
            return
        if isinstance(event, ReasoningArrived):
            return
        if is_try(stamped.work):
            self._apply_of_try(stamped)
            return
        kind = type(event)
        if self.finder is not None and kind in FINDER_EVENTS:
            self.finder.apply(stamped)
            if kind is WorkFinished or kind is RunResumed:
                self._forget_conversation(stamped)
            if kind in FINDER_ONLY:
                return
        if isinstance(event, SPOKEN):
            self.conversation(stamped.work).apply(event, stamped.seq)
        if self.passing is not None:
            self.passing.apply(stamped)
        is_step = kind is StepStarted or kind is StepFinished  # most of the events that get this far
        if not is_step:
            self._apply_frame(stamped)
            self.handing.apply(event)
        self._apply_common(stamped)
        if self.may_change_files:
            self.changes.apply(stamped)
            self.sealing.apply(stamped)
        self._apply_step(stamped)
        if kind in JUDGED:
            self.verdicts.apply(stamped)
        if not is_step:
            self._apply_person(stamped)
            self.hands.apply(stamped)

    def _apply_common(self, stamped: Stamped) -> None:
        """Fold what a run shares with its tries: cost, proposals and questions."""
        self.spending.apply(stamped)
        if type(stamped.event) in ASKED:
            self.asking.apply(stamped.event)

    def _apply_of_try(self, stamped: Stamped) -> None:
        """Fold an event of a try, which works on its own files: only steps, cost, calls and proposals count here."""
        event = stamped.event
        if isinstance(event, SPOKEN):
            self.conversation(stamped.work).apply(event, stamped.seq)
        if self.passing is not None and isinstance(event, OF_TRIES):
            self.passing.apply(stamped)
        self._apply_common(stamped)
        match event:
            case StepStarted(number=number):
                self.step = number
                self.open_steps[number] = stamped.work
                self.wrapped_up = self.interrupted = False
            case StepFinished(number=number):
                self.open_steps.pop(number, None)
            case ImagesRefused() | ToolCalled():
                self._apply_step(stamped)
            case ToolFinished() as finished:
                close_action(self.actions.newest, finished, stamped.seq, edited=False)
            case Interrupted():
                self.interrupted = True
            case _:
                pass

    def hear(self, stamped: Stamped) -> None:
        """Fold an event of the run to which these facts belong. Does nothing, except for a try."""

    def _forget_conversation(self, stamped: Stamped) -> None:
        """Drop the conversation of an ended work. Lenses keep theirs for the next pass; other works start new."""
        if isinstance(stamped.event, WorkFinished) and stamped.event.kind != "lens":
            self.conversations.pop(stamped.work, None)
        elif isinstance(stamped.event, RunResumed):
            for work in [w for w in self.conversations if w is not None and not w.startswith("lens:")]:
                del self.conversations[work]

    def _apply_frame(self, stamped: Stamped) -> None:
        match stamped.event:
            case RunStarted(budget=budget, world=world):
                self.started = True
                self.budget = budget
                self.world = world
            case RunResumed() as resumed:
                self.ended = None
                self.paused = False
                self.stall = None
                for work, conversation in self.conversations.items():
                    if work != stamped.work:
                        conversation.apply(resumed, stamped.seq)
            case RunEnded() as ended:
                self.ended = ended
            case BudgetChanged(budget=budget):
                self.budget = budget
            case LimitsChanged(limits=limits):
                self.spec = with_limits(self.spec, limits)
            case GateModeChanged(mode=mode):
                self.gate_mode = mode
            case RuleAdded(rule=rule):
                self.rules.append(rule)
            case ModelSwitched(model=model, spec=spec):
                self.model = model
                self.model_spec = spec or self.model_spec
                if stamped.event.by == ESCALATE:
                    self.stall = None
            case PassStarted(number=number, fresh=fresh):
                self.passes = number
                if fresh:  # results of an earlier pass do not count in this one
                    self.finish = self.reply = self.stall = None
                    for work in [work for work in self.conversations if is_try(work)]:
                        del self.conversations[work]
            case PassFinished(number=number):
                self.passes = number
            case Paused():
                self.paused = True
            case Unpaused():
                self.paused = False
                self.interrupted = False
            case Interrupted():
                self.interrupted = True
            case HandoffOpened() as handoff:
                self.handoff = handoff
            case HandoffClosed():
                self.handoff = None
                self.stall = None
            case _:
                pass

    def _apply_step(self, stamped: Stamped) -> None:
        match stamped.event:
            case StepStarted(number=number):
                self.step = number
                self.open_steps[number] = stamped.work
                self.step_seq = stamped.seq
                self.reply = None
                self.wrapped_up = self.interrupted = False
                self.stall = None
            case ReplyFinished() as reply:
                if stamped.step is None and stamped.work is None:
                    self.wrapped_up = True
                elif stamped.step is not None:
                    self.reply = reply
            case StepFinished(number=number, world=world):
                self.open_steps.pop(number, None)
                self.world = world or self.world
            case ImagesRefused(model=model, shas=shas):
                before = self.refused_images.get(model, shas)
                self.refused_images[model] = [*before, *(s for s in shas if s not in before)] if before else []
            case StallDetected() as stall:
                self.stalls.append(stall)
                self.stall = stall
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments):
                self.actions.append(Action(call_id, tool, arguments, stamped.step))
                if not self.may_change_files:
                    forget_older(self.actions.newest)
            case ToolFinished() as finished:
                self._close_action(finished, stamped.seq)
            case Snapshotted(world=world):
                self.world = world
            case FileChanged(by="model" | "person" | "command" | "background"):
                self.last_edit = stamped.seq
            case _:
                pass

    def _apply_person(self, stamped: Stamped) -> None:
        match stamped.event:
            case Said(queued_id=queued_id):
                if queued_id is not None:
                    self.queue.pop(queued_id, None)
                self.finish = None
                self.reply = None
                self.wrapped_up = self.interrupted = False
                self.stall = None
            case Undone():
                self.finish = None
            case WheelGiven(finished=finished):
                self.stall = None
                if not finished:
                    self.finish = None
            case Rewound(upto=upto):
                self._rewind(upto)
            case Queued(queued_id=queued_id) as queued:
                self.queue[queued_id] = queued
            case Unqueued(queued_id=queued_id):
                self.queue.pop(queued_id, None)
            case _:
                pass

    def _rewind(self, upto: int) -> None:
        """Return to the state before that position. Usage is not reduced."""
        self.finish = self.reply = self.stall = None
        self.wrapped_up = False
        self.interrupted = True
        self.actions = ActionLog.of(a for a in self.actions if self.changes.began(a.step) < upto)

    def _close_action(self, finished: ToolFinished, seq: int) -> None:
        if finished.full is not None:
            self.outputs.append(finished.full)
        done = close_action(self.actions.newest, finished, seq, edited=self.last_edit > self.last_result)
        self.last_result = seq
        if done is not None and done.tool == "finish" and done.ok:
            self.finish, self.finish_seq = done, seq


def fold(spec: RunSpec, events: list[Stamped]) -> RunFacts:
    """Fold all events of a journal."""
    facts = RunFacts(spec)
    for stamped in events:
        facts.apply(stamped)
    return facts
