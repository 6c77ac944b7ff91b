"""Control one run: send its commands and fold its events into one state. Does not import textual."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from rundry.agent import (
    BUDGET,
    LIMITS,
    Act,
    Answer,
    Changes,
    Command,
    Decide,
    GateMode,
    ImageRef,
    Journal,
    Judge,
    LimitValue,
    LoopKind,
    Merge,
    ModelSpec,
    Point,
    ReasoningArrived,
    Refusal,
    ResumeChanges,
    Rewind,
    RundryError,
    RunSpec,
    Say,
    SetGateMode,
    SetLimit,
    Shell,
    Stamped,
    Steer,
    Stop,
    SwitchModel,
    TextArrived,
    Undo,
    Unpause,
    ViewState,
    WriteWatch,
    beside,
    earlier_points,
    holder,
    load_older,
    reduce_all,
    standing_changes,
    what_waits,
)

from .attaching import images_of_message, images_of_task

ASK_ABOVE = 0.01
"""USD: a switch whose cold cache costs more is made when it was asked for twice."""


class Link(Protocol):
    """A view's side of a run: `agent.run.Session`, or a journal that is played."""

    @property
    def journal(self) -> Journal | None:
        """None before the run began."""
        ...

    def begin(self, spec: RunSpec, folder: Path, notes: list[str] | None = None, blobs: Sequence[bytes] = ()) -> Path:
        """Make the journal, with the bytes of the task's images, and hand it to the runner. Raises JournalError."""
        ...

    def expect(self, model: str) -> None:
        """A run with this model begins soon."""
        ...

    def resume(self, path: Path, changes: ResumeChanges | None = None) -> None:
        """Hand an existing journal to the runner. Raises JournalError."""
        ...

    def keep(self, data: bytes) -> None:
        """Store an image's bytes, for a command that names them. Raises JournalError."""
        ...

    def put(self, command: Command) -> int:
        """Put a command into the inbox and return its id. Raises JournalError."""
        ...

    def put_alone(self, command: Undo | Rewind | Judge | Merge) -> int:
        """Into the inbox of a run that nobody drives; it is obeyed, and the run stays as it is. Raises JournalError."""
        ...

    @property
    def writes(self) -> WriteWatch:
        """Report when there may be new events."""
        ...

    def stored_state(self) -> ViewState | None:
        """The state that the runner stored last: `news` goes on after it. Raises JournalError."""
        ...

    def news(self) -> Sequence[Stamped]:
        """New events since the last call."""
        ...

    def beat(self) -> None:
        """Say that the view is still there."""
        ...

    def runner_state(self) -> str:
        """`warming`, `running`, `ended` or `gone`."""
        ...

    def close(self) -> None:
        """Detach; the run continues."""
        ...


class Start(Protocol):
    """What a new run is made of: the options as they stand."""

    @property
    def workspace(self) -> Path:
        """The absolute path of the workspace."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the journals."""
        ...

    @property
    def notes(self) -> list[str]:
        """Lines for the person at the start."""
        ...

    @property
    def model(self) -> ModelSpec | None:
        """None: no model is set up."""
        ...

    def choose(self, model: ModelSpec) -> None:
        """Use this model for the run."""
        ...

    def set(self, name: str, value: str) -> None:
        """Another value for an option. Raises UserError."""
        ...

    async def look_around(self) -> list[str]:
        """What was looked for and found, a line each, where no model is set up."""
        ...

    def preview(self, task: str = "") -> ViewState:
        """Return what is known before the first event: loop, model, limits, and the task if there is one."""
        ...

    def spec(self, task: str) -> RunSpec:
        """The run for this task. Raises UserError."""
        ...


