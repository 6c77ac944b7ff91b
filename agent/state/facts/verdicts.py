"""Results of checks and predicates, derived from events, and which of them the model has received."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ...protocol import (
    AnswerRead,
    ChangesUndecided,
    CheckAccepted,
    CheckFinished,
    ConfirmationFinished,
    Confirmed,
    ContextTrimmed,
    DependenciesRecorded,
    Event,
    HandoffClosed,
    HandoffOpened,
    HoldoutPrepared,
    Judged,
    JudgementAccepted,
    JudgePlanned,
    JudgePreparing,
    JudgeStarted,
    PassFinished,
    PassStarted,
    PlantPrepared,
    PredicateJudged,
    Prompted,
    QuestionAsked,
    Rewound,
    RunResumed,
    Said,
    ScopeSet,
    SetupPrepared,
    Stamped,
    StepStarted,
    TestCounts,
    UndecidedAccepted,
    UndecidedRejected,
    Undone,
    WheelGiven,
    WorkFinished,
)

if TYPE_CHECKING:
    from ...protocol.events.judged import JudgeEvent

_NOT_OF_LOOP = (
    "shell",
    "undo",
    "wheel",
    "background",
    "handover",
    "guard",
    "instructions",
    "mcp",
    "diagnostics",
    "changed",
    "hook",
)
"""Kinds of prompts that do not replace what the loop has to send, such as those about a person's actions."""
SUSPECT_QUESTION = "suspect-"
"""Prefix of the id of a question about a suspect check."""
_NOT_STARTED = (126, 127)
"""Exit codes of a shell that did not find the command, or could not execute it."""
_NO_MODULE = re.compile(r"^\S*python\S*: No module named (\w+)\s*$")
"""What Python prints alone if the module after `-m` does not exist."""
_TOOLS = ("black", "coverage", "flake8", "isort", "mypy", "nose2", "nox", "pylint", "pyright", "pytest", "ruff", "tox")
"""Programs that a model does not write: another module that is missing may be the task."""


def digest_of_answer(answer: str | None) -> str:
    """Return a digest of an answer; empty if there is no answer."""
    return hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()[:32] if answer else ""


def cannot_start(check: CheckFinished) -> bool:
    """Return whether the shell, or its Python, could not start the program of the check."""
    missing = _NO_MODULE.match(check.output)
    return check.exit_code in _NOT_STARTED or (missing is not None and missing[1] in _TOOLS)


def result_of(check: CheckFinished) -> str:
    """Identify a suspect result: another run of the check that gives the same result has the same text."""
    found = (check.command, check.suspect, check.exit_code, check.missing_count, check.missing)
    return hashlib.sha256(msgspec.json.encode(found)).hexdigest()


def passed_words(command: str) -> str:
    """Return the name of a check among the predicates that hold."""
    return f"check passed: {command}"


def counts_of(check: CheckFinished) -> TestCounts | None:
    """Return the test counts of a check, or None if it counted nothing."""
    if check.ran is None and check.failing is None:
        return None
    return TestCounts(check.ran, check.failing or 0)


