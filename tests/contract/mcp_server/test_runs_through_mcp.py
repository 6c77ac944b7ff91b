"""A client of the SDK starts runs on the real server, reads them, waits for them and, if it may, decides."""

from __future__ import annotations

import json

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, finish, say

from .conftest import connected

HELD = Turn(text="I think about it for a while", hold_after=4)
DECIDING = {"approve", "reject"}


async def test_a_client_starts_a_run_approves_by_digest_and_the_journal_names_it(home, project):
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as model:
        async with connected(home, project, "--until", CHECK, "--allow-approve", model=model) as client:
            started = await client.call("start_run", task="fix the suite", until=[CHECK])
            run = started["run"]
            assert started["started_by"] == "mcp:claude-code"
            for _ in range(2):
                view = await client.waiting(run)
                assert view["status"] == "waiting", view
                (proposal,) = view["proposals"]
                assert (
                    "+    return a + b" in proposal["diff"]
                    or "+    return sum(values) / len(values)" in proposal["diff"]
                )
                assert (await client.call("approve", run=run, digest=proposal["digest"]))["done"].startswith("approved")
            view = await client.waiting(run)
            assert view["outcome"]["reason"] == "done"
            assert view["outcome"]["approved_by"] == ["mcp:claude-code"]
            assert client.errors.read_text() == ""
    events = home.run("export", run, cwd=project).events
    assert [event["by"] for event in events if event["type"] == "proposal_decided"] == ["mcp:claude-code"] * 2
    assert next(event["by"] for event in events if event["type"] == "said") == "mcp:claude-code"
    assert events[-1]["approved_by"] == ["mcp:claude-code"]
    words = "approved by mcp:claude-code, not by a person"
    for shown in (
        home.run("export", run, "--format", "md", cwd=project).stdout,
        home.run("export", run, "--format", "html", cwd=project).stdout,
        home.run("runs", "--json", cwd=project).stdout,
    ):
        assert words in shown
    assert changed_files(project) == ["calc/core.py"]


async def test_without_allow_approve_there_is_no_tool_that_decides_and_a_person_does(home, project):
    with ScriptedServer([FIX_BOTH]) as model:
        async with connected(home, project, "--until", CHECK, model=model) as client:
            assert DECIDING.isdisjoint(await client.tools())
            run = (await client.call("start_run", task="fix the suite", until=[CHECK]))["run"]
            digest = (await client.waiting(run))["proposals"][0]["digest"]
            assert "there is no tool approve" in await client.refused("approve", run=run, digest=digest)
            assert home.run("approve", run, "--digest", digest, cwd=project).exit_code == 0
            second = (await client.waiting(run))["proposals"][0]["digest"]
            assert home.run("approve", run, "--digest", second, cwd=project).exit_code == 0
            view = await client.waiting(run)
            assert (view["outcome"]["reason"], view["outcome"]["approved_by"]) == ("done", [])


async def test_a_rejection_carries_its_reason_to_the_model_under_the_name_of_the_client(home, project):
    with ScriptedServer([FIX_ADD, finish("ok", "NOTES.md")], then=say("done")) as model:
        async with connected(home, project, "--allow-approve", model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            digest = (await client.waiting(run))["proposals"][0]["digest"]
            await client.call("reject", run=run, digest=digest, reason="not this file")
            await client.waiting(run)
            body = json.dumps(model.wait_requests(2)[1].body)
            assert "rejected by mcp:claude-code: not this file" in body
    assert changed_files(project) == []


async def test_a_message_stop_and_outcome_carry_the_name_of_the_client(home, project):
    with ScriptedServer([HELD, HELD]) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="fix the suite"))["run"]
            model.wait_requests(1)
            await client.call("send_message", run=run, text="use plain sums")
            await client.call("stop_run", run=run, now=True)
            outcome = (await client.waiting(run))["outcome"]
            assert (outcome["reason"], outcome["detail"]) == ("user", "mcp:claude-code stopped it")
            assert "does not run (ended)" in await client.refused("send_message", run=run, text="still there?")
    events = home.run("export", run, cwd=project).events
    assert [event["by"] for event in events if event["type"] == "queued"] == ["mcp:claude-code"]