class RunController:
    """Controls one run, or the draft of one."""

    def __init__(self, link: Link, start: Start | None = None) -> None:
        self.link = link
        self.start = start
        self.state = start.preview() if start is not None else ViewState()
        self.begun = link.journal is not None
        self._expected = ""
        self.is_stopping = False
        """A stop was sent from here, and the run has not ended yet."""
        self.is_text = False
        """Nothing but more of a streamed text came with the last `catch_up`."""
        self.is_behind = False
        """There was more than `catch_up` had time for."""
        self.draft = ""
        """The task of the run that was begun last."""
        self.is_commanded = False
        """The command line began or resumed the run, not a message."""

    def catch_up(self, within: float = 0.02) -> bool:
        """Take in what is new, for about so many seconds; true when anything was.

        Raises Refusal where the run cannot begin or go on; one that was not begun is a draft again.
        """
        end, moved, self.is_behind, self.is_text = time.monotonic() + within, False, False, True
        if self.state.last_seq == 0 and self.link.journal is not None:
            self._begin_at(self.link.journal)
        while news := self._news():
            reduce_all(self.state, news)
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
            return self.link.news()
        except Refusal:
            if self.state.last_seq == 0:
                self.begun = self.link.journal is not None
                self.state = self.start.preview() if self.start is not None else ViewState()
            self.is_stopping = False
            raise

    @property
    def said(self) -> str:
        """What the runner waits for before the run begins."""
        return getattr(self.link, "said", "")

    @property
    def root(self) -> Path:
        """Where the relative paths of a message start."""
        return self.start.workspace if self.start is not None else Path(self.state.workspace)

    @property
    def phase(self) -> str:
        """The state's word, unless the view knows better."""
        if not self.begun:
            return "ready"
        where = self.link.runner_state()
        if where == "gone" and self.state.outcome is None:
            return "runner gone"
        if where == "warming":
            return "starting"
        return self.state.phase

    @property
    def is_over(self) -> bool:
        """The run ended, or nobody drives it."""
        return self.begun and (self.state.outcome is not None or self.link.runner_state() == "gone")

    @property
    def is_gone(self) -> bool:
        """Its runner died before the end."""
        return self.begun and self.state.outcome is None and self.link.runner_state() == "gone"

    @property
    def is_at_rest(self) -> bool:
        """Nothing of what had begun goes on now: the run is over, or its next runner is only coming up."""
        return self.is_over or (self.state.last_seq > 0 and self.link.runner_state() == "warming")

    @property
    def is_orphaned(self) -> bool:
        """No runner takes commands, and none is starting. One that stays after the end resumes the run by itself."""
        journal = self.link.journal
        if journal is not None and self.state.outcome is not None:
            return self.link.runner_state() != "warming" and holder(journal.path) is None
        return self.begun and self.link.runner_state() == "gone"

    @property
    def waits_at_gate(self) -> bool:
        """No decision is under way: the run waits at the gate, or nobody drives it and no runner is starting."""
        at_rest = self.is_over or self.state.waiting == "gate"
        return at_rest and self.link.runner_state() != "warming"

    @property
    def is_idle(self) -> bool:
        """Nothing would be lost by leaving: no run, or a chat that waits for a message."""
        waits = self.state.loop is LoopKind.CHAT and self.state.waiting == "message"
        return not self.begun or self.is_over or waits

    def stop(self, how: str, within: float) -> None:
        """End the run, `wrap_up` or `now`, and see its end if it comes within so many seconds. Raises RundryError."""
        if not self.begun or self.is_over:
            return
        self.link.put(Stop(how=how))
        until = time.monotonic() + within
        while not self.is_over and time.monotonic() < until:
            if not self.catch_up():
                time.sleep(0.01)

    def put(self, command: Command) -> int:
        """Put a command into the run's inbox. Raises RundryError."""
        if not self.begun:
            raise RundryError("there is no run yet: type a task and press Enter")
        number = self.link.put(command)
        self.is_stopping = self.is_stopping or isinstance(command, Stop)
        return number

    def say(self, text: str, typed: str | None = None) -> None:
        """A message: begins the run, answers its question, wakes it after its end, or waits. Raises RundryError.

        `typed`: the part in which an `@` attaches an image; None: all of the text.
        """
        typed = text if typed is None else typed
        if not self.begun:
            self.begin(text, typed)
        elif self.state.question is not None:
            question, text = self.state.question, self._picked(text)
            if images_of_message(typed, self.root, self.state)[0]:
                raise RundryError("an answer cannot have an image: answer first, then send the image")
            self.put(Answer(question_id=question.question_id, text=text))
        elif self.is_orphaned:
            self.take_up(ResumeChanges(hint=text, images=self._attach(typed)))
        else:
            self.put(Say(text=text, images=self._attach(typed)))

    def expect_message(self) -> None:
        """The person types what may become the run's task: its runner gets ready meanwhile."""
        model = self.start.model if self.start is not None and not self.begun else None
        if model is not None and model.name != self._expected:
            self._expected = model.name
            self.link.expect(model.name)

    def steer(self, text: str, typed: str | None = None) -> None:
        """A message that interrupts the step; `typed` as in `say`. Raises RundryError."""
        if not self.begun or self.is_over or self.state.question is not None:
            self.say(text, typed)
        else:
            self.put(Steer(text=text, images=self._attach(text if typed is None else typed)))

    def shell(self, command: str) -> None:
        """The person's own command, `!cmd` or, where the model shall not hear of it, `!!cmd`. Raises RundryError."""
        line = command.removeprefix("!")
        tell = not line.startswith("!")
        self.put(Shell(command=line.removeprefix("!").strip(), tell=tell))

    def act(self, command: str) -> None:
        """A command line of the one who drives, by the model's own tool. Raises RundryError."""
        self.put(Act(tool="run_command", arguments={"command": command}))

    def rewind(self, command: Rewind) -> None:
        """Go back to before a message or step, whoever drives the run, or nobody. Raises RundryError."""
        if self.is_orphaned:
            self.link.put_alone(command)
        else:
            self.put(command)

    def points(self) -> Sequence[Point]:
        """Return the points that the run can be rewound to. Raises RundryError."""
        return [] if self.link.journal is None else earlier_points(self.link.journal)

    def is_the_task(self, text: str) -> bool:
        """What a run other than a chat works on: going back to before it is going back to its beginning."""
        return self.state.loop is not LoopKind.CHAT and text == self.state.task

    def undo(self, command: Undo) -> None:
        """Take changes back, whoever drives the run, or nobody. Raises RundryError."""
        if self.is_orphaned:
            self.link.put_alone(command)
        else:
            self.put(command)

    def judge(self, command: Judge | Merge) -> int:
        """Give a verdict on a finding, whoever drives the search, or nobody. Raises RundryError."""
        return self.link.put_alone(command) if self.is_orphaned else self.put(command)

    def decide(self, command: Decide) -> int | None:
        """Decide on a proposal. The command's id; None: nobody drove the run, and it is resumed with the decision.

        Raises RundryError.
        """
        if self.is_orphaned:
            self.take_up(ResumeChanges(decision=command))
            return None
        return self.put(command)

    def changes(self) -> Changes:
        """Return the changes that can be undone. Raises RundryError."""
        return Changes() if self.link.journal is None else standing_changes(self.link.journal)

    def begin(self, task: str, typed: str | None = None, *, commanded: bool = False) -> None:
        """Make the run, which may still be refused; `typed` as in `say`. Raises RundryError."""
        if self.start is None:
            raise RundryError("this view cannot start a run: use `rundry`")
        spec, blobs = images_of_task(self.start.spec(task), self.start.workspace, typed)
        self.link.begin(spec, self.start.folder, self.start.notes, blobs)
        self.begun, self.draft, self.is_commanded = True, task, commanded
        if self.state.last_seq == 0:
            self.state = self.start.preview(task)

    def go_on(self, hint: str) -> None:
        """Resume after a pause, a hand-off or the end. Raises RundryError."""
        if self.is_orphaned:
            self.take_up(ResumeChanges(hint=hint or None, images=self._attach(hint)))
        elif self.state.outcome is not None or self.state.handoff is not None:
            self.put(Say(text=hint or "Continue.", images=self._attach(hint)))
        elif self.state.paused:
            self.put(Unpause())
            if hint:
                self.put(Say(text=hint, images=self._attach(hint)))
        else:
            raise RundryError("the run is already running")

    def take_up(self, changes: ResumeChanges) -> None:
        """Resume a run that no runner holds. Raises RundryError."""
        journal = self.link.journal
        if journal is None:
            raise RundryError("there is no run yet")
        self.is_commanded = False
        self.link.resume(journal.path, changes)

    def set_limit(self, name: str, value: LimitValue) -> None:
        """Raise or lower a limit; an ended run that stopped on it goes on. Raises RundryError."""
        if not self.begun:
            flag = "time" if name == "seconds" else name.replace("_", "-")
            known = name in LIMITS or name in BUDGET
            raise RundryError(f"there is no run yet: start with {f'--{flag}' if known else f'--quota {name}={value}'}")
        if self.is_orphaned:
            self.take_up(ResumeChanges(limits={name: value}))
        else:
            self.put(SetLimit(name=name, value=value))

    def switch_model(self, model: ModelSpec, *, asks: bool = True) -> int | None:
        """Switch the model; an expensive switch only shows its price the first time. Raises RundryError.

        The command's id where a runner is asked.
        """
        if not self.begun and self.start is not None:
            self.start.choose(model)
            self.state = self.start.preview()
        elif self.is_orphaned:
            self.take_up(ResumeChanges(model=model))
        else:
            quoted = self.state.quoted
            was_told = quoted is not None and quoted.model == model.name
            return self.put(SwitchModel(model=model, ask_above=None if was_told or not asks else ASK_ABOVE))
        return None

    def model_named(self, name: str) -> ModelSpec:
        """That model: where the run's own is, when it has no provider or the same one."""
        journal = self.link.journal
        own = journal.spec.model if journal is not None else self.start.model if self.start is not None else None
        return ModelSpec(name=name) if own is None else beside(name, own)

    def with_effort(self, effort: str) -> ModelSpec:
        """The model that answers, with that effort. Raises RundryError without a model."""
        own = self.start.model if self.start is not None else None
        if (journal := self.link.journal) is not None:
            own = what_waits(journal).model
        if own is None:
            raise RundryError("there is no model yet: set one with /model")
        return msgspec.structs.replace(own, effort=effort)

    def set_gate(self, mode: GateMode, *, unsandboxed_ok: bool = False) -> None:
        """Set the gate mode of the run, or of the run that is not begun yet. Raises RundryError."""
        if not self.begun and self.start is not None:
            self.start.set("gate", mode.value)
            self.state = self.start.preview()
        else:
            self.put(SetGateMode(mode=mode, unsandboxed_ok=unsandboxed_ok))

    def content(self, blob: str | None) -> bytes | None:
        """What the journal keeps under this name; None for no name. Raises RundryError where it is not there."""
        if blob is None or self.link.journal is None:
            return None
        try:
            return self.link.journal.blob(blob)
        except KeyError:
            raise RundryError(f"the journal does not have the content {blob[:12]}") from None

    def text(self, blob: str | None) -> str:
        """The same as text, to be edited. Raises RundryError where it is no UTF-8 text."""
        try:
            return (self.content(blob) or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise RundryError("this is not UTF-8 text: it cannot be edited here") from None

    def _attach(self, text: str) -> list[ImageRef]:
        """The images that the text names, their bytes stored. Raises RundryError."""
        images, blobs = images_of_message(text, self.root, self.state)
        for data in blobs:
            self.link.keep(data)
        return images

    def _picked(self, text: str) -> str:
        """`2` picks the second option of the open question."""
        question = self.state.question
        if question is not None and text.isdigit() and 1 <= int(text) <= len(question.options):
            return question.options[int(text) - 1]
        return text
