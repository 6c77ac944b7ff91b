"""The answers of a run in a file format, derived from events: content and check result of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...protocol import (
    AUTO_FORMAT,
    BY_TOOLS,
    NO_BASE,
    AnswerFile,
    AnswerRead,
    CheckFinished,
    EditFormat,
    EditFormatChosen,
    EditFormatOffered,
    Event,
    FileChanged,
    FileFormat,
    HandoffClosed,
    ModelSwitched,
    PredicateJudged,
    PromptVariant,
    ProposalDecided,
    Restarted,
    Rewound,
    RunEnded,
    RunResumed,
    Said,
    Stamped,
    StepFinished,
    StepStarted,
    ToolFinished,
    Undone,
    WheelGiven,
)

RESTART = "restart"
"""`Undone.by` of a change that the run itself took back."""
_OTHERS = ("person", "command", "background", "restore")
"""Causes of a file change that is not the answer's own."""


@dataclass(slots=True)
class TriedAnswer:
    """One answer, and what it led to."""

    number: int
    format: FileFormat
    """The format in which the file was shown."""
    asked: EditFormat
    """The format of the run then."""
    base: int
    path: str
    """Path of the shown file."""
    seq: int
    problem: str = ""
    """Why it changed nothing, in words for the model. Empty means that it did."""
    same_as: int = 0
    part: int = 0
    """The part of the file that was asked for. 0 means the file."""
    parts: int = 0
    digest: str = ""
    files: list[AnswerFile] = field(default_factory=list[AnswerFile])
    checks: dict[str, CheckFinished] = field(default_factory=dict[str, CheckFinished])
    """Its verdicts, by command, or empty if it was not checked."""
    unmet: dict[str, str] = field(default_factory=dict[str, str])
    """Other predicates that it does not meet, with their details."""
    seconds: float = 0.0
    """Time of its step: the answer and its checks."""
    is_rejected: bool = False
    """Whether a person rejected its change."""
    is_written: bool = False
    """Its change is in the workspace."""
    is_refused: bool = False
    """The rules refused its change."""
    is_kept: bool = False
    """A person decided on its change, which is not taken back."""

    @property
    def is_checked(self) -> bool:
        """Whether it gave a program that was checked."""
        return bool(self.checks or self.unmet)

    @property
    def is_green(self) -> bool:
        """Whether each of its checks ended with success, also if that does not count or is suspect."""
        return bool(self.checks) and all(check.exit_code == 0 for check in self.checks.values())

    @property
    def passed(self) -> int:
        """Number of tests that passed, over all checks."""
        return passed_in(self.checks.values())


