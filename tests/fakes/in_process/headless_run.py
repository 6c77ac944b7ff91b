"""A whole headless run inside the test's process: the real runner, tools, journal and litellm, over real HTTP.

It costs no start of a program, so variants are tested with it; each contract of the command itself is tested with the
command.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    GateMode,
    GatePolicy,
    LoopKind,
    ModelSpec,
    Outcome,
    Predicates,
    RunSpec,
    Stamped,
    to_json_line,
)
from rundry.agent.run.process.in_process import run_in_process
from rundry.agent.state.reports.run_files import new_run_id

from ..rundry import Events
from ..server import ScriptedServer


@dataclass
class Played(Events):
    """A run that ended in this process."""

    result: Outcome
    path: Path
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return self.result.exit_code


def spec_of(
    server: ScriptedServer | None,
    project: Path,
    *,
    task: str = "fix the failing suite",
    loop: LoopKind = LoopKind.GOAL,
    until: Sequence[str] = (),
    gate: GateMode = GateMode.AUTO,
    on_ask: str = "refuse",
    budget: Budget | None = None,
    model: ModelSpec | None = None,
    context: int | None = 32_000,
    price: tuple[float, float] | None = None,
    predicates: Predicates | None = None,
    **more: Any,
) -> RunSpec:
    """What the command line would make of such options, for a headless run."""
    api_base = server.base_url if server else "http://127.0.0.1:9/v1"
    return RunSpec(
        run_id=new_run_id(time.time()),
        loop=loop,
        task=task,
        workspace=str(project.resolve()),
        model=model or ModelSpec(name="openai/fake", api_base=api_base, context=context, price=price),
        budget=budget or Budget(),
        gate=GatePolicy(mode=gate, unsandboxed_ok=True, on_ask=on_ask),
        predicates=predicates or Predicates(until=list(until)),
        **more,
    )


async def play(
    runs: Path,
    server: ScriptedServer | None,
    project: Path,
    *,
    on_event: Callable[[Journal, Stamped], None] | None = None,
    **options: Any,
) -> Played:
    """Runs it to its outcome. `options` are those of `spec_of`; `on_event` may put commands into the journal."""
    spec = spec_of(server, project, **options)
    path = runs / f"{spec.run_id}.db"
    Journal.create(path, spec).close()
    return await resume_run(path, on_event=on_event)


async def resume_run(path: Path, *, on_event: Callable[[Journal, Stamped], None] | None = None, **more: Any) -> Played:
    """Runs an existing journal on; `more` goes to `run_in_process`."""
    events: list[dict[str, Any]] = []
    view = Journal.open(path)

    def see(stamped: Stamped) -> None:
        events.append(json.loads(to_json_line(stamped)))
        if on_event is not None:
            on_event(view, stamped)

    try:
        outcome = await run_in_process(path, on_event=see, **more)
    finally:
        view.close()
    return Played(outcome, path, events)
