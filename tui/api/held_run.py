"""A run as a Python program holds it: what it knows of the run, and each act on it as a wait."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rundry.agent import (
    PERSON,
    PROGRAM,
    Answer,
    Command,
    Decide,
    LimitValue,
    Pause,
    ProposalOpened,
    QuestionAsked,
    ResumeChanges,
    RundryError,
    RunEnded,
    RunnerProcess,
    Say,
    Session,
    SetLimit,
    Spent,
    Stamped,
    Stop,
    Unpause,
    UserError,
    as_of_now,
    drop_stage,
    holder,
    refresh_proposals,
    require_own_journal,
    staged_in,
)

from ..control.asked_proposal import what_of
from ..control.picked_answer import picked_option
from ..control.run_controller import RunController
from ..control.run_status import StatusWord, status_word
from ..control.waiting import NoAnswer, Wait, begins, until_answered, until_begun, until_recorded
from ..start.attach_images import images_of_task
from ..start.confirmed_findings import FindingState, FoundRow, found_row, state_of
from ..text.show_text import one_line
from .hold import Hold
from .staged import Staged, apply_staged, staged_now

if TYPE_CHECKING:
    from rundry.agent import Applied, Journal, ViewState

    from ..start.new_run import Setup

Request = ProposalOpened | QuestionAsked
"""What a run waits for: a decision on a proposal, or an answer to a question."""
ANSWER_SECONDS = 10.0
"""Seconds within which a runner must take a command."""
_EXIT_SECONDS = 10.0
_BATCH = 500


class Refused(RundryError):
    """The run refused a command. The text says why."""


class Interrupted(RundryError):
    """The process of the run was killed before its end: `resume()` continues the run."""


def program_name() -> str:
    """Return the name under which this program's decisions are recorded: `python:deploy.py`."""
    script = Path(sys.argv[0]).name if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "interactive"
    return PROGRAM + (one_line(script)[:60] or "interactive")