@dataclass(slots=True)
class Answers:
    """The format of a run, and its answers."""

    format: EditFormat = BY_TOOLS
    all: list[TriedAnswer] = field(default_factory=list[TriedAnswer])
    since: int = 0
    """Number of answers before the files changed in another way: they are not bases, and their programs are new."""
    heard: int = 0
    """Number of answers before the newest message of a person or change of models, which gave the run a new chance."""
    over: int = 0
    """Number of answers that the run has dealt with: by a restart, or because the files changed in another way."""
    is_automatic: bool = False
    """Whether the program may choose the format."""
    is_offered: bool = False
    """Whether the person was offered a file format because of answers, in a chat."""
    has_reason: bool = False
    """Whether a person rejected an edit of the newest step with a reason, which the model should answer."""
    restart: Restarted | None = None
    """What the next answer begins with, or None if it begins with the files in the workspace."""
    restarts: int = 0
    rounds: int = 0
    """How often the parts of the present files were asked for, one after the other."""
    start: dict[str, CheckFinished] = field(default_factory=dict[str, CheckFinished])
    """Verdicts on the files with which the answers begin; with tools, the newest verdicts."""
    best: tuple[int, int] = (0, -1)
    """With tools: the position of the verdicts with the most passed tests, and that number, or -1 without one."""
    _has_ended: bool = False
    _checked: set[str] = field(default_factory=set[str])
    """With tools: the checks that ran after the last edit."""
    is_shared: bool = False
    """A person or a command changed files, or a person decided on a change."""

    @property
    def newest(self) -> TriedAnswer | None:
        """The newest answer, if nothing has followed it. None means that the next answer is due."""
        return self.all[-1] if len(self.all) > self.over else None

    @property
    def present(self) -> Sequence[TriedAnswer]:
        """The answers to the present files, oldest first."""
        return self.all[self.since :]

    @property
    def base(self) -> TriedAnswer | None:
        """The answer whose text the next one gets. None means that it gets the files as they are."""
        number = NO_BASE if self.restart is None else self.restart.base
        return self.answer(number) if number else None

    @property
    def variant(self) -> PromptVariant:
        """How the next answer is asked for."""
        return "output" if self.restart is None else self.restart.variant

    def answer(self, number: int) -> TriedAnswer:
        """Return the answer with this number."""
        return self.all[number - 1]

    def same_program(self, digest: str) -> int:
        """Return the number of the answer to the present files that gave this program, which was judged.

        Returns 0 if there is none.
        """
        tried = (one for one in self.present if one.is_checked or one.problem)
        return next((one.number for one in tried if one.digest == digest), 0)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `ANSWER_EVENTS`."""
        newest = self.newest
        self._note_reason(stamped.event)
        match stamped.event:
            case EditFormatChosen() | AnswerRead() | Restarted() | EditFormatOffered() as event:
                self._apply_own(event, stamped.seq)
            case Undone(by=by, kept=kept):
                if newest is not None:
                    newest.is_written = False
                if by != RESTART or kept:
                    self._begin_anew()
            case Said() | RunResumed() | HandoffClosed() | ModelSwitched() | RunEnded() as event:
                self._apply_chance(event)
            case WheelGiven() | Rewound():
                upto = stamped.event.upto if isinstance(stamped.event, Rewound) else stamped.seq
                self.all = [one for one in self.all if one.seq < upto]
                self.heard = min(self.heard, len(self.all))
                self._begin_anew()
            case FileChanged(by=by) if by in _OTHERS:
                self._begin_anew()
            case CheckFinished() | PredicateJudged():
                self._judge(newest, stamped)
            case ProposalDecided(by=by, decision=decision) if newest is None:
                self.is_shared |= by != "policy" and decision != "reject"
            case event:
                self._apply_to(newest, event)

    def _apply_chance(self, event: Said | RunResumed | HandoffClosed | ModelSwitched | RunEnded) -> None:
        """Record that the run got a new chance. A resume after a killed runner does not count."""
        if isinstance(event, RunEnded):
            self._has_ended = True
        elif self._has_ended or not isinstance(event, RunResumed):
            self.heard, self.rounds, self._has_ended = len(self.all), 0, False
            if self.restart is not None and self.restart.part:
                self.restart = None

    def _note_reason(self, event: Event) -> None:
        match event:
            case StepStarted():
                self.has_reason = False
            case ProposalDecided(decision="reject", by=by, reason=reason) if by != "policy" and reason:
                self.has_reason = True
            case _:
                pass

    def _apply_own(self, event: EditFormatChosen | AnswerRead | Restarted | EditFormatOffered, seq: int) -> None:
        """Fold an event about file formats."""
        match event:
            case EditFormatChosen(format=form, by=by):
                self.format, self.restart = BY_TOOLS if form == AUTO_FORMAT else form, None
                self.is_automatic = form == AUTO_FORMAT if by == "person" else self.is_automatic
            case EditFormatOffered(answers=answers):
                self.is_offered = answers > 0
            case AnswerRead() as read:
                answer = TriedAnswer(read.number, read.format, self.format, read.base, read.path, seq)
                answer.problem, answer.same_as = read.problem, read.same_as
                answer.digest, answer.files = read.digest, read.files
                answer.part, answer.parts = read.part, read.parts
                self.all.append(answer)
            case Restarted(number=number, format=form):
                self.over, self.restart, self.restarts, self.format = len(self.all), event, number, form
                self.rounds += event.part == 1

    def _apply_to(self, newest: TriedAnswer | None, event: Event) -> None:
        """Fold an event into the newest answer, which is None with tools and before the first answer."""
        if newest is None:
            if isinstance(event, FileChanged):
                self._checked.clear()
            return
        match event:
            case FileChanged(by="model"):
                newest.is_written = True
            case ProposalDecided(by="policy", decision="reject"):
                newest.is_refused = True
            case ProposalDecided(by=by, decision=decision) if by != "policy" and decision != "reject":
                newest.is_kept = True
            case ProposalDecided(decision="reject"):
                newest.is_rejected = True
            case ToolFinished(ok=False, result=result):
                newest.problem = result
                if not (newest.is_refused or newest.is_rejected):
                    newest.digest = ""  # its program never was in the files, so it can be given again
            case StepFinished(seconds=seconds):
                newest.seconds = seconds
                if newest.is_kept:
                    self.start = dict(newest.checks)
                    self.since = self.over = len(self.all)
                    self.restart = None
            case _:
                pass

    def _judge(self, newest: TriedAnswer | None, stamped: Stamped) -> None:
        match stamped.event:
            case CheckFinished(command=command) as event:
                (self.start if newest is None else newest.checks)[command] = event
                self._checked.add(command)
                passed = passed_in(self.start.values())
                if self.format == BY_TOOLS and passed > self.best[1] and self._checked == set(self.start):
                    self.best = stamped.seq, passed
            case PredicateJudged(name=name, passed=False, detail=detail) if newest is not None and newest.is_written:
                newest.unmet[name] = detail
            case _:
                pass

    def _begin_anew(self) -> None:
        """Begin with the files in the workspace, because somebody else changed them."""
        self.is_shared = True
        self.since = self.over = len(self.all)
        self.restart, self.rounds = None, 0
        self.start = {}


def passed_in(checks: Iterable[CheckFinished]) -> int:
    """Return the number of tests that passed, over all checks that count them; a check that passed counts as one."""
    return sum(max(check.passed, (check.ran or 0) - (check.failing or 0)) for check in checks)


ANSWER_EVENTS = frozenset[type[Event]](
    (
        EditFormatChosen,
        EditFormatOffered,
        AnswerRead,
        Restarted,
        Undone,
        Said,
        RunEnded,
        RunResumed,
        HandoffClosed,
        ModelSwitched,
        WheelGiven,
        Rewound,
        FileChanged,
        CheckFinished,
        PredicateJudged,
        ProposalDecided,
        ToolFinished,
        StepStarted,
        StepFinished,
    )
)
"""The events that change `Answers`; all others are ignored."""
