"""A run inside the test's process on a scripted model: real runner, journal, gate, tools and files, no HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rundry.agent.host.real_clock import SystemClock
from rundry.agent.journal.journal import Journal
from rundry.agent.models.open_model import ModelOpener
from rundry.agent.protocol import (
    AnswerRead,
    Budget,
    Clock,
    Command,
    EffectsAccepted,
    Event,
    FindingReported,
    GateMode,
    GatePolicy,
    LoopKind,
    ModelSpec,
    Outcome,
    Predicates,
    Rule,
    RunSpec,
    SandboxRules,
    Stamped,
    UndoAccepted,
    decode_event,
    encode_event,
    event_type,
    to_json_line,
)
from rundry.agent.run.client.start_request import Order, ResumeChanges
from rundry.agent.run.process.runner import run_order
from rundry.agent.run.start.inputs import ProcessContext
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.state.facts.run_facts import RunFacts, fold

from ..models.model import ScriptedModel
from ..rundry import Events


class _Opener(ModelOpener):
    """Opens what `open_model` of a run returns."""

    def __init__(self, run: Driven) -> None:
        self._run = run

    async def open(self, spec: ModelSpec) -> ScriptedModel:
        return self._run.open_model(spec)


class Driven(Events):
    """One journal, driven once or several times. What a person does is written as reactions to events."""

    def __init__(self, folder: Path, project: Path, model: ScriptedModel, **options: Any) -> None:
        self.model = model
        self.open_model: Callable[[ModelSpec], ScriptedModel] = lambda spec: self.model
        """What a spec opens; a test with several models says otherwise."""
        self.folder = folder
        self.env = dict(os.environ)
        """The environment of the process."""
        self.events: list[dict[str, Any]] = []
        self.stamped: list[Stamped] = []
        self.spec = _spec(project, **options)
        self.path = folder / f"run{len(list(folder.glob('*.db')))}.db"
        Journal.create(self.path, self.spec).close()
        self._reactions: list[list[Any]] = []

    def on(self, kind: str, /, *commands: Command | Callable[[dict[str, Any]], Command], nth: int = 1, **fields: Any):
        """At the nth event of that type with these fields the person does this."""
        self._reactions.append([kind, fields, nth, commands])
        return self

    async def run(
        self,
        *,
        watched: bool = False,
        stays: bool = False,
        linger: bool = False,
        headless: bool | None = None,
        clock: Clock | None = None,
        changes: ResumeChanges | None = None,
        within: float = 30.0,
    ) -> Outcome:
        """Drive the run to its outcome; resume it if it had begun.

        `watched`: a view is there. It leaves at a hand-off if the person of the test has nothing left to do, unless it
        `stays`. `headless`: by default, a run that does not linger.
        """
        view = Journal.open(self.path)
        if watched:
            view.views.beat("test")
        stale = [number for number, _ in view.inbox.untaken()]
        order = Order(
            journal=str(self.path), changes=changes or ResumeChanges(), linger=linger, headless=headless, stale=stale
        )

        def see(stamped: Stamped) -> None:
            self.stamped.append(stamped)
            event = json.loads(to_json_line(stamped))
            self.events.append(event)
            was_due = self._is_person_due()
            self._react(view, event)
            is_handoff = event["type"] == "waiting" and event["why"] == "handoff"
            if is_handoff and not stays and not was_due:
                view.views.detach("test")

        try:
            process = ProcessContext(opener=_Opener(self), clock=clock or SystemClock(), env=self.env)
            async with asyncio.timeout(within):
                return await run_order(order, see, process)
        finally:
            view.close()

    async def put_once(self, path: Path, command: Command) -> None:
        """The person does this as soon as the file is there."""
        while not path.exists():
            await asyncio.sleep(0.01)
        view = Journal.open(self.path)
        view.inbox.put(command)
        view.close()

    def killed_at(self, kind: str, /, nth: int = 1, **fields: Any) -> Driven:
        """Another run whose runner was killed right after that event."""
        other = object.__new__(Driven)
        other.model, other.folder, other.spec, other.env = self.model, self.folder, self.spec, self.env
        other.events, other.stamped, other._reactions = [], [], []
        other.open_model = lambda spec: other.model
        other.path = self.folder / f"killed{len(list(self.folder.glob('*.db')))}.db"
        old, new = Journal.open(self.path), Journal.create(other.path, self.spec)
        for stamped in self.stamped:
            _copy_blobs(old, new, stamped.event)
            new.append(stamped.event, step=stamped.step, work=stamped.work)
            event = json.loads(to_json_line(stamped))
            if event_type(stamped.event) == kind and all(event.get(k) == v for k, v in fields.items()):
                nth -= 1
                if nth == 0:
                    break
        else:
            raise AssertionError(f"no such {kind}\n{self.story()}")
        old.close()
        new.close()
        return other

    def facts(self) -> RunFacts:
        """The fold of what happened so far."""
        return fold(self.spec, self.stamped)

    def rewritten(self, change: Callable[[str], str], upto: str) -> Driven:
        """Another run whose journal holds the events up to the first of that type, each with its JSON changed so."""
        other = object.__new__(Driven)
        other.model, other.folder, other.spec, other.env = self.model, self.folder, self.spec, self.env
        other.events, other.stamped, other._reactions = [], [], []
        other.open_model = lambda spec: other.model
        other.path = self.folder / f"rewritten{len(list(self.folder.glob('*.db')))}.db"
        new = Journal.create(other.path, self.spec)
        types = [event_type(stamped.event) for stamped in self.stamped]
        kept = self.stamped[: types.index(upto) + 1]
        for stamped in kept:
            raw = change(encode_event(stamped.event).decode()).encode()
            new.append(decode_event(event_type(stamped.event), raw), step=stamped.step, work=stamped.work)
        frontier = Frontier(new)
        for stamped in kept:
            if isinstance(stamped.event, FindingReported):
                frontier.note_finding(change(stamped.event.key))
        new.close()
        return other

    def assert_legal(self) -> None:
        """Every request: each call answered once, in order, right after it was made; nobody speaks twice unheard."""
        for request in self.model.requests:
            messages = request.messages
            asked = [call.call_id for m in messages for call in m.calls]
            answered = [m.call_id for m in messages if m.role == "tool"]
            assert asked == answered, (asked, answered, self.story())
            assert messages[-1].role in ("user", "tool"), self.story()

    def heard(self, request: int = -1) -> str:
        """All texts of one request."""
        return "\n".join(m.text for m in self.model.requests[request].messages)

    def _is_person_due(self) -> bool:
        """Whether a reaction waits for an event that has not come."""
        return any(nth > 0 for _, _, nth, _ in self._reactions)

    def _react(self, view: Journal, event: dict[str, Any]) -> None:
        for reaction in self._reactions:
            kind, fields, nth, commands = reaction
            if event["type"] == kind and all(event.get(k) == v for k, v in fields.items()):
                reaction[2] = nth - 1
                if reaction[2] == 0:
                    for command in commands:
                        view.inbox.put(command(event) if callable(command) else command)


def _copy_blobs(old: Journal, new: Journal, event: Event) -> None:
    names = ["before", "after", "full", "patch", "bundle", "rows", "scope", "counted", "wrote", "plan", "opened"]
    if isinstance(event, EffectsAccepted | UndoAccepted):  # in events of passes it is a state of git, not a blob
        names.append("git")
    for name in names:
        sha = getattr(event, name, None)
        if isinstance(sha, str):
            new.blobs.keep(old.blobs.load(sha))
    if isinstance(event, AnswerRead):
        for file in event.files:
            for sha in (file.before, file.after):
                if sha is not None:
                    new.blobs.keep(old.blobs.load(sha))


def _spec(
    project: Path,
    *,
    task: str = "do it",
    loop: LoopKind = LoopKind.GOAL,
    until: Sequence[str] = (),
    gate: GateMode = GateMode.AUTO,
    on_ask: str | None = "refuse",
    budget: Budget | None = None,
    predicates: Predicates | None = None,
    quotas: dict[str, str] | None = None,
    network: bool = False,
    rules: Sequence[Rule] = (),
    live: Sequence[str] = (),
    falls_back: bool = False,
    scope: Sequence[str] | None = None,
    **more: Any,
) -> RunSpec:
    """Return the spec of a run. `scope`: None: in passes and tries, whose files stand for sources, every file."""
    has_passes = loop in (LoopKind.IMPROVE, LoopKind.INTERVAL) or more.get("tries") is not None
    predicates = predicates or Predicates(until=list(until))
    if globs := (["**"] if has_passes else []) if scope is None else [*scope]:
        predicates = msgspec.structs.replace(predicates, scope=[*predicates.scope, *globs])
    policy = GatePolicy(
        mode=gate,
        unsandboxed_ok=True,
        network=network,
        on_ask=on_ask,
        quotas=quotas or {},
        rules=list(rules),
        sandbox=SandboxRules(live=[*live]),
        falls_back=falls_back,
    )
    return RunSpec(
        run_id=f"r{time.time_ns()}",
        loop=loop,
        task=task,
        workspace=str(project.resolve()),
        model=ModelSpec(name="scripted"),
        budget=budget or Budget(),
        gate=policy,
        predicates=predicates,
        **more,
    )
