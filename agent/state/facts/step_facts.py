"""The state of a run's steps: numbers, answers, tool calls and stalls, derived from events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from ...protocol import (
    Event,
    FileChanged,
    ImagesRefused,
    ReplyFinished,
    Snapshotted,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolFinished,
)
from .action_log import ActionLog
from .setting_facts import Settings
from .tool_actions import Action, close_action, forget_older

_EDITORS = ("model", "person", "command", "background")
"""Causes of a file change, other than restoring or undoing one."""


@dataclass(slots=True)
class StepFacts(Settings):
    """What the steps of a run did so far."""

    step: int = 0
    step_seq: int = 0
    """Position of the start of the newest step."""
    open_steps: dict[int, str | None] = field(default_factory=dict[int, str | None])
    """Steps that started and have not ended, with their works."""
    reply: ReplyFinished | None = None
    """The newest answer of a step in the main conversation, until the next step starts."""
    empty_replies: int = 0
    """How many answers in a row were empty, in the main conversation."""
    wrapped_up: bool = False
    """The closing summary was made, and no step followed."""
    interrupted: bool = False
    """A person interrupted the run, and nobody has continued it since."""
    finish: Action | None = None
    """The newest accepted `finish`."""
    finish_seq: int = 0
    outputs: list[str] = field(default_factory=list[str])
    """Blobs of results that were too long to show."""
    pages: list[str] = field(default_factory=list[str])
    """Those of them that are text from the web."""
    actions: ActionLog = field(default_factory=ActionLog)
    last_edit: int = 0
    """Position of the newest file change by the model, its commands, or a person who decided on a proposal."""
    last_result: int = 0
    """Position of the newest result of a tool."""
    refused_images: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Images that are not sent to a model again, by the model's name; an empty list: it gets no images at all."""
    stalls: list[StallDetected] = field(default_factory=list[StallDetected])
    stall: StallDetected | None = None
    """The newest stall that the loop has not yet answered with a prompt."""
    world: str | None = None

    @property
    def may_change_files(self) -> bool:
        """Whether the run may change files. Most searches only read, so they have nothing to undo."""
        return self.spec.changes_files

    @property
    def next_step(self) -> int:
        """The number of the next step."""
        return self.step + 1

    @property
    def open_step(self) -> int | None:
        """The run's own step that started and has not ended yet."""
        return next((number for number, work in self.open_steps.items() if work is None), None)

    def note_world(self, world: str | None) -> None:
        """Note the fingerprint of the workspace now, before an event has it. Returns None if unknown."""
        self.world = world

    def apply_step(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `STEP_EVENTS`."""
        match stamped.event:
            case StepStarted(number=number):
                self.open_step_of(number, stamped.work)
                self.step_seq = stamped.seq
                self.reply = None
                self.stall = None
            case ReplyFinished() as reply:
                if stamped.step is None and stamped.work is None:
                    self.wrapped_up = True
                elif stamped.step is not None:
                    self.reply = reply
                    self.empty_replies = self.empty_replies + 1 if reply.finish == "empty" else 0
            case StepFinished(number=number, world=world):
                self.open_steps.pop(number, None)
                self.world = world or self.world
            case ImagesRefused(model=model, shas=shas):
                before = self.refused_images.get(model, shas)
                self.refused_images[model] = [*before, *(s for s in shas if s not in before)] if before else []
            case StallDetected() as stall:
                self.stalls.append(stall)
                self.stall = stall
            case Snapshotted(world=world, layer=False):
                self.world = world
            case ToolCalled() | ToolFinished() | FileChanged():
                self._apply_tool(stamped, stamped.event)
            case _:
                pass

    def open_step_of(self, number: int, work: str | None) -> None:
        """Record that a step of the run or of a work started."""
        self.step = number
        self.open_steps[number] = work
        self.wrapped_up = self.interrupted = False

    def _apply_tool(self, stamped: Stamped, event: ToolCalled | ToolFinished | FileChanged) -> None:
        match event:
            case ToolCalled(call_id=call_id, tool=tool, arguments=arguments):
                self.actions.append(Action(call_id, tool, arguments, stamped.step))
                if not self.may_change_files:
                    forget_older(self.actions.newest)
            case ToolFinished():
                self._close_action(event, stamped.seq)
            case FileChanged(by=by):
                if by in _EDITORS:
                    self.last_edit = stamped.seq
            case _:
                assert_never(event)

    def _close_action(self, finished: ToolFinished, seq: int) -> None:
        if finished.full is not None:
            (self.pages if finished.tool == "fetch_url" else self.outputs).append(finished.full)
        done = close_action(self.actions.newest, finished, seq, edited=self.last_edit > self.last_result)
        self.last_result = seq
        if done is not None and done.tool == "finish" and done.ok:
            self.finish, self.finish_seq = done, seq


STEP_EVENTS = frozenset[type[Event]](
    (
        StepStarted,
        StepFinished,
        ReplyFinished,
        ImagesRefused,
        StallDetected,
        Snapshotted,
        ToolCalled,
        ToolFinished,
        FileChanged,
    )
)
"""The events that change `StepFacts`; all others are ignored."""
