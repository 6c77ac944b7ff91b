"""What a journal says so far: the one fold of events that the runner, resume, reports and views share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from ..protocol import (
    Budget,
    BudgetChanged,
    CallAdmitted,
    Charged,
    CheckFinished,
    ContextTrimmed,
    Fault,
    FileChanged,
    GateMode,
    GateModeChanged,
    HandoffClosed,
    HandoffOpened,
    ModelSwitched,
    PassFinished,
    PassStarted,
    Paused,
    PredicateJudged,
    Prompted,
    ProposalDecided,
    ProposalOpened,
    QuestionAnswered,
    QuestionAsked,
    Queued,
    ReplyFinished,
    RunEnded,
    RunResumed,
    RunSpec,
    RunStarted,
    Said,
    Spent,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    Tokens,
    ToolCalled,
    ToolFinished,
    Unpaused,
    Unqueued,
)
from .conversation import Conversation


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call with what came of it."""

    call_id: str
    tool: str
    arguments: Any
    step: int | None
    ok: bool | None = None
    result: str = ""


@dataclass(slots=True)
class RunFacts:
    """Derived from events alone, so that a resumed run knows what the live one knew."""

    spec: RunSpec
    budget: Budget = field(init=False)
    gate_mode: GateMode = field(init=False)
    model: str = field(init=False)
    spent: Spent = field(default_factory=Spent)
    message_from: Spent = field(default_factory=Spent)
    """What was spent when the newest message of a chat came: its budget starts there."""
    admitted: dict[str | None, CallAdmitted] = field(default_factory=dict[str | None, CallAdmitted])
    """Calls that were admitted and neither charged nor refused yet, by work."""
    margins: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(our count, billed) of prompts whose usage the provider reported."""
    conversations: dict[str | None, Conversation] = field(default_factory=dict[str | None, Conversation])
    last_seq: int = 0
    step: int = 0
    passes: int = 0
    started: bool = False
    reply: ReplyFinished | None = None
    """The newest answer of the main conversation, until the next step starts."""
    text_of_step: str = ""
    prompted_seq: int = 0
    """Where the model was last told something."""
    checks: dict[str, CheckFinished] = field(default_factory=dict[str, CheckFinished])
    checked_seq: int = 0
    told: dict[str, str] = field(default_factory=dict[str, str])
    """Each check's output as the model last heard it, while that stands in its window."""
    predicates: dict[str, PredicateJudged] = field(default_factory=dict[str, PredicateJudged])
    finish: Action | None = None
    """The newest accepted `finish`."""
    finish_seq: int = 0
    outputs: list[str] = field(default_factory=list[str])
    """Blobs of results that were too long to show."""
    actions: list[Action] = field(default_factory=list[Action])
    files: dict[str, tuple[str | None, str | None]] = field(default_factory=dict[str, tuple[str | None, str | None]])
    """Path to (first blob before, newest blob after) of what the model's tools changed."""
    queue: dict[int, str] = field(default_factory=dict[int, str])
    proposals: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Those that wait, by their id."""
    approved: dict[str, ProposalOpened] = field(default_factory=dict[str, ProposalOpened])
    """Those that were approved and whose call has no result yet, by the call's id: they may have happened."""
    questions: dict[str, QuestionAsked] = field(default_factory=dict[str, QuestionAsked])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    """A person's answers, by the question's id."""
    paused: bool = False
    handoff: HandoffOpened | None = None
    stall: StallDetected | None = None
    """The newest firing that the loop has not yet answered with a prompt."""
    ended: RunEnded | None = None
    world: str | None = None

    def __post_init__(self) -> None:
        self.budget = self.spec.budget
        self.gate_mode = self.spec.gate.mode
        self.model = self.spec.model.name

    @property
    def main(self) -> Conversation:
        """The run's one conversation."""
        return self.conversation(None)

    def conversation(self, work: str | None) -> Conversation:
        """That of an item or lens, or the run's."""
        return self.conversations.setdefault(work, Conversation())

    @property
    def message_spent(self) -> Spent:
        """What the newest message of a chat has used."""
        a, b = self.spent, self.message_from
        return Spent(
            steps=a.steps - b.steps,
            tokens=Tokens(
                a.tokens.in_ - b.tokens.in_,
                a.tokens.out - b.tokens.out,
                a.tokens.cached - b.tokens.cached,
                a.tokens.reasoning - b.tokens.reasoning,
            ),
            usd=a.usd - b.usd,
            seconds=a.seconds - b.seconds,
            held_tokens=a.held_tokens - b.held_tokens,
            held_usd=a.held_usd - b.held_usd,
            unpriced=a.unpriced,
            estimated=a.estimated,
        )

    @property
    def files_changed(self) -> list[str]:
        """Sorted paths whose content differs from what it was before the run's tools touched it."""
        return sorted(path for path, (before, after) in self.files.items() if before != after)

    def touched(self) -> set[str]:
        """Paths that this run read or wrote, as the model named them."""
        read = {str(arguments_of(a)["path"]) for a in self.actions if a.ok and "path" in arguments_of(a)}
        return read | set(self.files)

    def apply(self, stamped: Stamped) -> None:
        """Takes in the next event, in order."""
        self.last_seq = stamped.seq
        self.conversation(stamped.work).apply(stamped.event)
        self._apply_frame(stamped)
        self._apply_money(stamped)
        self._apply_step(stamped)
        self._apply_person(stamped)

    def _apply_frame(self, stamped: Stamped) -> None:
        match stamped.event:
            case RunStarted():
                self.started = True
            case RunResumed():
                self.ended = None
                self.paused = False
                self._hold_lost_calls()
            case RunEnded() as ended:
                self.ended = ended
                self.spent += Spent(seconds=max(0.0, ended.seconds - self.spent.seconds))
            case BudgetChanged(budget=budget):
                self.budget = budget
            case GateModeChanged(mode=mode):
                self.gate_mode = mode
            case ModelSwitched(model=model):
                self.model = model
            case PassStarted(number=number) | PassFinished(number=number):
                self.passes = number
            case Paused():
                self.paused = True
            case Unpaused():
                self.paused = False
            case HandoffOpened() as handoff:
                self.handoff = handoff
            case HandoffClosed():
                self.handoff = None
            case _:
                pass

    def _apply_money(self, stamped: Stamped) -> None:
        match stamped.event:
            case CallAdmitted() as admitted:
                self.admitted[stamped.work] = admitted
            case Charged() as charged:
                self.admitted.pop(stamped.work, None)
                self.spent += Spent(
                    tokens=Tokens(
                        charged.tokens_in, charged.tokens_out, charged.tokens_cached, charged.tokens_reasoning
                    ),
                    usd=charged.usd or 0.0,
                    held_tokens=charged.held_tokens,
                    held_usd=charged.held_usd,
                    unpriced=charged.usd is None,
                    estimated=charged.estimated,
                )
                if not charged.estimated and charged.prompt_counted:
                    self.margins.append((charged.prompt_counted, charged.tokens_in))
                    del self.margins[:-50]
            case Fault():
                self.admitted.pop(stamped.work, None)
            case StepFinished(seconds=seconds):
                self.spent += Spent(seconds=seconds)
            case _:
                pass

    def _apply_step(self, stamped: Stamped) -> None:
        match stamped.event:
            case StepStarted(number=number):
                self.step = number
                self.spent += Spent(steps=1)
                self.reply = None
                self.text_of_step = ""
                self.stall = None
            case TextArrived(text=text):
                self.text_of_step += text
            case Fault(retry_in=wait) if wait is not None:
                self.text_of_step = ""
            case ReplyFinished() as reply:
                self.reply = reply
            case StepFinished(world=world):
                self.world = world or self.world
            case Prompted(kind=kind):
                self.prompted_seq = stamped.seq
                if kind != "system" and self.checked_seq:
                    self.told = {command: check.output for command, check in self.checks.items()}
            case ContextTrimmed():
                self.told.clear()
            case CheckFinished() as check:
                self.checks[check.command] = check
                self.checked_seq = stamped.seq
            case PredicateJudged() as judged:
                self.predicates[judged.name] = judged
            case StallDetected() as stall:
                self.stall = stall
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments):
                self.actions.append(Action(call_id, tool, arguments, stamped.step))
            case ToolFinished() as finished:
                self._close_action(finished, stamped.seq)
            case FileChanged(path=path, by=by, before=before, after=after) if by in ("model", "command", "restore"):
                first = self.files[path][0] if path in self.files else before
                if by != "restore" or path in self.files:
                    self.files[path] = (first, after)
            case _:
                pass

    def _apply_person(self, stamped: Stamped) -> None:
        match stamped.event:
            case Said(queued_id=queued_id):
                if queued_id is not None:
                    self.queue.pop(queued_id, None)
                self.message_from = self.spent
                self.finish = None
                self.reply = None
                self.stall = None
                self.checks.clear()
                self.predicates.clear()
            case Queued(queued_id=queued_id, text=text):
                self.queue[queued_id] = text
            case Unqueued(queued_id=queued_id):
                self.queue.pop(queued_id, None)
            case ProposalOpened() as opened:
                self.proposals[opened.proposal_id] = opened
            case ProposalDecided(proposal_id=proposal_id, decision=decision):
                opened = self.proposals.pop(proposal_id, None)
                if opened is not None and decision != "reject":
                    self.approved[opened.call_id] = opened
            case QuestionAsked() as asked:
                self.questions[asked.question_id] = asked
            case QuestionAnswered(question_id=question_id, text=text):
                self.questions.pop(question_id, None)
                self.answers[question_id] = text
            case _:
                pass

    def _close_action(self, finished: ToolFinished, seq: int) -> None:
        self.approved.pop(finished.call_id, None)
        if finished.full is not None:
            self.outputs.append(finished.full)
        for i in range(len(self.actions) - 1, -1, -1):
            action = self.actions[i]
            if action.call_id == finished.call_id:
                done = Action(
                    action.call_id, action.tool, action.arguments, action.step, finished.ok, finished.result[:400]
                )
                self.actions[i] = done
                if done.tool == "finish" and done.ok:
                    self.finish, self.finish_seq = done, seq
                return

    def _hold_lost_calls(self) -> None:
        """A call that was admitted by a runner that died may have been billed: it counts at its worst case."""
        for admitted in self.admitted.values():
            self.spent += Spent(
                held_tokens=admitted.worst_tokens,
                held_usd=admitted.worst_usd or 0.0,
                unpriced=admitted.worst_usd is None,
                estimated=True,
            )
        self.admitted.clear()


def fold(spec: RunSpec, events: list[Stamped]) -> RunFacts:
    """All events of a journal, taken in."""
    facts = RunFacts(spec)
    for stamped in events:
        facts.apply(stamped)
    return facts


def arguments_of(action: Action) -> dict[str, Any]:
    """The parsed arguments, or nothing where the model wrote no object."""
    return cast("dict[str, Any]", action.arguments) if isinstance(action.arguments, dict) else {}


def replace_budget(budget: Budget, name: str, value: float | None) -> Budget:
    """The same limits with one of them changed; whole numbers stay whole."""
    whole = name in ("steps", "tokens") and value is not None
    return msgspec.structs.replace(budget, **{name: int(value) if whole and value is not None else value})