@dataclass(slots=True)
class Verdicts:
    """Verdicts of a run, derived from events only."""

    checks: dict[str, CheckFinished] = field(default_factory=dict[str, CheckFinished])
    """The newest verdict of each check, by its command."""
    checked_seq: int = 0
    """Position of the newest check in the journal."""
    predicates: dict[str, PredicateJudged] = field(default_factory=dict[str, PredicateJudged])
    passed_first: list[str] | None = None
    """Names of the predicates that held before the first step or pass, or None before that.

    A message that arrives after they were evaluated and before the first step does not change them.
    """
    judged_seq: int = 0
    """Position of the newest verdict of a check or another predicate."""
    confirmation: ConfirmationFinished | None = None
    """The newest confirmation, or None if there was none since the last message or undo."""
    confirmation_seq: int = 0
    judgement: Judged | None = None
    """The newest judgement of the result, or None if there was none since the last message, undo or decision of a
    person."""
    judgement_seq: int = 0
    """Position of the newest judgement in the journal."""
    kept: Judged | None = None
    """The judgement of the newest pass that was kept, or None if no pass is, it was not judged, or it was undone."""
    red_outputs: list[str] = field(default_factory=list[str])
    """Digests of the outputs of judgements that were red in place, too, since the last message or undo."""
    rejected: set[str] = field(default_factory=set[str])
    """Digests of undecided changes that a person rejected (`Judged.undecided_digest`)."""
    proposed: list[str] = field(default_factory=list[str])
    """Digests of the undecided changes of which a person accepted some since the newest verdicts."""
    dependencies: DependenciesRecorded | None = None
    """The dependency folders at the start."""
    prompted_seq: int = 0
    """Position of the newest message from the program to the model."""
    nudged_seq: int = 0
    """Position of the newest nudge of an answer without a call."""
    sent_outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Output of each check as it was last sent to the model, while that message is in the context window."""
    references: dict[str, str] = field(default_factory=dict[str, str])
    """Command to the blob of its reference counts: the first, or those at the start of the pass. Also for items."""
    starts: dict[str, TestCounts | None] = field(default_factory=dict[str, TestCounts | None])
    """Command to the counts of its first run."""
    first_wrote: dict[str, str] = field(default_factory=dict[str, str])
    """Command to the blob of the files that its first run wrote."""
    plants: dict[str, PlantPrepared] = field(default_factory=dict[str, PlantPrepared])
    """Command to what can be planted for it."""
    is_judge_planned: bool = False
    """Whether it was said what the judge will run."""
    holdout: HoldoutPrepared | None = None
    """What was found out about the second check before the first call, or None if there is none, or nothing was."""
    setup: SetupPrepared | None = None
    """What prepares a fresh checkout made before the first call, or None if there is no setup, or it did not run."""
    scope: ScopeSet | None = None
    """What the run may change, or None if nothing decides about it, or an older version began it."""
    first_outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Command to the output of its first run."""
    accepted: list[str] = field(default_factory=list[str])
    """Commands whose newest verdict was suspect and accepted by a person."""
    asked: set[str] = field(default_factory=set[str])
    """Suspect results about which a person was asked since the pass began, by `result_of`."""
    accepted_results: set[str] = field(default_factory=set[str])
    """The suspect results that the person accepted."""
    before_answer: tuple[dict[str, CheckFinished], dict[str, PredicateJudged]] | None = None
    """Checks and predicates on the files with which the answers in a file format begin, or None if not known."""
    is_check_due: bool = False
    """Something was undone since the last verdicts, so they no longer hold."""

    @property
    def suspects(self) -> list[CheckFinished]:
        """The newest results with exit code 0 that do not count as a pass and that nobody accepted."""
        return [check for check in self.checks.values() if check.suspect is not None and not check.passed]

    @property
    def suspect_digest(self) -> str:
        """Digest of the results that a person accepts, independent of when they ran.

        Empty means that no check is suspect.
        """
        found = sorted((c.command, c.suspect, c.exit_code, c.missing_count, c.missing) for c in self.suspects)
        return hashlib.sha256(msgspec.json.encode(found)).hexdigest() if found else ""

    @property
    def not_guaranteed(self) -> list[str]:
        """What could not be ruled out about the newest verdicts, for the outcome's evidence."""
        return sorted({line for judged in self.predicates.values() if judged.passed for line in judged.not_guaranteed})

    def is_about(self, name: str, answer: str | None) -> bool:
        """Return whether the newest verdict of this predicate is about this answer."""
        judged = self.predicates.get(name)
        return judged is not None and judged.answer == digest_of_answer(answer)

    @property
    def is_confirmation_due(self) -> bool:
        """Whether the predicates were evaluated since the newest confirmation, or there is no confirmation."""
        return self.confirmation is None or self.judged_seq > self.confirmation_seq

    @property
    def is_unconfirmed(self) -> bool:
        """Whether the checks pass in the workspace but failed in a clean checkout."""
        failed = self.confirmation is not None and self.confirmation.result is Confirmed.FAILED
        return failed and not self.is_confirmation_due

    @property
    def is_judged(self) -> bool:
        """Whether the newest judgement is about the newest verdicts of the checks and predicates."""
        return self.judgement is not None and self.judgement_seq > self.judged_seq

    @property
    def is_judged_red(self) -> bool:
        """Whether the checks pass in the workspace, but the judge does not let the run end as `done`."""
        return self.is_judged and self.judgement is not None and not self.judgement.passed

    @property
    def is_red_again(self) -> bool:
        """Whether the newest judgement was red for the same reason as one before."""
        return self.red_outputs.count(self.red_outputs[-1]) > 1 if self.red_outputs else False

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `VERDICT_EVENTS`."""
        match stamped.event:
            case StepStarted():
                self.is_check_due = False
                if self.passed_first is None:
                    self.passed_first = self._passed()
            case Prompted(kind=kind) if kind not in _NOT_OF_LOOP:
                self.prompted_seq = stamped.seq
                self.nudged_seq = stamped.seq if kind == "nudge" else self.nudged_seq
                if kind != "system" and self.checked_seq:
                    self.sent_outputs = {command: check.output for command, check in self.checks.items()}
            case ContextTrimmed():
                self.sent_outputs.clear()
            case CheckFinished() as check if stamped.work is not None:
                self._add_reference(check)
            case CheckFinished() as check:
                self._add_check(check)
                self.checked_seq = stamped.seq
                self._note_verdict(stamped.seq)
            case PredicateJudged() as judged:
                self.predicates[judged.name] = judged
                self._note_verdict(stamped.seq)
            case ConfirmationFinished() as confirmation:
                self.confirmation, self.confirmation_seq = confirmation, stamped.seq
            case (
                Judged()
                | JudgementAccepted()
                | UndecidedAccepted()
                | UndecidedRejected()
                | PlantPrepared()
                | HoldoutPrepared()
                | SetupPrepared()
                | JudgePlanned()
                | ScopeSet()
                | RunResumed()
                | WorkFinished(kind="scan")
            ):
                self._apply_judgement(stamped.seq, stamped.event)
            case ChangesUndecided():
                self.confirmation = None
            case HandoffClosed():
                self.confirmation = self.judgement = None
            case DependenciesRecorded() as dependencies:
                self.dependencies = dependencies
            case CheckAccepted(command=command) if command in self.checks:
                self._accept(command)
            case QuestionAsked(question_id=name) if name.startswith(SUSPECT_QUESTION):
                self.asked |= {result_of(check) for check in self.suspects}
            case HandoffOpened(record=record) if record.failing_check is not None and record.failing_check.digest:
                self.asked |= {result_of(check) for check in self.suspects}
            case AnswerRead() if self.before_answer is None:
                self.before_answer = dict(self.checks), dict(self.predicates)
            case Undone(by="restart", kept=[]) if self.before_answer is not None:
                self.checks, self.predicates = dict(self.before_answer[0]), dict(self.before_answer[1])
                self.confirmation = None
            case PassFinished() | PassStarted() | Said() | Undone() | WheelGiven() | Rewound():
                self._invalidate(stamped.event)
            case _:
                pass

    def _invalidate(self, event: PassFinished | PassStarted | Said | Undone | WheelGiven | Rewound) -> None:
        """Forget verdicts that no longer count after this event."""
        if isinstance(event, PassStarted) and self.passed_first is None:
            self.passed_first = self._passed()
        match event:
            case PassFinished(verdict=verdict, candidate=candidate):
                self.kept = self.judgement if verdict == "kept" else self.kept
                if candidate:  # they were about the files of the try
                    self._forget(is_due=True)
            case PassStarted(fresh=True):
                self.judgement = None
                self.asked.clear()
                self.accepted_results.clear()
                self.references |= {name: check.counted for name, check in self.checks.items() if check.counted}
                self.sent_outputs.clear()
                self.checked_seq = self.prompted_seq = 0
            case Said():
                if self.passed_first is None and (self.checks or self.predicates):
                    self.passed_first = self._passed()
                self._forget(is_due=False)
            case Undone() | WheelGiven(finished=False):
                self.kept = None
                self._forget(is_due=True)
            case Rewound():
                self.kept = None
                self.sent_outputs.clear()
                self._forget(is_due=True)
            case PassStarted() | WheelGiven():
                pass

    def _passed(self) -> list[str]:
        checks = [passed_words(command) for command, check in self.checks.items() if check.passed]
        return [*checks, *(name for name, judged in self.predicates.items() if judged.passed)]

    def _note_verdict(self, seq: int) -> None:
        self.judged_seq, self.is_check_due = seq, False
        self.proposed.clear()

    def _add_check(self, check: CheckFinished) -> None:
        self.checks[check.command] = check
        self.starts.setdefault(check.command, counts_of(check))
        self.first_outputs.setdefault(check.command, check.output)
        if check.wrote is not None:
            self.first_wrote.setdefault(check.command, check.wrote)
        self._add_reference(check)
        if check.command in self.accepted:
            self.accepted.remove(check.command)

    def _accept(self, command: str) -> None:
        self.accepted_results.add(result_of(self.checks[command]))
        self.checks[command] = msgspec.structs.replace(self.checks[command], passed=True)
        self.accepted.append(command)
        self.judgement = None  # it was about the missing tests

    def _add_reference(self, check: CheckFinished) -> None:
        """Compare later results with these counts, unless the check passed without a test: that is not a reference."""
        is_empty_pass = check.suspect is not None and not check.ran and not check.failing
        if check.counted is not None and not is_empty_pass:
            self.references.setdefault(check.command, check.counted)

    def _apply_judgement(self, seq: int, event: JudgeEvent | ScopeSet | RunResumed | WorkFinished) -> None:
        match event:
            case PlantPrepared(command=command) as prepared:
                self.plants[command] = prepared
            case JudgePlanned():
                self.is_judge_planned = True
            case HoldoutPrepared() as prepared:
                self.holdout = prepared
            case SetupPrepared() as prepared:
                self.setup = prepared
            case JudgePreparing():
                pass
            case JudgeStarted():
                pass
            case Judged() as judged:
                self.judgement, self.judgement_seq = judged, seq
                if judged.passed:
                    self._count_in_view(judged)
                if judged.why == "conditions":
                    self.red_outputs.append(judged.output_digest)
            case ScopeSet() as scope:
                self.scope, self.judgement = scope, None
            case UndecidedAccepted():
                self.proposed.append("" if self.judgement is None else self.judgement.undecided_digest)
                self.judgement = None
            case WorkFinished():
                self.judgement = None
            case UndecidedRejected(digest=digest):
                self.rejected.add(digest)
            case JudgementAccepted():
                if self.judgement is not None:
                    self.judgement = msgspec.structs.replace(self.judgement, passed=True, grade="passed")
            case RunResumed():  # the files may have changed, unless the model works on them already
                self.proposed.clear()
                is_told = self.prompted_seq > self.judgement_seq
                if self.judgement is not None and (not is_told or self.judgement.why == "holdout"):
                    self.judgement = None

    def _count_in_view(self, judged: Judged) -> None:
        """Let checks pass that ran fewer tests in the workspace, because they ran all of them in the view."""
        for command in judged.counts.keys() & self.checks.keys():
            counts = judged.counts[command]
            self.checks[command] = msgspec.structs.replace(
                self.checks[command],
                passed=True,
                suspect=None,
                missing=[],
                missing_count=0,
                ran=counts.ran,
                failing=counts.failing,
            )

    def _forget(self, *, is_due: bool) -> None:
        self.before_answer = None
        self.checks.clear()
        self.predicates.clear()
        self.confirmation = self.judgement = None
        self.red_outputs.clear()
        self.proposed.clear()
        self.is_check_due = is_due


VERDICT_EVENTS = frozenset[type[Event]](
    (
        AnswerRead,
        StepStarted,
        Prompted,
        ContextTrimmed,
        ChangesUndecided,
        CheckAccepted,
        CheckFinished,
        HandoffClosed,
        HandoffOpened,
        HoldoutPrepared,
        Judged,
        JudgementAccepted,
        JudgePlanned,
        PlantPrepared,
        PredicateJudged,
        QuestionAsked,
        ScopeSet,
        SetupPrepared,
        PassFinished,
        PassStarted,
        Said,
        UndecidedAccepted,
        UndecidedRejected,
        Undone,
        WheelGiven,
        Rewound,
        RunResumed,
        WorkFinished,
        ConfirmationFinished,
        DependenciesRecorded,
    )
)
"""The events that change `Verdicts`; all others are ignored."""