class HeldRun:
    """The state of one run, and its commands as waits. `Run` and `AsyncRun` carry the waits out."""

    def __init__(
        self, link: Session, runner: RunnerProcess, *, journals: Path | None, is_own: bool, attended: bool
    ) -> None:
        """`journals`: the user's folder of journals, or None if this one is trusted wherever it lies.

        `is_own`: this object starts the run, and stops it when it is closed. `attended`: the program answers it.
        """
        self._link, self._runner, self._attended = link, runner, attended
        self._controller = RunController(link)
        self._controller.journals = journals
        me = weakref.ref(self)  # a cycle would keep the object, and so the run, until the next collection
        self._controller.on_news = lambda news: _note(me(), news)
        self._by = program_name()
        self._begun_at = 0
        """Number of the newest event with which the run began or continued."""
        self._hold = Hold(link, runner, is_own=is_own, by=self._by)
        self._finalizer = weakref.finalize(self, self._hold.abandon)
        if attended and link.journal is not None:
            self._hold.beat()

    def __repr__(self) -> str:
        journal = self._link.journal
        return f"<rundry run {journal.spec.run_id}>" if journal is not None else "<rundry run that has not begun>"

    # What is known of the run. Each reads what the journal has by now.

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._journal.spec.run_id

    @property
    def journal(self) -> Path:
        """The file of the run."""
        return self._journal.path

    @property
    def folder(self) -> Path:
        """The workspace of the run."""
        return Path(self._journal.spec.workspace)

    @property
    def status(self) -> StatusWord:
        """What the run does, in one word. `interrupted`: its process is gone, and `resume()` continues it."""
        state = self._state()
        return status_word(state, is_held=holder(self._journal.path) is not None)

    @property
    def proposals(self) -> list[ProposalOpened]:
        """The proposals that wait for a decision, oldest first."""
        return list(self._state().proposals.values())

    @property
    def question(self) -> QuestionAsked | None:
        """The question that waits for an answer, or None."""
        return self._state().question

    @property
    def outcome(self) -> RunEnded | None:
        """How the run ended, or None if it has not ended.

        If files that were judged changed since, it is not `complete` any more, and `changed_since` names them.
        """
        ended = self._state().outcome
        return None if ended is None else as_of_now(ended, self._journal)

    @property
    def spent(self) -> Spent:
        """Steps, tokens, USD and seconds so far."""
        return self._state().common.ledger.spent

    # Waits

    def begin(self, setup: Setup, task: str) -> Wait[None]:
        """Let the run begin. Raises RundryError."""
        began = False
        try:
            spec, blobs = images_of_task(setup.spec(task), setup.workspace)
            self._link.begin(spec, setup.folder, setup.notes, blobs)
            self._controller.begun = True
            yield from until_begun(self._link, lambda: self._has_begun(0))
            began = True
            if self._attended:
                self._hold.beat()
        finally:
            if not began:  # also after Ctrl+C
                self._finalizer.detach()
                self._hold.give_up()

    def _answered(self, command: Command) -> Wait[None]:
        """Send a command to the runner. Raises UserError if no process has the run, Refused, NoAnswer."""
        journal, state = self._journal, self._state()
        if state.outcome is not None or holder(journal.path) is None:
            raise UserError(f"{journal.spec.run_id} does not run ({self.status}): resume() continues it")
        after = journal.last_seq()
        try:
            why = yield from until_answered(journal, self._controller.put(command), after, seconds=ANSWER_SECONDS)
        except NoAnswer:
            if self._state().outcome is not None and isinstance(command, Stop):
                return  # it ended by itself meanwhile
            raise
        self._news()
        if why is not None:
            raise Refused(f"the run refused it: {why}")

    def _resumed(self, changes: ResumeChanges) -> Wait[None]:
        """Let a new process continue the run. Raises RundryError."""
        journal, until = self._journal, time.monotonic() + _EXIT_SECONDS
        while holder(journal.path) is not None or not self._runner.wait_for_exit(0):
            if time.monotonic() > until:
                raise UserError(f"{journal.spec.run_id} runs ({self.status}): it cannot be resumed")
            yield
        self._state()
        after = journal.last_seq()
        self._controller.resume(changes)
        self._hold.is_own = True
        yield from until_begun(self._link, lambda: self._has_begun(after))

    def _decided(
        self,
        proposal: ProposalOpened,
        verdict: Literal["approve", "reject", "part"],
        *,
        person: bool,
        **more: Any,  # noqa: ANN401 - fields of `Decide`
    ) -> Wait[None]:
        """Decide on exactly this proposal. A run without a process is resumed with the decision."""
        journal = self._journal
        is_live = holder(journal.path) is not None and self._state().outcome is None
        if not is_live:
            self._waiting(proposal)
            refresh_proposals(journal.path)
        opened = self._waiting(proposal)
        if verdict != "reject":
            self._require_approvable(opened, person=person)
        by = PERSON if person else self._by
        command = Decide(
            proposal_id=opened.proposal_id,
            digest=proposal.digest,
            verdict=verdict,
            by=by,
            channel=self._by if person else "",
            **more,
        )
        if is_live:
            yield from self._answered(command)
        else:
            after = journal.last_seq()
            yield from self._resumed(ResumeChanges(decision=command, by=by))
            yield from until_recorded(journal, command, after, seconds=ANSWER_SECONDS)
            self._news()

    def _waiting(self, proposal: ProposalOpened) -> ProposalOpened:
        """Return the proposal as it waits now. Raises UserError if it does not, or changed."""
        opened = self._state().proposals.get(proposal.proposal_id)
        if opened is None or opened.digest != proposal.digest:
            what = "was decided or withdrawn" if opened is None else "changed since: look at it again"
            raise UserError(f"the proposal {what_of(proposal)} does not wait any more: it {what}")
        return opened

    def _require_approvable(self, opened: ProposalOpened, *, person: bool) -> None:
        if self._state().common.requests.conflict_of(opened.proposal_id) is not None:
            raise UserError(f"{what_of(opened)} is in conflict with its file: reject it, or merge it on the screen")
        if opened.danger and not person:
            raise UserError(
                f"only a person can approve {what_of(opened)}: {one_line('; '.join(opened.asks))[:300]} "
                "(person=True says that a person has seen it)"
            )

    def _approved(self, proposal: ProposalOpened, hunks: Sequence[int] | None, *, person: bool) -> Wait[None]:
        if hunks is None:
            yield from self._decided(proposal, "approve", person=person)
            return
        if not person:
            raise UserError("only a person chooses hunks: add person=True if one did, or approve the whole proposal")
        if proposal.effects is not None or not all(1 <= number <= proposal.hunks for number in hunks) or not hunks:
            raise UserError(
                f"hunks={list(hunks)}: this proposal has several files; approve or reject it"
                if proposal.effects is not None
                else f"hunks={list(hunks)}: this proposal has the hunks 1 to {proposal.hunks}"
            )
        yield from self._decided(proposal, "part", person=True, hunks=sorted({number - 1 for number in hunks}))

    def _answer(self, text: str, *, person: bool) -> Wait[None]:
        question = self.question
        if question is None:
            raise UserError("no question waits for an answer")
        by = PERSON if person else self._by
        yield from self._answered(Answer(question_id=question.question_id, text=picked_option(question, text), by=by))

    def _sent(self, text: str) -> Wait[None]:
        if not text.strip():
            raise UserError("the message is empty")
        yield from self._answered(Say(text=text, by=self._by))

    def _stopped(self, *, now: bool) -> Wait[None]:
        if self._state().outcome is None:
            yield from self._answered(Stop(how="now" if now else "wrap_up", by=self._by))

    def _paused(self, *, now: bool) -> Wait[None]:
        yield from self._answered(Pause(now=now, by=self._by))

    def _unpaused(self) -> Wait[None]:
        yield from self._answered(Unpause(by=self._by))

    def _limited(self, limits: Mapping[str, LimitValue]) -> Wait[None]:
        if not limits:
            raise UserError("no limit is named: write for example set_limits(steps=40)")
        for name, value in limits.items():
            yield from self._answered(SetLimit(name="seconds" if name == "time" else name, value=value))

    def _continued(self, message: str | None, limits: Mapping[str, LimitValue]) -> Wait[None]:
        changed = {"seconds" if name == "time" else name: value for name, value in limits.items()}
        yield from self._resumed(ResumeChanges(hint=message, limits=changed, by=self._by))

    def _until_end(self) -> Wait[RunEnded]:
        """Wait for the end. Raises Interrupted if the process of the run is killed."""
        while (ended := self.outcome) is None:
            self._require_driven()
            yield
        return ended

    def _stream(self, after: int) -> Generator[Stamped | None]:
        """Yield the events after a number until the run ends, and None where the caller should pause."""
        while True:
            is_over = self._state().outcome is not None
            batch = self._journal.read(after, _BATCH)
            for stamped in batch:
                after = stamped.seq
                yield stamped
            if batch:
                continue
            if is_over:
                return
            self._require_driven()
            yield None

    def _request_stream(self) -> Generator[Request | None]:
        """Yield each proposal and each question once while it waits, and None where the caller should pause."""
        if not self._attended:
            raise UserError("nothing waits for this program: start or attach the run with attended=True")
        given: set[tuple[str, str]] = set()
        while True:
            state = self._state()
            waiting: dict[tuple[str, str], Request] = {(n, p.digest): p for n, p in state.proposals.items()}
            if state.question is not None:
                waiting[state.question.question_id, ""] = state.question
            fresh = next((name for name in waiting if name not in given), None)
            if fresh is not None:
                given.add(fresh)
                yield waiting[fresh]
                continue
            if state.outcome is not None:
                return
            self._require_driven()
            yield None

    def _finding_stream(self, states: Sequence[FindingState]) -> Generator[FoundRow | None]:
        """Yield each finding once, when it first has one of these states, and None where the caller should pause."""
        if self._journal.spec.finder is None:
            raise UserError(f"{self.id} is not a search: it has no findings")
        given, seen = set[str](), -1
        while True:
            state = self._state()
            if state.last_seq != seen and state.finder is not None:
                seen = state.last_seq
                for key, finding in list(state.finder.findings.items()):
                    if key not in given and state_of(finding) in states:
                        given.add(key)
                        yield found_row(replace(finding), state.workspace)
            if state.outcome is not None:
                return
            self._require_driven()
            yield None

    def _staged(self) -> Wait[Staged | None]:
        yield from self._free()
        if not staged_in(self._journal):
            return None
        return (yield from staged_now(self.journal))

    def _applied(self, staged: Staged, skip: Sequence[str], *, person: bool) -> Wait[Applied]:
        yield from self._free()
        applied = yield from apply_staged(self.journal, staged, skip, person=person, channel=self._by)
        self._news()
        return applied

    def _dropped(self) -> Wait[None]:
        yield from self._free()
        drop_stage(self.journal)
        self._news()

    def _free(self) -> Wait[None]:
        """Wait until the process of the ended run has exited. Raises UserError if the run has not ended."""
        journal, until = self._journal, time.monotonic() + _EXIT_SECONDS
        if self._controller.journals is not None:
            require_own_journal(journal.path, self._controller.journals, trust=False)
        if self._state().outcome is None and holder(journal.path) is not None:
            raise UserError("the run has not ended: what it staged is decided at its end")
        while holder(journal.path) is not None and time.monotonic() < until:
            yield

    def _require_driven(self) -> None:
        if self._link.runner_state() == "gone" and self._state().outcome is None:
            raise Interrupted(f"the process of run {self.id} is gone: resume() continues the run")

    def _left(self) -> Wait[None]:
        """Stop the run if this object started it and it has not ended, then release it. Raises StillRunning."""
        try:
            yield from self._hold.stopping()
        finally:
            self._release()

    def _release(self) -> None:
        self._finalizer.detach()
        self._hold.end()

    # The journal

    @property
    def _journal(self) -> Journal:
        self._hold.require_usable()
        journal = self._link.journal
        assert journal is not None  # programs get the object once the run has begun
        return journal

    def _has_begun(self, after: int) -> bool:
        self._news()
        return self._begun_at > after

    def _news(self) -> None:
        """Fold the new events. Raises RundryError."""
        self._hold.require_usable()
        while self._controller.catch_up() and self._controller.is_behind:
            pass

    def note(self, news: Sequence[Stamped]) -> None:
        """Remember when the run began or continued."""
        if begins(news, self._begun_at):
            self._begun_at = news[-1].seq

    def _state(self) -> ViewState:
        self._news()
        return self._controller.state


def _note(run: HeldRun | None, news: Sequence[Stamped]) -> None:
    if run is not None:
        run.note(news)
