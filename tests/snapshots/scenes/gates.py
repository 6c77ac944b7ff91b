"""A proposal waits: an edit, a command, a call of an MCP server, a plan, a web request, a long one, a conflict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.views.gate_stage import NEW, OLD, GateStage
from textual.pilot import Pilot

from rundry.agent import ProposalRebased
from rundry.agent.gate.three_way_merge import merge

from .scene import BUDGET, Factory, Scene, began
from .sessions import TASK, WORKED

MINE = OLD.replace("return 1\n", "return 'un'\n")
TOGETHER = OLD.replace("return 1\n", "return 'one'\n").replace("return 2\n", "return 'two'\n")
"""Two changes that are near each other, so that they are one hunk."""
TALL = "".join(f"def f{n}():\n" + f"    return {n}\n" * 60 + "\n" * 12 for n in range(2))
"""Two functions, each longer than a screen."""
ARGUMENTS = """{
  "title": "add() subtracts",
  "labels": [
    "bug"
  ],
  "assignee": null
}"""
"""What a call passes to a tool of an MCP server, as the gate shows it."""
PLAN = """1. Read calc/core.py: add() subtracts, and mean() divides by one too many.
2. In add() return a + b.
3. In mean() divide by len(values), and raise ValueError for an empty list.

Check: python3 -m unittest -q
"""
LONG = "\n".join(f"echo line {n} of a long command" for n in range(90))


def _gate(kind: str, *keys: str) -> Factory:
    @asynccontextmanager
    async def scene(folder: Path) -> AsyncIterator[Scene]:
        stage = GateStage(folder)
        began(stage)

        async def reach(pilot: Pilot[object]) -> None:
            run = started(TASK, budget=BUDGET, workspace="/home/me/calc")
            await stage.opened(pilot, run, *WORKED, *_events(stage, kind))
            await press(pilot, *keys)

        yield Scene(stage.app, reach)  # type: ignore[arg-type]
        stage.journal.close()

    return scene


def _events(stage: GateStage, kind: str) -> Sequence[object]:
    match kind:
        case "command":
            return [proposal(command="curl -s https://example.org/data.json | python3 tools/load.py", lines=1)]
        case "mcp":
            after = stage.journal.blobs.keep(ARGUMENTS.encode())
            tool = "issues__create_issue"
            asks = [f"no rule allows {tool}; the server says that it reaches other systems"]
            rule = f"allow {tool}"
            fields: dict[str, Any] = {"server": "issues", "name": "create_issue", "call": ARGUMENTS, "after": after}
            return [proposal(tool=tool, command=None, cwd=None, sandbox=None, asks=asks, rule=rule, **fields)]
        case "plan":
            after = stage.journal.blobs.keep(PLAN.encode())
            asks = ["its check decides when the task is done"]
            plan: dict[str, Any] = {"plan": PLAN, "after": after}
            return [proposal(tool="propose_plan", command=None, cwd=None, sandbox=None, asks=asks, rule=None, **plan)]
        case "web":
            host = "docs.python.org"
            web: dict[str, Any] = {"url": f"https://{host}/3/library/unittest.html#assertions", "host": host}
            asks = [f"no rule allows requests to {host}"]
            rule = f"allow fetch_url: {host}"
            return [proposal(tool="fetch_url", command=None, cwd=None, sandbox=None, asks=asks, rule=rule, **web)]
        case "together":
            return [stage.edit(new=TOGETHER)]
        case "tall":
            return [stage.edit(old=TALL, new=TALL.replace("return ", "yield "))]
        case "long":
            return [proposal(command=LONG)]
        case "conflict":
            merged = stage.change(MINE, merge(OLD, MINE, NEW).text)
            why = "your edit of 12:04:31: its content changed, and this would overwrite it"
            fields = {
                "proposal_id": "p1",
                "digest": "digest-r",
                "why": why,
                "conflict": True,
                "merged": merged["after"],
            }
            return [stage.edit(), ProposalRebased(**{**merged, **fields, "conflict": True})]  # type: ignore[arg-type]
        case _:
            return [stage.edit()]


SCENES = {
    "gate-edit": _gate("edit"),
    "gate-edit-skipped": _gate("edit", "right_square_bracket", "space"),
    "gate-edit-full": _gate("edit", "f"),
    "gate-split": _gate("together", "s", "space"),
    "gate-edit-scrolled": _gate("tall", "pagedown"),
    "gate-command": _gate("command"),
    "gate-mcp": _gate("mcp"),
    "gate-plan": _gate("plan"),
    "gate-web": _gate("web"),
    "gate-plan-edited": _gate("plan", "E", "x", "ctrl+s"),
    "gate-long": _gate("long"),
    "gate-conflict": _gate("conflict"),
}
