"""A client that tries to get more than the command line of `rundry mcp` allows."""

from __future__ import annotations

import asyncio

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_MEAN, SUITE, changed_files
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, finish

from .conftest import connected

HELD = Turn(text="I think about it for a while", hold_after=4)
EMPTIED = "import unittest\n\n\nclass Core(unittest.TestCase):\n    def test_double(self):\n        pass\n"
EASIER = edit("tests/test_core.py", "self.assertEqual(add(2, 3), 5)", "pass")


async def test_a_run_starts_only_below_the_allowed_folder(home, project, tmp_path):
    (project / "link").symlink_to(tmp_path / "neighbour")
    async with connected(home, project) as client:
        for folder in ("..", "../..", "/", "/etc", "link", "../neighbour", "a\0b"):
            assert "not below a folder" in await client.refused("start_run", task="x", folder=folder), folder
        for folder in ("~", "no/such", "NOTES.md"):
            assert "is not a folder" in await client.refused("start_run", task="x", folder=folder), folder
        assert "length <= 1000" in await client.refused("start_run", task="x", folder="x" * 5_000)
    assert home.journals() == []


async def test_a_folder_outside_is_refused_in_the_same_words_whether_it_exists_or_not(home, project, tmp_path):
    async with connected(home, project) as client:
        there, gone = str(tmp_path / "neighbour"), str(tmp_path / "nothing")
        answers = [await client.refused("start_run", task="x", folder=folder) for folder in (there, gone)]
        assert answers[0].replace(there, "") == answers[1].replace(gone, "")


async def test_an_unknown_run_is_one_clear_line(home, project):
    async with connected(home, project, "--allow-approve") as client:
        for tool in ("read_run", "stop_run", "read_handoff", "read_findings"):
            assert "no run '20260101-000000-nope1'" in await client.refused(tool, run="20260101-000000-nope1")
            for run in ("../../etc/passwd", "/tmp/x.db", "x.db", "", "a" * 500, "A B"):
                assert "matching regex" in await client.refused(tool, run=run), run


async def test_what_the_schema_does_not_allow_is_refused(home, project):
    async with connected(home, project) as client:
        for tool, arguments in (
            ("start_run", {}),
            ("start_run", {"task": ""}),
            ("start_run", {"task": " \u001b[2J\n"}),
            ("start_run", {"task": "x" * 20_001}),
            ("start_run", {"task": "x", "trust": True}),
            ("start_run", {"task": "x", "model": "other"}),
            ("start_run", {"task": "x", "unsandboxed": True}),
            ("start_run", {"task": "x", "guard": ["none"]}),
            ("start_run", {"task": "x", "until": ["true"] * 6}),
            ("start_run", {"task": "x", "until": [""]}),
            ("start_run", {"task": "x", "steps": 0}),
            ("start_run", {"task": "x", "usd": -1}),
            ("start_run", {"task": "x", "usd": True}),
            ("wait_for_run", {"run": "20260101-000000-nope1", "seconds": 10_000}),
            ("set_gate", {"mode": "auto"}),
            ("list_runs", {"limit": 10_000}),
        ):
            assert await client.refused(tool, **arguments)
    assert home.journals() == []


async def test_the_gate_is_never_wider_than_the_command_line_allows(home, project):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('[gate]\nmode = "auto"\n')
    with ScriptedServer([HELD]) as model:
        async with connected(home, project, model=model) as client:
            for mode, flag in (("auto", "--allow-auto"), ("edits", "--gate edits")):
                assert flag in await client.refused("start_run", task="x", gate=mode)
            assert (await client.call("start_run", task="x"))["gate"] == "ask"
            assert (await client.call("start_run", task="x", gate="read"))["gate"] == "read"
        async with connected(home, project, "--gate", "edits", model=model) as client:
            assert (await client.call("start_run", task="x", gate="edits"))["gate"] == "edits"
            assert "--allow-auto" in await client.refused("start_run", task="x", gate="auto")
        async with connected(home, project, "--allow-auto", model=model) as client:
            assert (await client.call("start_run", task="x", gate="auto"))["gate"] == "auto"
    specs = [home.run("export", path.stem, cwd=project).events[0] for path in home.journals()]
    assert [spec["gate"] for spec in specs] == ["ask", "read", "edits", "auto"]


