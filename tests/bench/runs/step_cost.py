"""Our own time per step of a goal run over 1,000 files: what is left of a step without litellm's call and the check."""

from __future__ import annotations

import time
from pathlib import Path

from fakes.in_process.headless_run import Played, play
from fakes.project import make_project

from rundry.agent.protocol import Budget, ModelSpec, Predicates

from ..bare import answer, load_litellm
from ..serving import serving
from ..table import Row, middle

FILES = 1_000
STEPS = 40


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
        ran = await _run(folder, project, server.base_url)
        requests = server.requests()
        assert len(requests) >= STEPS, ran.story()
        litellm = load_litellm()
        calls: list[float] = []
        for request in requests[:STEPS]:
            body = request["body"]
            began = time.monotonic()
            await answer(litellm, server.base_url, body["messages"], tools=body["tools"], max_tokens=body["max_tokens"])
            calls.append(time.monotonic() - began)
    whole, check, made = (middle(column) for column in zip(*_steps(ran), strict=True))
    call = middle(calls)
    own = middle([w - c - m for w, c, m in _steps(ran)]) + max(0.0, made - call)
    return [
        Row(f"own time per step, {FILES:,} files", 1000 * own, "ms", limit=15),
        Row("  a whole step", 1000 * whole, "ms"),
        Row("  the model's call in it", 1000 * made, "ms", 1000 * call, "bare litellm, same request"),
        Row("  the check in it", 1000 * check, "ms"),
    ]


def _steps(ran: Played) -> list[tuple[float, float, float]]:
    """Of each step but the last: all of it, its check, its call (from admitted to charged), seconds."""
    kinds = ("step_started", "call_admitted", "charged", "check_started", "check_finished")
    at = {kind: {e["step"]: e["at"] for e in ran.of(kind)} for kind in kinds}
    return [
        (
            at["step_started"][step + 1] - began,
            at["check_finished"][step] - at["check_started"][step],
            at["charged"][step] - at["call_admitted"][step],
        )
        for step, began in at["step_started"].items()
        if step + 1 in at["step_started"]
    ]


def _turn(step: int) -> dict[str, object]:
    """Reads and edits in turns, each of another file."""
    path = f"package{step % 20}/module{step}.py"
    if step % 2:
        edits = [{"old_text": f"VALUE = {step}\n", "new_text": f"VALUE = -{step}\n"}]
        return {"text": "I edit.", "calls": [{"name": "edit_file", "arguments": {"path": path, "edits": edits}}]}
    return {"text": "I read.", "calls": [{"name": "read_file", "arguments": {"path": path}}]}


async def _run(folder: Path, project: Path, base_url: str) -> Played:
    runs = folder / "runs"
    runs.mkdir(mode=0o700)
    return await play(
        runs,
        None,
        project,
        model=ModelSpec(name="openai/fake", api_base=base_url, context=400_000),
        budget=Budget(steps=STEPS, tokens=None, usd=None, seconds=None),
        predicates=Predicates(until=["test -f never"]),
        on_stall="stop",
    )
