"""Our own time per step of a goal run over 1,000 files: what is left of a step without model, tool call and check.

Every other step edits. A value is the mean of the medians of both kinds, because a median of all is one of them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from fakes.in_process.headless_run import spec_of
from fakes.project import make_project

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, ModelSpec, Predicates, Stamped, event_name
from rundry.agent.run.process.in_process import run_in_process

from ..serving import serving
from ..table import Row, middle

FILES = 1_000
STEPS = 40
LIMIT = 4.0


class _Step(NamedTuple):
    """Milliseconds of one step."""

    whole: float
    call: float
    """From admitted to charged."""
    tool: float
    """From the call until its result, with the gate."""
    check: float
    """With its layer."""
    processor: float
    """Processor time of this process, without the call and the check."""


async def measure(folder: Path) -> list[Row]:
    project = folder / "project"
    project.mkdir()
    for i in range(FILES):
        path = project / f"package{i % 20}" / f"module{i}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"VALUE = {i}\n" + "# a line of text that stands here\n" * 40)
    make_project(project)
    turns = [_turn(i) for i in range(STEPS)]
    with serving({"turns": turns + turns, "then": {"text": "ok"}}, folder) as server:
        reads, edits = await _run(folder, project, server.base_url)
        requests = server.requests()[:STEPS]
        assert len(requests) == STEPS
        bare = await _bare_call(server.base_url, [request["body"] for request in requests])
    call = _both(reads, edits, "call")
    own = [_own(steps, bare) for steps in (reads, edits)]
    return [
        Row(f"own time per step, {FILES:,} files", sum(own) / 2, "ms", limit=LIMIT),
        Row("  of a step that reads a file", own[0], "ms"),
        Row("  of a step that edits one", own[1], "ms"),
        Row("  the tool call in it, with the gate", _both(reads, edits, "tool"), "ms"),
        Row("  its processor time, with the tool call", _both(reads, edits, "processor"), "ms"),
        Row("  a whole step", _both(reads, edits, "whole"), "ms"),
        Row("  the model's call in it", call, "ms", bare, "a bare aiohttp client, same request"),
        Row("  the check in it", _both(reads, edits, "check"), "ms"),
    ]


def _own(steps: Sequence[_Step], bare: float) -> float:
    """What is left. A call counts as the model's for as long as a bare client needs."""
    rest = middle([one.whole - one.call - one.tool - one.check for one in steps])
    return rest + max(0.0, middle([one.call for one in steps]) - bare)


def _both(reads: Sequence[_Step], edits: Sequence[_Step], what: str) -> float:
    return sum(middle([getattr(one, what) for one in steps]) for steps in (reads, edits)) / 2


async def _bare_call(base_url: str, bodies: Sequence[dict[str, Any]]) -> float:
    """The middle time of these requests, each with its whole answer."""
    times = list[float]()
    async with aiohttp.ClientSession() as session:
        for body in bodies:
            began = time.monotonic()
            async with session.post(f"{base_url}/chat/completions", json=body) as answer:
                await answer.read()
            times.append(1000 * (time.monotonic() - began))
    return middle(times)


def _turn(step: int) -> dict[str, object]:
    """Reads and edits in turns, each of another file."""
    path = f"package{step % 20}/module{step}.py"
    if step % 2:
        edits = [{"old_text": f"VALUE = {step}\n", "new_text": f"VALUE = -{step}\n"}]
        return {"text": "I edit.", "calls": [{"name": "edit_file", "arguments": {"path": path, "edits": edits}}]}
    return {"text": "I read.", "calls": [{"name": "read_file", "arguments": {"path": path}}]}


async def _run(folder: Path, project: Path, base_url: str) -> tuple[list[_Step], list[_Step]]:
    """The steps that read, and those that edit."""
    runs = folder / "runs"
    runs.mkdir(mode=0o700)
    spec = spec_of(
        None,
        project,
        model=ModelSpec(name="openai/fake", api_base=base_url, context=400_000),
        budget=Budget(steps=STEPS, tokens=None, usd=None, seconds=None),
        predicates=Predicates(until=["test -f never"]),
        on_stall="stop",
    )
    path = runs / f"{spec.run_id}.db"
    Journal.create(path, spec).close()
    at: defaultdict[str, dict[int, tuple[float, float]]] = defaultdict(dict)

    def see(stamped: Stamped) -> None:
        if stamped.step is not None:
            at[event_name(type(stamped.event))][stamped.step] = (1000 * stamped.at, 1000 * time.process_time())

    await run_in_process(path, on_event=see)
    found = [_step(at, step) for step in at["step_started"] if step + 1 in at["step_started"]]
    assert len(found) == STEPS - 1
    return found[0::2], found[1::2]


def _step(at: dict[str, dict[int, tuple[float, float]]], step: int) -> _Step:
    def between(first: str, last: str, clock: int = 0, after: int = 0) -> float:
        return at[last][step + after][clock] - at[first][step][clock]

    return _Step(
        whole=between("step_started", "step_started", after=1),
        call=between("call_admitted", "charged"),
        tool=between("tool_called", "tool_finished"),
        check=between("check_started", "check_finished"),
        processor=between("step_started", "step_started", 1, 1)
        - between("call_admitted", "charged", 1)
        - between("check_started", "check_finished", 1),
    )
