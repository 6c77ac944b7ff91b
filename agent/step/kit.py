"""What a step works with: the run's journal, model, gate, tools and clock, and how it is interrupted."""

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
"""Tasks inherit it: parallel work may use models of its own."""


class PersonInterrupted(Exception):
    """A user ended what ran. The text says how: `interrupt`, `steer`, `pause`, `stop` or `deadline`."""


async def _no_wait() -> None:
    """Wait for nothing."""


@dataclass(slots=True)
class Kit:
    """The resources of one run. `record` is the only way to write events to the journal."""

    journal: Journal
    facts: RunFacts
    clock: Clock
    run_model: Model
    """The run's own model; `model` is the one of the present task."""
    gate: Gate
    workspace: Workspace
    snapshots: Snapshots
    sandbox: Sandbox
    tools: ToolContext
    guard: Guard
    quotas: Quotas
    env: Mapping[str, str]
    """Environment of commands and checks, without the provider keys."""
    watched: Callable[[], bool]
    """Returns whether a view is attached, so that a user can be asked."""
    stall_ends: Callable[[], str]
    """Returns what a repeated stall leads to now: `handoff` or `stop`."""
    on_event: Callable[[Stamped], None] = lambda stamped: None
    motion: Motion | None = None
    """State shared with the other kits of the run; None: this is the first kit."""
    headless: bool = False
    """Whether no screen owns the run: without a view the policy decides, and nobody is waited for."""
    work: str | None = None
    """Name of the try that uses it, written to all its events; None: the run itself."""
    beside: list[Kit] = field(default_factory=list["Kit"])
    """The kits of the tries that work now."""
    stalls: dict[str | None, StallWatch] = field(default_factory=dict[str | None, StallWatch])
    notes: list[str] = field(default_factory=list[str])
    """Lines for the user at the start of the run."""
    changed: bool = False
    """Whether the workspace may have changed since the last snapshot."""
    unverified: bool = False
    """Whether a tool changed something since the predicates last ran, if there are no fingerprints."""
    verified_world: str | None = None
    """Fingerprint of the workspace when the predicates last ran."""
    verified_files: str | None = None
    """Mark of all files after that, including ignored ones."""
    on_ending: Callable[[str | None, str, dict[str, Any]], None] | None = None
    """Called with the call that ends a work (its name, tool, arguments), in the commit of its result."""
    guarded: Guarded = field(init=False)
    """The guarded files, compared by content."""
    background: Background = field(init=False)
    """Commands that run in the background."""
    commits: Commits | None = None
    """Set by `--commit`."""
    hooks: CommitHooks | None = None
    """Set by `--commit-hooks`."""
    constrained: Constrained | None = None
    """Set by `--edit-format constrained`."""
    noted_shortenings: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])
    """Ways to shorten the prompt that the user was told about."""
    holds_seen: dict[int, float] = field(default_factory=dict[int, float])
    """When this process first saw a hold of the budget, in monotonic seconds."""
    images_noted: int = 0
    """Images that were replaced by text in the newest call that was reported as trimmed."""
    refused_prompts: dict[str, int] = field(default_factory=dict[str, int])
    """Model to the tokens of the shortest prompt that its provider refused as too long."""
    damage: Damage = field(default_factory=Damage)
    """Damage of the journal that a user accepted when the run was resumed."""
    before_acting: Callable[[], Coroutine[Any, Any, None]] = field(default=_no_wait)
    """Waits for what has to be known before the first tool runs."""
    person_made: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Path to blob of what the user's own commands left since the model's newest one began."""
    _motion: Motion = field(init=False)

    def __post_init__(self) -> None:
        self._motion = self.motion or Motion(Stopwatch(self.clock))
        self.guarded = Guarded(self, self.guard)
        self.background = Background(self)
        self.tools.read_only = self.guarded.read_only
        self.tools.background, self.tools.live = self.background.names, self.background.output

    @property
    def shared(self) -> Motion:
        """Return the state to share with the kit of a try."""
        return self._motion

    @property
    def watch(self) -> Stopwatch:
        """The clock of the run's busy seconds."""
        return self._motion.watch

    @property
    def news(self) -> asyncio.Event:
        """Set whenever a user's command was taken."""
        return self._motion.news

    @property
    def interrupted(self) -> str | None:
        """How a user interrupted what runs, until that has ended."""
        return self._motion.interrupted

    @property
    def step_once(self) -> bool:
        """Whether a user asked for one step of a paused run."""
        return self._motion.step_once

    @step_once.setter
    def step_once(self, wanted: bool) -> None:
        self._motion.step_once = wanted

    def record(
        self, event: Event, *, step: int | None = None, work: str | None = None, durable: bool = False
    ) -> Stamped:
        """Append the event, fold it into the facts, and send it to the plain view of a headless run.

        An event that permits an action is on the disk before the action.
        """
        durable, work = durable or is_forced_out(event), work or self.work
        if isinstance(event, CallAdmitted):  # the worst case is on the disk before the call
            self.journal.note_used(self.facts.spending.used_with(event, work), with_next=True)
        stamped = self.journal.append(event, step=step, work=work, durable=durable)
        if self._motion.recorded is None:
            self._take_in(stamped)
        else:
            self._motion.recorded.append(stamped)
        return stamped

    def record_all(self, entries: Sequence[Entry]) -> None:
        """Record several events in their order and in one commit."""
        stamped = self.journal.append_all([(event, step, work or self.work) for event, step, work in entries])
        if self._motion.recorded is not None:
            self._motion.recorded += stamped
            return
        for one in stamped:
            self._take_in(one)

    @contextmanager
    def together(self) -> Generator[None]:
        """Commit all events and table changes of the block together; a kill leaves all or none. Do not await inside.

        Events are folded and shown after the commit.
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
        """Return `record` bound to a step."""
        return lambda event: self.record(event, step=step, work=work)

    def stall_watch(self, work: str | None) -> StallWatch:
        """Return the stall detectors of one conversation."""
        return self.stalls.setdefault(work, StallWatch(limits=lambda: self.facts.spec.stalls))

    @property
    def model(self) -> Model:
        """The model of this task: the run's, or the one that a lens asked for."""
        return _speaking.get() or self.run_model

    def speak_with(self, model: Model) -> None:
        """Use that model for the calls of this task and of the tasks that it starts."""
        _speaking.set(model)

    @contextmanager
    def one_model(self) -> Generator[Callable[[], bool]]:
        """Keep the model for the block, even if it is switched. Yields whether another model waits."""
        own = _speaking.get()
        model = own or self.run_model
        token = _speaking.set(model)
        try:
            yield lambda: own is None and self.run_model is not model
        finally:
            _speaking.reset(token)

    def spent(self) -> Spent:
        """Return what counts against the limits now: of the newest message in a chat, else of the run.

        Running calls count with the amounts that they were admitted with.
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
        """Return busy seconds that no `StepFinished` has recorded yet."""
        return self._motion.watch.seconds - self._motion.counted

    def count_seconds(self) -> float:
        """Return the busy seconds since the last call, for the event that records them."""
        seconds = self.uncounted()
        self._motion.counted = self._motion.watch.seconds
        return seconds

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit or the deadline, whichever is sooner; None without either."""
        budget = self.facts.budget
        left = [] if budget.seconds is None else [budget.seconds - self.spent().seconds]
        if budget.deadline is not None:
            left.append(budget.deadline - self.clock.now())
        return min(left, default=None)

    def use(self, model: Model, *, key_from: str | None = None) -> None:
        """Use this model for all further calls. Commands do not get the variable with its key."""
        for kit in (self, *self.beside):
            kit.run_model = model
            if key_from is not None and key_from in kit.env:
                kit.env = {name: value for name, value in kit.env.items() if name != key_from}
                kit.tools.env = kit.env

    def seconds_for_work(self) -> float | None:
        """Return the seconds that a tool or a check may take, without the reserve for the wrap-up (3.3, 3.5)."""
        left = self.seconds_left()
        if left is None:
            return None
        aside = reserve_for(self.facts.budget, self.model.price, self.model.window).seconds
        return max(0.0, left - min(aside, max(left, 0.0) / 2))

    @property
    def active(self) -> bool:
        """Whether something runs that a user can interrupt."""
        return self._motion.active > 0

    @contextmanager
    def activity(self) -> Generator[None]:
        """Mark the block as interruptible: a step, a check, the wrap-up. Earlier interrupts do not count."""
        if not self.active:
            self._motion.interrupted = None
        self._motion.active += 1
        try:
            yield
        finally:
            self._motion.active -= 1
            self._motion.news.set()

    def interrupt(self, how: str) -> bool:
        """Interrupt what runs. Returns false if nothing does."""
        if not self.active:
            return False
        self._motion.interrupted = how
        for task in self._motion.running:
            task.cancel()
        return True

    def heed(self) -> None:
        """Raise PersonInterrupted if a user interrupted what runs."""
        if self._motion.interrupted is not None:
            raise PersonInterrupted(self._motion.interrupted)

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine so that a user can interrupt it. Raises PersonInterrupted if they do."""
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
        """Wait until `enough`, checking whenever a user's command was taken."""
        while not enough():
            self._motion.news.clear()
            await self._motion.news.wait()

    async def rest_between_steps(self) -> bool:
        """Wait while the run is paused, between two steps. Returns false if a user ended the work meanwhile."""

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
        """Whether all running work is waiting in a pause."""
        return 0 < self._motion.active == self._motion.resting

    def deadline_passed(self) -> bool:
        """Whether the run's deadline has passed."""
        deadline = self.facts.budget.deadline
        return deadline is not None and self.clock.now() >= deadline

    async def look_at_world(self) -> str | None:
        """Return the fingerprint of the workspace, computed again if something may have changed."""
        if self.changed:
            self.unverified = True
        if self.changed or self.facts.world is None:
            self.changed = False
            return await self.snapshots.take() or None
        return self.facts.world

    async def close(self) -> None:
        """End what the run started."""
        for task in list(self._motion.running):
            task.cancel()
        await asyncio.gather(*self._motion.running, return_exceptions=True)


def _is_cancelled() -> bool:
    """Return whether the task itself is cancelled, not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def tell_waiting(record: Record) -> Record:
    """Record that the run waits for a user, when a proposal opens that the policy does not decide."""

    def tell(event: Event) -> Stamped:
        stamped = record(event)
        if isinstance(event, ProposalOpened) and event.asks:
            record(Waiting(why="gate"))
        return stamped

    return tell