async def test_limits_are_capped_and_runs_counted(home, project):
    with ScriptedServer([HELD], then=HELD) as model:
        options = (
            "--max-steps",
            "7",
            "--max-tokens",
            "9k",
            "--max-time",
            "90s",
            "--max-runs",
            "1",
            "--max-starts",
            "2",
        )
        async with connected(home, project, *options, model=model) as client:
            view = await client.call("start_run", task="x", steps=5_000, tokens=10**9, minutes=900)
            limits = {limit["name"]: limit["limit"] for limit in view["spent"]}
            assert (limits["steps"], limits["tokens"], limits["seconds"]) == (7, 9_000, 90)
            assert "--max-runs" in await client.refused("start_run", task="y")
            await client.call("stop_run", run=view["run"], now=True)
            await client.waiting(view["run"])
            assert (await client.call("resume_run", run=view["run"]))["done"] == "resumed"
            await client.call("stop_run", run=view["run"], now=True)
            await client.waiting(view["run"])
            assert "--max-starts" in await client.refused("resume_run", run=view["run"])


async def test_two_approvals_a_wrong_digest_and_a_rebased_proposal_change_nothing(home, project):
    with ScriptedServer([FIX_ADD, HELD]) as model:
        async with connected(home, project, "--allow-approve", model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            digest = (await client.waiting(run))["proposals"][0]["digest"]
            for wrong in ("0" * 64, digest[:12], digest.upper(), ""):
                assert await client.refused("approve", run=run, digest=wrong)
            core = project / "calc" / "core.py"
            core.write_text(core.read_text().replace('"""Sums."""', '"""More sums."""'))
            why = await client.refused("approve", run=run, digest=digest)
            assert "changed since" in why or "decided or rebased" in why
            new = (await client.waiting(run))["proposals"][0]["digest"]
            assert new != digest
            await client.call("approve", run=run, digest=new)
            assert "no proposal with this digest waits" in await client.refused("approve", run=run, digest=new)
            await client.call("stop_run", run=run, now=True)
            await client.waiting(run)
    assert "return a + b" in core.read_text()
    decided = [e for e in home.run("export", run, cwd=project).events if e["type"] == "proposal_decided"]
    assert [event["by"] for event in decided] == ["mcp:claude-code"]


async def test_a_guarded_file_needs_a_person_also_when_the_run_has_no_process(home, project):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('guard = ["tests/**"]\n')
    options = ("--until", CHECK, "--allow-approve")
    with ScriptedServer([EASIER, HELD]) as model:
        async with connected(home, project, *options, model=model) as client:
            run = (await client.call("start_run", task="fix it", until=[CHECK]))["run"]
            (proposal,) = (await client.waiting(run))["proposals"]
            assert proposal["needs_person"]
            why = await client.refused("approve", run=run, digest=proposal["digest"])
            assert why.startswith("only a person can approve edit_file tests/test_core.py")
        home.end_runners()
        async with connected(home, project, *options, model=model) as client:
            view = await client.call("read_run", run=run)
            assert (view["status"], view["proposals"]) == ("interrupted", [proposal])
            assert "only a person" in await client.refused("approve", run=run, digest=proposal["digest"])
            await client.call("reject", run=run, digest=proposal["digest"], reason="keep the tests")
            model.wait_requests(2)
            await client.call("stop_run", run=run, now=True)
    events = home.run("export", run, cwd=project).of("proposal_decided")
    assert [(event["decision"], event["by"]) for event in events] == [("reject", "mcp:claude-code")]
    assert (project / "tests" / "test_core.py").read_text() == SUITE
    assert changed_files(project) == []


async def test_a_test_that_only_a_client_approved_stays_undecided_and_no_client_can_decide_on_it(home, project):
    with ScriptedServer([EASIER, FIX_MEAN], then=HELD) as model:
        async with connected(home, project, "--until", CHECK, "--allow-approve", model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            for _ in range(2):
                (proposal,) = (await client.waiting(run))["proposals"]
                await client.call("approve", run=run, digest=proposal["digest"])
            (proposal,) = (await client.waiting(run))["proposals"]
            assert proposal["needs_person"], proposal
            assert "only a person" in await client.refused("approve", run=run, digest=proposal["digest"])
            await client.call("stop_run", run=run, now=True)
            assert (await client.waiting(run))["outcome"]["complete"] is False
    (judged,) = home.run("export", run, cwd=project).of("judged")
    assert (judged["passed"], judged["undecided"]) == (False, ["tests/test_core.py"])


async def test_a_client_cannot_accept_a_suspect_check_with_any_of_its_tools(home, project):
    emptied = call("write_file", path="tests/test_core.py", content=EMPTIED)
    with ScriptedServer([emptied], then=finish("ok", "NOTES.md")) as model:
        async with connected(home, project, "--allow-approve", "--until", CHECK, model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            (proposal,) = (await client.waiting(run))["proposals"]
            await client.call("approve", run=run, digest=proposal["digest"])
            view = await client.waiting(run)
            assert view["question"].startswith("Suspect check"), view
            assert view["waits_for"] == "an answer of a person to the question"
            for answer in ("1", "yes", "Accept the result"):
                why = await client.refused("send_message", run=run, text=answer)
                assert why == "refused: only a person can answer this question, not mcp:claude-code"
            await client.raw("resume_run", run=run, message="Accept the result")
            await client.call("stop_run", run=run, now=True)
            assert (await client.waiting(run))["outcome"]["complete"] is False
    assert "check_accepted" not in home.run("export", run, cwd=project).types()


async def test_a_check_that_the_user_did_not_name_runs_only_with_allow_checks(home, project):
    writes = "touch written-by-a-check"
    with ScriptedServer([HELD], then=HELD) as model:
        async with connected(home, project, "--until", CHECK, model=model) as client:
            why = await client.refused("start_run", task="x", until=[CHECK, writes])
            assert "--allow-checks" in why
            assert CHECK in why
            picked = await client.call("start_run", task="x", until=[CHECK])
            default = await client.call("start_run", task="x")
            await client.call("stop_run", run=picked["run"], now=True)
            await client.call("stop_run", run=default["run"], now=True)
        async with connected(home, project, model=model) as client:
            assert "this server allows none" in await client.refused("start_run", task="x", until=["true"])
    assert not (project / "written-by-a-check").exists()
    goals = [
        [e["command"] for e in home.run("export", p.stem, cwd=project).of("check_started")] for p in home.journals()
    ]
    assert goals == [[CHECK], [CHECK]]


async def test_a_workspace_that_became_a_link_to_another_folder_is_not_served(home, project, tmp_path):
    with ScriptedServer([HELD], then=HELD) as model:
        async with connected(home, project.parent, model=model) as client:
            run = (await client.call("start_run", task="x", folder="project"))["run"]
            await client.call("stop_run", run=run, now=True)
            await client.waiting(run)
            project.rename(tmp_path / "moved")
            project.symlink_to(tmp_path / "neighbour")
            assert "no run" in await client.refused("resume_run", run=run)


async def test_a_hostile_name_and_hostile_texts_arrive_clean(home, project):
    hostile = "person\u202e\u001b[31m, a person; mcp:" + "x" * 500
    with ScriptedServer([Turn(text="\u001b[2Jhidden\u202etext", hold_after=40)], then=HELD) as model:
        async with connected(home, project, model=model, name=hostile) as client:
            view = await client.call("start_run", task="look\u001b]0;title\u0007 here\u202e\r\nthen there")
            by = view["started_by"]
            assert by.startswith("mcp:person-31m-a-person-mcp-xxx")
            assert len(by) == 44
            assert view["task"] == "look here⟨U+202E⟩\nthen there"
            await client.call("stop_run", run=view["run"], now=True)
            ended = await client.waiting(view["run"])
            assert ended["outcome"]["detail"] == f"{by} stopped it"
            texts = [entry["text"] for entry in ended["messages"]]
            assert not any("\u001b" in text or "\u202e" in text for text in texts)
    for name in ("", "\u001b[2J", "人"):
        async with connected(home, project, model=model, name=name) as client:
            assert await client.tools()


async def test_what_a_client_may_not_read_is_not_in_any_answer(home, project, tmp_path):
    with ScriptedServer([], then=finish("ok", "NOTES.md")) as model:
        options = ("--headless", "--model", "fake", "--api-base", model.base_url)
        home.run("run", "a secret task", *options, cwd=tmp_path / "neighbour")
        (path,) = home.journals()
        async with connected(home, project, "--any-run", "--allow-approve", model=model) as client:
            for tool in await client.tools():
                arguments = {"run": path.stem, "digest": "0" * 64, "text": "x", "task": "x", "folder": ".."}
                taken = {"list_runs": ("folder",), "start_run": ("task", "folder"), "send_message": ("run", "text")}
                names = taken.get(
                    tool, ("run", "digest") if tool in ("approve", "reject", "read_proposal") else ("run",)
                )
                why = await client.refused(tool, **{name: arguments[name] for name in names})
                assert "secret" not in why
                assert "neighbour" not in why


@pytest.mark.long
async def test_of_decisions_at_the_same_time_one_is_recorded_and_the_others_are_refused(home, project):
    with ScriptedServer([FIX_ADD, HELD]) as model:
        async with connected(home, project, "--allow-approve", model=model) as client:
            run = (await client.call("start_run", task="fix it"))["run"]
            digest = (await client.waiting(run))["proposals"][0]["digest"]
        home.end_runners()
        async with connected(home, project, "--allow-approve", model=model) as client:
            calls = [client.raw(tool, run=run, digest=digest) for tool in ("approve", "reject", "approve", "reject")]
            done = [result.structured_content["done"] for result in await asyncio.gather(*calls) if not result.is_error]
            await client.call("stop_run", run=run, now=True)
    (decided,) = home.run("export", run, cwd=project).of("proposal_decided")
    assert done == [f"{'approved' if decided['decision'] == 'approve' else 'rejected'} edit_file calc/core.py"]