async def test_a_client_answers_the_question_of_the_model(home, project):
    asked = call("ask_person", question="Which sum?", options=["plain", "exact"])
    with ScriptedServer([asked, finish("ok", "NOTES.md")], then=say("done")) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            view = await client.waiting(run)
            assert (view["question"], view["waits_for"]) == ("Which sum?", "an answer to the question")
            await client.call("send_message", run=run, text="2")
            await client.waiting(run)
    events = home.run("export", run, cwd=project).events
    (answered,) = [event for event in events if event["type"] == "question_answered"]
    assert (answered["text"], answered["by"]) == ("exact", "mcp:claude-code")


@pytest.mark.long
async def test_an_ended_run_is_resumed_with_a_message_and_higher_limits(home, project):
    with ScriptedServer([say("one"), say("two"), HELD]) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="fix it", steps=1))["run"]
            assert (await client.waiting(run))["outcome"]["reason"] == "budget"
            above = await client.refused("resume_run", run=run, steps=10_000)
            assert above == "a limit of 10000 steps is above the 200 that this server allows"
            assert (await client.call("resume_run", run=run, steps=9, message="go on"))["done"] == "resumed"
            view = await client.call("read_run", run=run)
            assert view["outcome"] is None
            assert next(limit for limit in view["spent"] if limit["name"] == "steps")["limit"] == 9
            assert "was not handed over" in await client.refused("read_handoff", run=run)
            await client.call("stop_run", run=run, now=True)
            await client.waiting(run)
    events = home.run("export", run, cwd=project).events
    assert [e["by"] for e in events if e["type"] == "budget_changed"] == ["mcp:claude-code"]
    assert "go on" in [e["text"] for e in events if e["type"] == "said" and e["by"] == "mcp:claude-code"]


async def test_a_run_pauses_and_continues(home, project):
    with ScriptedServer([HELD, HELD]) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            model.wait_requests(1)
            await client.call("pause_run", run=run)
            model.release()
            view = await client.waiting(run)
            assert view["status"] == "paused"
            assert (await client.call("resume_run", run=run))["done"] == "continues"
            model.wait_requests(2)
            assert (await client.call("read_run", run=run))["status"] != "paused"


async def test_a_wait_reports_progress_ends_in_time_and_can_be_cancelled(home, project):
    import anyio

    with ScriptedServer([HELD]) as model:
        async with connected(home, project, model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            model.wait_requests(1)
            heard: list[tuple[float, float | None, str | None]] = []

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                heard.append((progress, total, message))

            arguments = {"run": run, "seconds": 5}
            result = await client.session.call_tool("wait_for_run", arguments, progress_callback=hear)
            assert result.structured_content["changed"] is False
            assert heard[0][1] == 5
            assert "step 1" in heard[0][2]
            with anyio.move_on_after(0.5) as scope:
                await client.call("wait_for_run", run=run, seconds=300)
            assert scope.cancelled_caught
            assert (await client.call("read_run", run=run))["status"] == "working"  # the server still answers
            seen = await client.call("wait_for_run", run=run, until="change", seen=1, seconds=60)
            assert seen["changed"]


async def test_a_list_names_runs_of_the_allowed_folders_only(home, project, tmp_path):
    with ScriptedServer([], then=finish("ok", "NOTES.md")) as model:
        options = ("--headless", "--gate", "ask", "--model", "fake", "--api-base", model.base_url)
        for place in (project, tmp_path / "neighbour"):
            home.run("run", "a task of a person", *options, cwd=place)
        inside, outside = (path.stem for path in home.journals())
        async with connected(home, project, "--allow-approve", model=model) as client:
            rows = (await client.call("list_runs"))["runs"]
            assert [(row["run"], row["task"]) for row in rows] == [(inside, "a task of a person")]
            assert f"no run '{outside}'" in await client.refused("read_run", run=outside)
            assert "is not below a folder" in await client.refused("list_runs", folder=str(tmp_path))
            assert (await client.call("read_run", run=inside))["started_by"] == "person"
            assert "was not started through MCP" in await client.refused("resume_run", run=inside)
        async with connected(home, project, "--any-run", model=model) as client:
            assert (await client.call("resume_run", run=inside, message="again"))["done"] == "resumed"
            await client.waiting(inside)
