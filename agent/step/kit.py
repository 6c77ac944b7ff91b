"""What a step works with: the run's journal, model, gate, tools and clock in one place, and how it is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..facts.checkpoint import free_memory
from ..facts.facts import RunFacts
from ..facts.spending import SPENDS
from ..gate import Gate
from ..journal import Entry, Journal
from ..journal.integrity.damage import Damage
from ..journal.integrity.durable import is_forced_out
from ..protocol import (
    CallAdmitted,
    Clock,
    Event,
    FileChanged,
    LoopKind,
    Model,
    ProposalOpened,
    Record,
    Spent,
    Stamped,
    Waiting,
)
from ..stops import Guard, Quotas, StallWatch, reserve_for
from ..tools import ToolContext
from ..workspace import Sandbox, Snapshots, Workspace
from ..workspace.git.hooks import CommitHooks
from .checks.guarded import Guarded
from .constrained import Constrained
from .motion import Motion
from .stopwatch import Stopwatch
from .tool_calls.background import Background
from .tool_calls.commits import Commits

T = TypeVar("T")
_speaking: ContextVar[Model | None] = ContextVar("speaking", default=None)
"""Tasks inherit it: parallel works may have models of their own."""


class PersonInterrupted(Exception):
    """A person ended what ran. The text says how: `interrupt`, `steer`, `pause`, `stop` or `deadline`."""


async def _at_once() -> None:
    """Nothing has to be known."""


@dataclass(slots=True)
class Kit:
    """One run's tools of the trade. `record` is the only way by which events come into the journal."""

    journal: Journal
    facts: RunFacts
    clock: Clock
    run_model: Model
    """The run's own; `model` is the one that answers here."""
    gate: Gate
    workspace: Workspace
    snapshots: Snapshots
    sandbox: Sandbox
    tools: ToolContext
    guard: Guard
    quotas: Quotas
    env: Mapping[str, str]
    """Environment of commands and checks: without the provider keys."""
    watched: Callable[[], bool]
    """A view is attached: there is a person to ask."""
    stall_ends: Callable[[], str]
    """What a stall that goes on leads to now: `handoff` or `stop`."""
    on_event: Callable[[Stamped], None] = lambda stamped: None
    motion: Motion | None = None
    """What it shares with the other kits of the run; None: it is the first."""
    headless: bool = False
    """The run belongs to no screen: without a view the policy decides, and nobody is waited for."""
    work: str | None = None
    """Name of the try that works with it: all its events have it; None: the run itself."""
    beside: list[Kit] = field(default_factory=list["Kit"])
    """Those of the tries that work now."""
    stalls: dict[str | None, StallWatch] = field(default_factory=dict[str | None, StallWatch])
    notes: list[str] = field(default_factory=list[str])
    """Lines for the person at the start of the run."""
    changed: bool = False
    """Something in the workspace may have changed since the last snapshot."""
    unverified: bool = False
    """A tool changed something since the last look of the predicates, where no fingerprint can tell."""
    verified_world: str | None = None
    """Fingerprint of the workspace at the last look of the predicates."""
    verified_files: str | None = None
    """Mark of all files after that look, ignored ones too."""
    on_ending: Callable[[str | None, str, dict[str, Any]], None] | None = None
    """Hears of the call that ends a work (its name, the tool, the arguments), in the commit with the call's result."""
    guarded: Guarded = field(init=False)
    """What decides, by content."""
    background: Background = field(init=False)
    """Commands that run on beside the steps."""
    commits: Commits | None = None
    """Of `--commit`."""
    hooks: CommitHooks | None = None
    """Of `--commit-hooks`."""
    constrained: Constrained | None = None
    """Of `--edit-format constrained`."""
    noted_shortenings: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])
    """Ways to shorten the fixed part of the prompt that the person knows of."""
    holds_seen: dict[int, float] = field(default_factory=dict[int, float])
    """When this process first saw a hold of the budget, in monotonic seconds."""
    images_noted: int = 0
    """Images that a line of text stood for in the newest call that was said to be trimmed."""
    refused_prompts: dict[str, int] = field(default_factory=dict[str, int])
    """Model to the tokens of the shortest prompt that its provider refused as too long."""
    damage: Damage = field(default_factory=Damage)
    """Of the journal, which a person accepted when the run was resumed."""
    before_acting: Callable[[], Coroutine[Any, Any, None]] = field(default=_at_once)
    """What has to be known before the first tool is performed; returns when it is."""
    person_made: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Path to blob of what the person's own commands left since the model's newest one began."""
    _motion: Motion = field(init=False)

    def __post_init__(self) -> None:
        self._motion = self.motion or Motion(Stopwatch(self.clock))
        self.guarded = Guarded(self, self.guard)
        self.background = Background(self)
        self.tools.read_only = self.guarded.read_only
        self.tools.background, self.tools.live = self.background.names, self.background.output

    @property
    def shared(self) -> Motion:
        """For the kit of a try."""
        return self._motion

    @property
    def watch(self) -> Stopwatch:
        """The busy seconds of the run."""
        return self._motion.watch

    @property
    def news(self) -> asyncio.Event:
        """Set whenever a command of a person was taken."""
        return self._motion.news

    @property
    def interrupted(self) -> str | None:
        """How a person interrupted what runs, until that has ended."""
        return self._motion.interrupted

    @property
    def step_once(self) -> bool:
        """A person wants one step of a paused run."""
        return self._motion.step_once

    @step_once.setter
    def step_once(self, wanted: bool) -> None:
        self._motion.step_once = wanted

    def record(
        self, event: Event, *, step: int | None = None, work: str | None = None, durable: bool = False
    ) -> Stamped:
        """Appends, folds into the facts, and tells the plain view of a headless run.

        What lets an action happen is on the disk before it happens.
        """
        durable, work = durable or is_forced_out(event), work or self.work
        if isinstance(event, CallAdmitted):  # its worst case is on the disk before the call
            self.journal.note_used(self.facts.spending.used_with(event, work), with_next=True)
        stamped = self.journal.append(event, step=step, work=work, durable=durable)
        if self._motion.recorded is None:
            self._take_in(stamped)
        else:
            self._motion.recorded.append(stamped)
        return stamped

    def record_all(self, entries: Sequence[Entry]) -> None:
        """`record` of each, in their order and in one commit."""
        stamped = self.journal.append_all([(event, step, work or self.work) for event, step, work in entries])
        if self._motion.recorded is not None:
            self._motion.recorded += stamped
            return
        for one in stamped:
            self._take_in(one)

    @contextmanager
    def together(self) -> Generator[None]:
        """What is recorded inside is, with what moves in the tables, all or, after a kill, nothing. Do not await in it.

        It is folded and shown once it is recorded, and the file is free again.
        """
        if self._motion.recorded is not None:
            yield
            return
        recorded = self._motion.recorded = []
        try:
            with self.journal.transaction():
                yield
        finally:
            self._motion.recorded = None
        for stamped in recorded:
            self._take_in(stamped)

    def _take_in(self, stamped: Stamped) -> None:
        self.facts.apply(stamped)
        if self.work is None:
            free_memory(self.journal, self.facts, stamped)
        if isinstance(stamped.event, SPENDS):
            self.journal.note_used(self.facts.spending.used)
        if isinstance(stamped.event, FileChanged):
            self.guarded.take_in(stamped.event)
        for other in self.beside:
            other.facts.hear(stamped)
        self.on_event(stamped)

    def recorder(self, step: int | None, work: str | None) -> Record:
        """`record`, bound to a step."""
        return lambda event: self.record(event, step=step, work=work)

    def stall_watch(self, work: str | None) -> StallWatch:
        """The detectors of one conversation."""
        return self.stalls.setdefault(work, StallWatch(limits=lambda: self.facts.spec.stalls))

    @property
    def model(self) -> Model:
        """The one that answers in this task: the run's, or what a lens asked for."""
        return _speaking.get() or self.run_model

    def speak_with(self, model: Model) -> None:
        """Calls of this task, and of those that it starts, go to that model."""
        _speaking.set(model)

    @contextmanager
    def one_model(self) -> Generator[Callable[[], bool]]:
        """What is called in it keeps its model, whatever is switched meanwhile. Gives whether another waits by now."""
        own = _speaking.get()
        model = own or self.run_model
        token = _speaking.set(model)
        try:
            yield lambda: own is None and self.run_model is not model
        finally:
            _speaking.reset(token)

    def spent(self) -> Spent:
        """What counts against the limits now: of the newest message in a chat, of the run elsewhere.

        Calls that still run count as what they were admitted with.
        """
        facts = self.facts
        spent = facts.message_spent if facts.spec.loop is LoopKind.CHAT else facts.spent
        running = facts.admitted.values()
        return spent + Spent(
            seconds=self.uncounted(),
            held_tokens=sum(call.worst_tokens for call in running),
            held_usd=sum(call.worst_usd or 0.0 for call in running),
        )

    def uncounted(self) -> float:
        """Busy seconds that no `StepFinished` has recorded yet."""
        return self._motion.watch.seconds - self._motion.counted

    def count_seconds(self) -> float:
        """The busy seconds since the last call, for the event that records them."""
        seconds = self.uncounted()
        self._motion.counted = self._motion.watch.seconds
        return seconds

    def seconds_left(self) -> float | None:
        """Until the time limit or the deadline, whichever is nearer; None without either."""
        budget = self.facts.budget
        left = [] if budget.seconds is None else [budget.seconds - self.spent().seconds]
        if budget.deadline is not None:
            left.append(budget.deadline - self.clock.now())
        return min(left, default=None)

    def use(self, model: Model, *, key_from: str | None = None) -> None:
        """Calls go to this model from now on; no command sees the variable that holds its key."""
        for kit in (self, *self.beside):
            kit.run_model = model
            if key_from is not None and key_from in kit.env:
                kit.env = {name: value for name, value in kit.env.items() if name != key_from}
                kit.tools.env = kit.env

    def seconds_for_work(self) -> float | None:
        """What a tool or a check may take: what is left, without what is set aside for the wrap-up (3.3, 3.5)."""
        left = self.seconds_left()
        if left is None:
            return None
        aside = reserve_for(self.facts.budget, self.model.price, self.model.window).seconds
        return max(0.0, left - min(aside, max(left, 0.0) / 2))

    @property
    def active(self) -> bool:
        """Something runs that a person can interrupt."""
        return self._motion.active > 0

    @contextmanager
    def activity(self) -> Generator[None]:
        """What a person can interrupt: a step, a check, the wrap-up. What they did before it began does not count."""
        if not self.active:
            self._motion.interrupted = None
        self._motion.active += 1
        try:
            yield
        finally:
            self._motion.active -= 1
            self._motion.news.set()

    def interrupt(self, how: str) -> bool:
        """Ends the activity that runs; false when there is none."""
        if not self.active:
            return False
        self._motion.interrupted = how
        for task in self._motion.running:
            task.cancel()
        return True

    def heed(self) -> None:
        """Raises PersonInterrupted when a person ended what runs."""
        if self._motion.interrupted is not None:
            raise PersonInterrupted(self._motion.interrupted)

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it so that a person can end it. Raises PersonInterrupted when one did."""
        if self._motion.interrupted is not None:
            work.close()
            raise PersonInterrupted(self._motion.interrupted)
        task = asyncio.ensure_future(work)
        self._motion.running.add(task)
        task.add_done_callback(self._motion.running.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if self._motion.interrupted is not None and task.cancelled() and not _is_cancelled():
                raise PersonInterrupted(self._motion.interrupted) from None
            raise

    async def until(self, enough: Callable[[], bool]) -> None:
        """Looks again whenever a command of a person was taken."""
        while not enough():
            self._motion.news.clear()
            await self._motion.news.wait()

    async def rest_between_steps(self) -> bool:
        """A work of several steps honours a pause between two of them. False: a person ended the work meanwhile."""

        def goes_on() -> bool:
            return (
                not self.facts.paused
                or self._motion.step_once
                or self._motion.interrupted is not None
                or self.deadline_passed()
            )

        if not goes_on():
            self._motion.resting += 1
            try:
                await self.until(goes_on)
            finally:
                self._motion.resting -= 1
        if self.facts.paused:
            self._motion.step_once = False
        return self._motion.interrupted is None

    @property
    def rests(self) -> bool:
        """All that runs honours a pause."""
        return 0 < self._motion.active == self._motion.resting

    def deadline_passed(self) -> bool:
        """The wall clock is over."""
        deadline = self.facts.budget.deadline
        return deadline is not None and self.clock.now() >= deadline

    async def look_at_world(self) -> str | None:
        """Fingerprint of the workspace, taken anew where something may have changed."""
        if self.changed:
            self.unverified = True
        if self.changed or self.facts.world is None:
            self.changed = False
            return await self.snapshots.take() or None
        return self.facts.world

    async def close(self) -> None:
        """Ends what the run started."""
        for task in list(self._motion.running):
            task.cancel()
        await asyncio.gather(*self._motion.running, return_exceptions=True)


def _is_cancelled() -> bool:
    """The task itself is to end, not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def tell_waiting(record: Record) -> Record:
    """Says that the run waits for a person when a proposal opens that the policy does not decide."""

    def tell(event: Event) -> Stamped:
        stamped = record(event)
        if isinstance(event, ProposalOpened) and event.asks:
            record(Waiting(why="gate"))
        return stamped

    return tell
