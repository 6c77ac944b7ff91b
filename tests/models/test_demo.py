"""The demo is a real loop on a real project: real edits, a real gate, a real check, a model that is scripted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.headless_run import Played, play

from rundry.agent.journal.journal import Journal
from rundry.agent.models.demo.project_copy import copy_project
from rundry.agent.models.demo.script import next_answer
from rundry.agent.protocol import (
    CallPart,
    Decide,
    GateMode,
    Message,
    ModelSpec,
    ProposalOpened,
    ReasoningPart,
    Stamped,
    TextPart,
    UserError,
)

DEMO = ModelSpec(name="demo/till")


@pytest.fixture
def till(tmp_path: Path) -> Path:
    return copy_project(tmp_path / "till").workspace


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNDRY_DEMO_PACE", "0")


def passes(project: Path) -> bool:
    ran = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=project, capture_output=True)
    return ran.returncode == 0


async def demo(tmp_path: Path, till: Path, **more: Any) -> Played:
    runs = tmp_path / "runs"
    run = copy_project(tmp_path / "other")
    return await play(runs, None, till, model=DEMO, task=run.task, until=[run.until], context=None, **more)


def deciding(judge: Callable[[ProposalOpened, int], Decide]) -> Callable[[Journal, Stamped], None]:
    """A person at the gate."""
    opened = 0

    def see(journal: Journal, stamped: Stamped) -> None:
        nonlocal opened
        journal.views.beat("test")
        if isinstance(stamped.event, ProposalOpened) and stamped.event.asks:
            opened += 1
            journal.inbox.put(judge(stamped.event, opened))

    return see


def test_the_project_fails_with_the_standard_library_alone_and_is_never_laid_over_files(tmp_path, till):
    assert not list(till.rglob("*.pyc"))
    assert not passes(till)
    with pytest.raises(UserError, match="not empty"):
        copy_project(till)
    assert copy_project(tmp_path / "new" / "deep").workspace.joinpath("till", "money.py").is_file()


async def test_the_demo_ends_with_a_check_that_passes_after_three_changes(tmp_path, till):
    ran = await demo(tmp_path, till)
    assert (ran.outcome["reason"], ran.outcome["complete"]) == ("done", True), ran.story()
    assert ran.outcome["files_changed"] == ["till/basket.py", "till/money.py", "till/receipt.py"]
    assert ran.outcome["usd"] == 0
    assert passes(till)
    failing = [e["failing"] for e in ran.of("check_finished")]
    assert failing[0] == 8
    assert failing[-1] in (0, None)
    assert len(set(failing)) >= 4, "each change is seen to help"
    assert ran.of("reasoning_arrived")


async def test_a_rejected_change_is_proposed_again_in_smaller_pieces(tmp_path, till):
    def judge(event: ProposalOpened, number: int) -> Decide:
        verdict = "reject" if number == 1 else "approve"
        return Decide(proposal_id=event.proposal_id, digest=event.digest, verdict=verdict, reason="too much at once")

    ran = await demo(tmp_path, till, gate=GateMode.ASK, on_event=deciding(judge))
    assert ran.outcome["reason"] == "done", ran.story()
    sizes = [len(e["arguments"].get("edits", [])) for e in ran.of("tool_called") if e["tool"] == "edit_file"]
    assert sizes[:2] == [3, 1]


async def test_what_a_person_left_out_is_proposed_again(tmp_path, till):
    def judge(event: ProposalOpened, number: int) -> Decide:
        if number == 1:
            return Decide(proposal_id=event.proposal_id, digest=event.digest, verdict="part", hunks=[0])
        return Decide(proposal_id=event.proposal_id, digest=event.digest, verdict="approve")

    ran = await demo(tmp_path, till, gate=GateMode.ASK, on_event=deciding(judge))
    assert ran.outcome["reason"] == "done", ran.story()
    assert passes(till)
    sizes = [len(e["arguments"].get("edits", [])) for e in ran.of("tool_called") if e["tool"] == "edit_file"]
    assert sizes[0] == 3
    assert 0 < sizes[1] < 3


@pytest.mark.long
async def test_where_nobody_may_approve_the_model_gives_up_and_says_so(tmp_path, till):
    ran = await demo(tmp_path, till, gate=GateMode.READ, on_stall="stop")
    assert not ran.outcome["complete"], ran.story()
    assert not passes(till)
    assert ran.outcome["files_changed"] == []
    assert "twice, so I stop" in "".join(e["text"] for e in ran.of("text_arrived"))


async def test_it_streams_through_litellm_with_reasoning_text_calls_and_usage(opened):
    from rundry.agent.protocol import ToolSpec

    asked = await opened(None, "demo/till", env={"RUNDRY_DEMO_PACE": "0"})
    tools = [ToolSpec(n, "", {"type": "object"}) for n in ("list_files", "read_file")]
    parts = await asked.ask(tools=tools, messages=[Message(role="user", text="go")])
    assert sum(isinstance(p, TextPart) for p in parts) > 5, "in pieces, as a model does"
    assert asked.reasoning
    assert [p.call.tool for p in asked.of(CallPart)] == ["list_files", "read_file", "read_file"]
    assert parts[-2].tokens.in_ > 0
    assert asked.model.local
    assert isinstance(parts[0], ReasoningPart)


async def test_the_pace_is_one_that_a_person_can_follow(opened):
    import time

    asked = await opened(None, "demo/till", env={"RUNDRY_DEMO_PACE": "400"})
    began = time.monotonic()
    await asked.ask(tools=[])
    assert time.monotonic() - began > len(asked.parts) / 400 * 0.5
    with pytest.raises(UserError, match="RUNDRY_DEMO_PACE"):
        await opened(None, "demo/till", env={"RUNDRY_DEMO_PACE": "fast"})


def test_without_tools_it_sums_up_what_it_knows():
    said = next_answer([{"role": "user", "content": "x"}], [])
    assert said.calls == []
    assert "not verified" in said.text


def test_opening_and_streaming_is_silent_offline_and_reads_no_env_file(tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-hostile-env-file\nCANARY=loaded\n")
    program = (
        "import asyncio, os, socket\n"
        "def deny(*a, **k): raise AssertionError('network')\n"
        "socket.getaddrinfo = deny\n"
        "from rundry.agent.models.open_model import open_model\n"
        "from rundry.agent.models.lanes.close_connections import close_connections\n"
        "from rundry.agent.protocol import *\n"
        "async def main():\n"
        "    m = await open_model(ModelSpec(name='demo/x'), {'RUNDRY_DEMO_PACE': '0'})\n"
        "    r = Request(messages=[Message(role='user', text='go')], max_tokens=99)\n"
        "    print(len([p async for p in m.stream(r)]) > 3, os.environ.get('CANARY'), m.count(r.messages, ()) > 3)\n"
        "    await close_connections()\n"
        "asyncio.run(main())\n"
    )
    home = {k: v for k, v in os.environ.items() if not k.startswith(("LITELLM", "TIKTOKEN"))}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=home, timeout=120
    )
    assert ran.stdout.split() == ["True", "None", "True"], ran.stderr
    assert ran.stderr == ""


def test_importing_the_folder_costs_no_third_party():
    third = "('litellm', 'httpx', 'tiktoken')"
    program = f"import sys, rundry.agent.models; print([m for m in {third} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
