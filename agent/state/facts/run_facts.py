"""The state of a run, derived from its events and shared by the runner, resume, reports and views."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol import (
    AUTO_FORMAT,
    BY_TOOLS,
    CallAdmitted,
    Event,
    FinderSpec,
    GateMode,
    HandoffClosed,
    HandoffOpened,
    ImagesRefused,
    Interrupted,
    LoopKind,
    ModelSwitched,
    PassFinished,
    PassStarted,
    Paused,
    PlanAccepted,
    Queued,
    ReasoningArrived,
    Restarted,
    Rewound,
    RunEnded,
    RunResumed,
    RunSpec,
    RunStarted,
    Said,
    Spent,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    Undone,
    Unpaused,
    WheelGiven,
    WorkFinished,
    WorktreeFinished,
    has_own_tree,
)
from ..common.common_facts import COMMON_EVENTS, CommonFacts
from ..common.handoff_facts import ESCALATE, HandoffFacts
from ..search.finder_facts import FINDER_EVENTS, FINDER_ONLY, FinderFacts
from .action_log import ActionLog
from .answer_facts import ANSWER_EVENTS, Answers
from .conversation import Conversations
from .pass_facts import TRY_EVENTS, PassFacts, passing_of
from .setting_facts import SETTINGS_EVENTS
from .standing_changes import Changes
from .step_facts import STEP_EVENTS
from .tool_actions import close_action, paths_read
from .verdicts import VERDICT_EVENTS, Verdicts

if TYPE_CHECKING:
    from ...budget.ledger import Ledger
    from ..common.await_facts import Awaits
    from ..common.manual_facts import ManualControl
    from ..common.person_requests import PersonRequests


@dataclass(slots=True)
class RunFacts(Conversations):
    """Facts of a run, derived from events only, so that a resumed run has the same state as the live one."""

    common: CommonFacts = field(default_factory=CommonFacts)
    """The part that views show, too."""
    last_seq: int = 0
    passes: int = 0
    started: bool = False
    verdicts: Verdicts = field(default_factory=Verdicts)
    """Results of checks and predicates."""
    changes: Changes = field(default_factory=Changes)
    """Changes that can be undone, and files that differ from the start."""
    answers: Answers = field(default_factory=Answers)
    """The edit format, and the answers in it."""
    paused: bool = False
    ended: RunEnded | None = None
    accepted: PlanAccepted | None = None
    """The plan that a person accepted, unless they said something since."""
    finder: FinderFacts | None = None
    pass_facts: PassFacts | None = None
    """State of passes, in a run with a clock, a delay or a score."""

    def __post_init__(self) -> None:
        if not hasattr(self, "budget"):  # otherwise it was read from a checkpoint
            self.answers.format = BY_TOOLS if self.spec.edit_format == AUTO_FORMAT else self.spec.edit_format
            self.answers.is_automatic = self.spec.edit_format == AUTO_FORMAT
            self.finder = FinderFacts.of(self.spec.finder) if self.spec.finder is not None else None
            self.pass_facts = passing_of(self.spec)
        Conversations.__post_init__(self)

    @property
    def may_ask_for_parts(self) -> bool:
        """Whether the program may ask for one part of a file after the other.

        That costs many answers, so only where the program chose the format (a person may have chosen it on a server
        that costs money), and where nobody is asked about each edit.
        """
        return self.answers.is_automatic and self.gate_mode in (GateMode.EDITS, GateMode.AUTO, GateMode.STAGE)

    @property
    def may_start_over(self) -> bool:
        """Whether a run with tools starts over when it stalls: once, if all edits so far are its own.

        What a command or a person changed cannot be taken back, what a person approved stays, and an edit that no check
        has judged may be right (docs/decisions/0038).
        """
        spec, answers = self.spec, self.answers
        is_goal = spec.loop is LoopKind.GOAL and bool(spec.predicates.until)
        is_alone = spec.tries is None and spec.parent is None
        passes_edits = self.gate_mode in (GateMode.EDITS, GateMode.AUTO, GateMode.STAGE)
        is_first = answers.restarts == 0 and spec.restarts != 0
        is_judged = self.last_edit <= self.verdicts.checked_seq
        is_own = answers.format == BY_TOOLS and not answers.is_shared
        return is_goal and is_alone and passes_edits and is_first and is_judged and is_own

    @property
    def search(self) -> FinderSpec:
        """Settings of the search with the current limits. Only for an until-dry run."""
        assert self.spec.finder is not None  # only code for searches calls this
        return self.spec.finder

    @property
    def ledger(self) -> Ledger:
        """The usage of the run."""
        return self.common.ledger

    @property
    def requests(self) -> PersonRequests:
        """Proposals and questions that wait for the user."""
        return self.common.requests

    @property
    def awaits(self) -> Awaits:
        """What the model awaits."""
        return self.common.awaits

    @property
    def manual(self) -> ManualControl:
        """Actions of a person in control, and background commands."""
        return self.common.manual

    @property
    def queue(self) -> dict[int, Queued]:
        """Messages that wait for the end of the step, by their id."""
        return self.common.queue.messages

    @property
    def handoffs(self) -> HandoffFacts:
        """The tiers of a hand-off, and whether another model has taken over."""
        return self.common.handoff

    @property
    def handoff(self) -> HandoffOpened | None:
        """The hand-off that is still open, or None if there is none."""
        return self.common.handoff.opened

    @property
    def spent(self) -> Spent:
        """The usage of the whole run."""
        return self.ledger.spent

    @property
    def margins(self) -> list[tuple[int, int]]:
        """(our count, billed) of prompts whose usage the provider reported."""
        return self.ledger.margins

    def newest_prompt(self, model: str) -> tuple[int, int] | None:
        """(our count, the provider's) of the newest prompt of this model, or None if nothing was reported yet."""
        return self.ledger.newest_prompts.get(model)

    @property
    def admitted(self) -> dict[str | None, CallAdmitted]:
        """Admitted calls that were neither charged nor abandoned yet, by work."""
        return self.ledger.admitted

    @property
    def files_changed(self) -> list[str]:
        """Sorted paths whose content differs from that before the run's tools first changed them."""
        staged = self.changes.staged
        return sorted(path for path, (a, b) in self.changes.files.items() if a != b and path not in staged)

    @property
    def staged(self) -> list[str]:
        """Sorted paths of the files that are changed in the stage of the run, and not in the workspace."""
        files = self.changes.files
        return sorted(path for path in self.changes.staged if path in files and files[path][0] != files[path][1])

    @property
    def applied(self) -> frozenset[tuple[int | None, str]]:
        """(step, path) of edits that were not undone."""
        edits = (change for change in self.changes.standing if change.command is None)
        return frozenset((change.step, path) for change in edits for path in change.files)

    def touched(self) -> set[str]:
        """Paths that this run read or wrote, as the model named them."""
        return paths_read(self.actions) | set(self.changes.files)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event into this state."""
        self.last_seq = stamped.seq
        event = stamped.event
        if isinstance(event, TextArrived):  # most events are text
            self.apply_text(stamped.work, event)
            return
        if isinstance(event, ReasoningArrived):
            return
        if self.is_of_other_tree(stamped.work):
            self._apply_of_other_tree(stamped)
            return
        kind = type(event)
        if self.finder is not None and kind in FINDER_EVENTS:
            self.finder.apply(stamped)
            if kind in _ENDS_OF_WORK:
                self.forget_conversation(stamped)
            if kind in FINDER_ONLY:
                return
        self.apply_to_conversation(stamped)
        if self.pass_facts is not None:
            self.pass_facts.apply(stamped)
        self._apply_common(stamped)
        if kind in SETTINGS_EVENTS:
            self.apply_settings(event)
        if kind in _RUN_STATE_EVENTS:
            self._apply_run_state(event)
        if self.may_change_files:
            self.changes.apply(stamped)
        if kind in STEP_EVENTS:
            self.apply_step(stamped)
        if kind in VERDICT_EVENTS:
            self.verdicts.apply(stamped)
        if kind in ANSWER_EVENTS and stamped.work is None:
            self.answers.apply(stamped)
        if kind in _BY_PERSON:
            self._apply_person(event)

    def _apply_common(self, stamped: Stamped) -> None:
        """Fold what the runner decides from and the views show."""
        if type(stamped.event) in COMMON_EVENTS:
            self.common.apply(stamped)

    def is_of_other_tree(self, work: str | None) -> bool:
        """Return whether events of this work are about files of another tree."""
        return has_own_tree(work)

    def _apply_of_other_tree(self, stamped: Stamped) -> None:
        """Fold an event about the files of another tree: only steps, cost, calls and proposals count here."""
        event = stamped.event
        self.apply_to_conversation(stamped)
        if self.pass_facts is not None and isinstance(event, TRY_EVENTS):
            self.pass_facts.apply(stamped)
        self._apply_common(stamped)
        match event:
            case StepStarted(number=number):
                self.open_step_of(number, stamped.work)
            case StepFinished(number=number):
                self.open_steps.pop(number, None)
            case ImagesRefused() | ToolCalled():
                self.apply_step(stamped)
            case ToolFinished() as finished:
                close_action(self.actions.newest, finished, stamped.seq, edited=False)
            case Interrupted():
                self.interrupted = True
            case _:
                pass

    def apply_run_event(self, stamped: Stamped) -> None:
        """Fold an event of the run to which these facts belong. Does nothing, except for a try."""

    def _apply_run_state(self, event: Event) -> None:
        match event:
            case RunStarted(world=world):
                self.started = True
                self.world = world
            case RunResumed():
                self.ended = None
                self.paused = False
                self.stall = None
            case RunEnded() as ended:
                self.ended = ended
            case ModelSwitched(by=by) if by == ESCALATE:
                self.stall = None
            case PassStarted(number=number, fresh=fresh):
                self.passes = number
                if fresh:  # results of an earlier pass do not count in this one
                    self.finish = self.reply = self.stall = None
            case PassFinished(number=number):
                self.passes = number
            case Paused():
                self.paused = True
            case Unpaused():
                self.paused = False
                self.interrupted = False
            case Interrupted():
                self.interrupted = True
            case HandoffClosed() | Restarted():
                self.stall = None
            case PlanAccepted() as accepted:
                self.accepted = accepted
            case _:
                pass

    def _apply_person(self, event: Event) -> None:
        match event:
            case Said():
                self.finish = self.accepted = None
                self.reply = None
                self.empty_replies = 0
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
            case _:
                pass

    def _rewind(self, upto: int) -> None:
        """Return to the state before that position. Usage is not reduced."""
        self.finish = self.reply = self.stall = self.accepted = None
        self.wrapped_up = False
        self.interrupted = True
        self.actions = ActionLog.of(a for a in self.actions if self.changes.step_start(a.step) < upto)


_RUN_STATE_EVENTS = frozenset[type[Event]](
    (RunStarted, RunResumed, RunEnded, ModelSwitched, PassStarted, PassFinished, Paused, Unpaused, Interrupted)
) | {HandoffClosed, Restarted, PlanAccepted}
"""The events that change the run as a whole."""
_ENDS_OF_WORK = frozenset[type[Event]]((WorkFinished, WorktreeFinished, RunResumed))
"""The events with which conversations end."""
_BY_PERSON = frozenset[type[Event]]((Said, Undone, WheelGiven, Rewound))
"""A person's events that end what the steps so far led to."""


def fold(spec: RunSpec, events: list[Stamped]) -> RunFacts:
    """Fold all events of a journal."""
    facts = RunFacts(spec)
    for stamped in events:
        facts.apply(stamped)
    return facts
