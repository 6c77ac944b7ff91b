"""Control one run: send its commands and fold its events into one state. Does not import textual."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import (
    BUDGET,
    LIMITS,
    Act,
    AddScope,
    Answer,
    Command,
    Decide,
    EditFormat,
    GateMode,
    ImageRef,
    Journal,
    Judge,
    LimitValue,
    LoopKind,
    Merge,
    ModelSpec,
    Park,
    ReasoningArrived,
    Refusal,
    ResumeChanges,
    Rewind,
    RundryError,
    Say,
    SetEditFormat,
    SetGateMode,
    SetLimit,
    Shell,
    Stamped,
    Steer,
    Stop,
    StopHow,
    SwitchModel,
    TextArrived,
    Undo,
    Unpause,
    ViewState,
    is_own_journal,
    load_older,
    reduce_all,
)

from ..start.attach_images import images_of_message, images_of_task
from ..start.run_extensions import Extensions
from .picked_answer import picked_option
from .run_reader import RunReader
from .run_status import RunStatus

if TYPE_CHECKING:
    from .review_words import Reviewed
    from .run_link import Link, Start

ASK_ABOVE = 0.01
"""USD. A switch of the model whose cold cache costs more is made only when it is requested twice."""
_PARK_SECONDS = 20.0
"""How long a runner may take to exit."""
_LOOK_SECONDS = 0.02


class RunController:
    """Controls one run, or the draft of one."""

    def __init__(self, link: Link, start: Start | None = None) -> None:
        self.link, self.start = link, start
        self.state = start.preview() if start is not None else ViewState()
        self.reader = RunReader(link, start)
        self.begun = link.journal is not None
        self._expected: tuple[ModelSpec, bool] | None = None
        """The model for which the runner prepares, and whether the person was typing."""
        self._extensions = start.extensions if start is not None else None
        self.is_stopping = False
        """This view sent a stop, and the run has not ended yet."""
        self.is_text = False
        """The last `catch_up` brought only more of a streamed text."""
        self.is_behind = False
        """There were more events than `catch_up` had time for."""
        self.draft = ""
        """The task of the run that was begun last."""
        self.on_news: Callable[[Sequence[Stamped]], None] | None = None
        """Receives new events after they were folded."""
        self.is_commanded = False
        """The command line began or resumed the run, not a message."""
        self.is_read_only = False
        """The view only shows the run: its link refuses every command."""
        self.sent = 0
        """Number of commands that this view gave to the run, its beginning and its resumptions included."""
        self.journals: Path | None = None
        """The folder of the user's journals, if the run may be from elsewhere."""
        self.came_from_parent = False
        """The view was opened from that of the run's parent, to which Esc returns."""
        self.reviews = False
        """The view is only open for the review of what the run staged."""
        self.reviewed: Reviewed | None = None
        """How that review ended."""
        self._is_parked = False
        """The runner exited because this view asked it to."""
        self.committed_at = -1
        """Number of the newest event when the person committed the changes at the end."""
        self._accepts_plan = False
        """This view accepted a plan, so that it opens the run that carries it out."""

    def catch_up(self, within: float = 0.02) -> bool:
        """Fold new events for about `within` seconds, and return whether there were any.

        Raises Refusal if the run cannot begin or continue; a run that had not begun is a draft again.
        """
        end, moved, self.is_behind, self.is_text = time.monotonic() + within, False, False, True
        if self.state.last_seq == 0 and self.link.journal is not None:
            self._begin_at(self.link.journal)
        while news := self._news():
            reduce_all(self.state, news)
            if self.on_news is not None:
                self.on_news(news)
            moved = True
            self.is_text = self.is_text and all(isinstance(s.event, TextArrived | ReasoningArrived) for s in news)
            self.is_stopping = self.is_stopping and self.state.outcome is None
            if time.monotonic() > end:
                self.is_behind = True
                break
        return moved

    def _begin_at(self, journal: Journal) -> None:
        """Start from what the runner stored, and keep only the newest part of the transcript in memory."""
        self.state = self.link.stored_state() or self.state
        load_older(self.state, journal)

    def _news(self) -> Sequence[Stamped]:
        try:
            return self.link.new_events()
        except Refusal:
            if self.state.last_seq == 0:
                self.begun = self.link.journal is not None
                self.state = self.start.preview() if self.start is not None else ViewState()
            self.is_stopping = False
            raise

    @property
    def startup_status(self) -> str:
        """What the runner is waiting for before the run begins."""
        return getattr(self.link, "said", "")

    @property
    def root(self) -> Path:
        """Where the relative paths of a message start."""
        return self.start.workspace if self.start is not None else Path(self.state.workspace)

    @property
    def extensions(self) -> Extensions:
        """The skills and slash commands of the user and of the workspace of the run."""
        if self._extensions is None or self._extensions.workspace != self.root:
            self._extensions = Extensions(self.root)
        return self._extensions

    @property
    def status(self) -> RunStatus:
        """Whether the run is over, at rest or without a runner, as of now."""
        return RunStatus(self.link, self.state, self.begun, self._is_parked)

    def content(self, blob: str | None) -> bytes | None:
        """Return the bytes of a blob, or None if `blob` is None. Raises RundryError if the journal does not have it."""
        if blob is None or self.link.journal is None:
            return None
        try:
            return self.link.journal.blobs.load(blob)
        except KeyError:
            raise RundryError(f"the journal does not have the content {blob[:12]}") from None

    def stop(self, how: StopHow, within: float) -> None:
        """End the run, and wait at most `within` seconds for its end. Raises RundryError."""
        if not self.begun or self.status.is_over:
            return
        self.link.put(Stop(how=how))
        until = time.monotonic() + within
        while not self.status.is_over and time.monotonic() < until:
            if not self.catch_up():
                time.sleep(0.01)

    def put(self, command: Command) -> int:
        """Put a command into the run's inbox. Raises RundryError."""
        if not self.begun:
            raise RundryError("there is no run yet: type a task")
        number = self.link.put(command)
        self.sent += 1
        self.is_stopping = self.is_stopping or isinstance(command, Stop)
        return number

    def send_message(self, text: str, typed: str | None = None) -> None:
        """Send a message, which begins the run, answers its question, resumes it or waits. Raises RundryError.

        `typed`: the part in which an `@` attaches an image, or None for the whole text.
        """
        typed = text if typed is None else typed
        if not self.begun:
            self.begin(text, typed)
        elif self.state.question is not None:
            question, text = self.state.question, picked_option(self.state.question, text)
            if images_of_message(typed, self.root, self.state)[0]:
                raise RundryError("an answer cannot have an image: answer first, then send the image")
            self.put(Answer(question_id=question.question_id, text=text))
        elif self.status.is_orphaned:
            self.resume(ResumeChanges(hint=text, images=self._attach(typed)))
        else:
            self.put(Say(text=text, images=self._attach(typed)))

    def expect_message(self, *, is_typing: bool = True) -> None:
        """Prepare the runner for the chosen model, once it is chosen and while the person types the task."""
        model = self.start.model if self.start is not None and not self.begun else None
        if self.start is None or model is None or self._expected in ((model, is_typing), (model, True)):
            return
        self._expected = model, is_typing
        if (expected := self.start.expected(is_typing=is_typing)) is not None:
            self.link.preload(expected)

    def steer(self, text: str, typed: str | None = None) -> None:
        """Send a message that interrupts the step; `typed` as in `send_message`. Raises RundryError."""
        if not self.begun or self.status.is_over or self.state.question is not None:
            self.send_message(text, typed)
        else:
            self.put(Steer(text=text, images=self._attach(text if typed is None else typed)))

    def shell(self, command: str) -> None:
        """Run the user's own command: `!cmd`, or `!!cmd` if it is not sent to the model. Raises RundryError."""
        line = command.removeprefix("!")
        tell = not line.startswith("!")
        self.put(Shell(command=line.removeprefix("!").strip(), tell=tell))

    def act(self, command: str) -> None:
        """Run a command line with the model's own tool, while the person is in control. Raises RundryError."""
        self.put(Act(tool="run_command", arguments={"command": command}))

    def is_the_task(self, text: str) -> bool:
        """Return whether a text is the task of a run that is not a chat; rewinding it restarts the run."""
        return self.state.loop is not LoopKind.CHAT and text == self.state.task

    def put_anywhere(self, command: Undo | Rewind | Judge | Merge) -> int:
        """Put a command that also works without a runner. Return its id. Raises RundryError."""
        if not self.status.is_orphaned:
            return self.put(command)
        number = self.link.put_without_runner(command)
        self.sent += 1
        return number

    def decide(self, command: Decide) -> int | None:
        """Decide on a proposal. Return the command's id, or None if it resumes a run without a runner.

        Raises RundryError.
        """
        opened = self.state.proposals.get(command.proposal_id)
        self._accepts_plan = opened is not None and opened.plan is not None and command.verdict == "approve"
        if self.status.is_orphaned:
            self.resume(ResumeChanges(decision=command))
            return None
        return self.put(command)

    @property
    def opens_next(self) -> str:
        """The view to open now: that of the run that carries out the plan which this view accepted. Else empty."""
        is_due = self._accepts_plan and self.state.outcome is not None and self.state.accepted is not None
        return f"resume {self.state.run_id}" if is_due else ""

    def begin_planning(self, task: str) -> str:
        """Begin a run that makes a plan for this task. Return the view to open for it, or empty if it is this one.

        Raises RundryError.
        """
        if not self.begun and self.start is not None:
            self.start.set("plan", True)
            try:
                self.begin(task)
            except RundryError:
                self.start.set("plan", None)
                raise
            return ""
        if self.link.journal is None or not self.status.is_idle:
            raise RundryError("the run works: stop it, or wait until it waits for you, then make a plan")
        if self.state.loop not in (LoopKind.CHAT, LoopKind.GOAL, LoopKind.PLAN):
            raise RundryError("only a task of a chat or of a goal run is planned: rundry --plan TASK begins one")
        return f"plan {self.state.run_id} {task}"

    def begin(self, task: str, typed: str | None = None, *, commanded: bool = False) -> None:
        """Begin the run, which may still be refused; `typed` as in `send_message`. Raises RundryError."""
        if self.start is None:
            raise RundryError("this view cannot start a run: use `rundry`")
        spec, blobs = images_of_task(self.start.spec(task), self.start.workspace, typed)
        self.link.begin(spec, self.start.folder, self.start.notes, [*self.start.blobs, *blobs])
        self.begun, self.draft, self.is_commanded = True, task, commanded
        self.sent += 1
        if self.state.last_seq == 0:
            self.state = self.start.preview(task)

    def continue_run(self, hint: str) -> None:
        """Resume after a pause, a hand-off or the end. Raises RundryError."""
        if self.status.is_orphaned:
            self.resume(ResumeChanges(hint=hint or None, images=self._attach(hint)))
        elif self.state.outcome is not None or self.state.handoff is not None:
            self.put(Say(text=hint or "Continue.", images=self._attach(hint)))
        elif self.state.paused or (self.state.child_phase and not hint):  # the child run may be paused
            self.put(Unpause())
            if hint:
                self.put(Say(text=hint, images=self._attach(hint)))
        else:
            raise RundryError("the run is already running")

    def resume(self, changes: ResumeChanges) -> None:
        """Resume a run that no runner holds. Raises RundryError."""
        journal = self.link.journal
        if journal is None:
            raise RundryError("there is no run yet")
        if self.journals is not None and not is_own_journal(journal.path, self.journals):
            raise RundryError("this run is not in your folder of journals: use `rundry resume --trust FILE`")
        self.is_commanded = self._is_parked = False
        self.link.resume(journal.path, changes)
        self.sent += 1

    async def park(self) -> None:
        """Let the runner exit while the run waits or has ended; `resume` starts another one. Raises RundryError."""
        if self.status.is_orphaned:
            return
        number, until = self.put(Park()), time.monotonic() + _PARK_SECONDS
        self._is_parked = True
        while not self.status.is_orphaned:
            why = self.state.refused.get(number)
            if why is not None or time.monotonic() > until:
                self._is_parked = False
                raise RundryError(why or "the runner does not exit: try again")
            await asyncio.sleep(_LOOK_SECONDS)

    def set_limit(self, name: str, value: LimitValue) -> None:
        """Raise or lower a limit; a run that stopped on it is resumed. Raises RundryError."""
        if not self.begun:
            flag = "time" if name == "seconds" else name.replace("_", "-")
            known = name in LIMITS or name in BUDGET
            raise RundryError(f"there is no run yet: start with {f'--{flag}' if known else f'--quota {name}={value}'}")
        if self.status.is_orphaned:
            self.resume(ResumeChanges(limits={name: value}))
        else:
            self.put(SetLimit(name=name, value=value))

    def switch_model(self, model: ModelSpec, *, asks: bool = True) -> int | None:
        """Switch the model; an expensive switch only shows its price the first time. Raises RundryError.

        Return the command's id if a runner receives it.
        """
        if not self.begun and self.start is not None:
            self.start.choose(model)
            self.expect_message(is_typing=False)
            self.state = self.start.preview()
        elif self.status.is_orphaned:
            self.resume(ResumeChanges(model=model))
        else:
            quoted = self.state.quoted
            was_told = quoted is not None and quoted.model == model.name
            return self.put(SwitchModel(model=model, ask_above=None if was_told or not asks else ASK_ABOVE))
        return None

    def set_gate(self, mode: GateMode, *, unsandboxed_ok: bool = False, settle: bool = False) -> None:
        """Set the gate mode of the run, or of the run that is not begun yet; `settle`: also decide what waits.

        Raises RundryError.
        """
        if not self.begun and self.start is not None:
            self.start.set("gate", mode.value)
            self.state = self.start.preview()
        else:
            self.put(SetGateMode(mode=mode, unsandboxed_ok=unsandboxed_ok, settle=settle))

    def set_edit_format(self, form: EditFormat) -> None:
        """Choose how the model edits files, from its next answer on. Raises RundryError."""
        if not self.begun and self.start is not None:
            self.start.set_edit_format(form)
            self.state = self.start.preview()
        elif self.status.is_orphaned:
            raise RundryError("the run has no runner: resume it, then choose the edit format")
        else:
            self.put(SetEditFormat(format=form))

    def add_scope(self, globs: list[str]) -> None:
        """Let the run, or the run that is not begun yet, change more files. Raises RundryError."""
        if not self.begun and self.start is not None:
            self.start.add_scope(globs)
        elif self.status.is_orphaned:
            raise RundryError("the run has no runner: resume it, then add to its scope")
        else:
            self.put(AddScope(globs=globs))

    def load_config_again(self) -> bool:
        """Load the config again before a run begins. Return False if a run began with the earlier config.

        Raises RundryError, and then changes nothing.
        """
        if self.begun or self.start is None:
            return False
        self.start.load_again()
        self.state, self._expected = self.start.preview(), None
        return True

    def set_check(self, command: str | None) -> None:
        """Set the check that decides when the next task is done, or None for no check. Raises RundryError."""
        if self.begun or self.start is None:
            raise RundryError("the check of a run cannot change after its start: use --until CMD for the next run")
        self.start.set_check(command)
        self.state = self.start.preview()

    def _attach(self, text: str) -> list[ImageRef]:
        """Return the images that the text names, after storing their bytes. Raises RundryError."""
        images, blobs = images_of_message(text, self.root, self.state)
        for data in blobs:
            self.link.store_image(data)
        return images
