"""Sessions of an editor: stored ones, several at a time, their modes, options and commands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from acp import RequestError
from acp.schema import McpServerStdio
from fakes.editor import Editor, editing, words
from fakes.project import CORE, FIX_ADD, make_project
from fakes.rundry import RUNDRY, Home, exported_events
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, say


def model(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


async def test_a_stored_session_is_listed_replayed_and_continued(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, say("Done."), say("And more.")]) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
        editor = Editor()
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            (listed,) = (await agent.list_sessions(cwd=str(project))).sessions
            assert (listed.session_id, listed.title, listed.cwd) == (new.session_id, "fix add", str(project))
            loaded = await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
            assert loaded.modes.current_mode_id == "ask"
            assert editor.text(kind="user_message_chunk") == "fix add"
            assert "Done." in editor.text()
            (edit,) = editor.calls().values()
            assert (edit["status"], edit["content"][0]["old_text"]) == ("completed", CORE)
            assert editor.asked == []
            answer = await agent.prompt(session_id=new.session_id, prompt=words("more"))
        assert "fix add" in json.dumps(server.requests[-1].body["messages"]), "the conversation goes on"
    assert answer.stop_reason == "end_turn"
    assert editor.text().endswith("And more.")
    assert editor.text(kind="user_message_chunk") == "fix add", "the editor shows its own prompts itself"


async def test_a_session_can_be_resumed_without_its_history(home: Home, project: Path):
    with ScriptedServer([say("One."), say("Two.")]) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("first"))
        editor = Editor()
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            await agent.resume_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("second"))
    assert editor.text().endswith("Two.") and "One." not in editor.text()


async def test_two_sessions_work_in_one_process_each_in_its_folder(home: Home, project: Path, tmp_path: Path):
    other = make_project(tmp_path / "other") if (tmp_path / "other").mkdir() is None else tmp_path
    editor = Editor()
    held = Rule("slow task", Turn(tokens=100, hold_after=20))
    with ScriptedServer([FIX_ADD, say("Quick.")], rules=[held]) as server:
        async with editing(home, editor, *model(server), "--gate", "edits", cwd=project) as (agent, _):
            slow = await agent.new_session(cwd=str(project), mcp_servers=[])
            quick = await agent.new_session(cwd=str(other), mcp_servers=[])
            turn = asyncio.ensure_future(agent.prompt(session_id=slow.session_id, prompt=words("slow task")))
            await editor.until(lambda: editor.text(slow.session_id))
            answer = await agent.prompt(session_id=quick.session_id, prompt=words("fix add"))
            assert answer.stop_reason == "end_turn" and not turn.done()
            await agent.cancel(session_id=slow.session_id)
            assert (await turn).stop_reason == "cancelled"
            await agent.close_session(session_id=quick.session_id)
            with pytest.raises(RequestError, match="is not open"):
                await agent.prompt(session_id=quick.session_id, prompt=words("hello"))
    assert "Quick." in editor.text(quick.session_id)
    assert (project / "calc/core.py").read_text() == CORE
    assert "a + b" in (other / "calc/core.py").read_text()


async def test_the_mode_that_a_person_chooses_is_recorded_with_the_editor(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([say("Hi."), FIX_ADD, say("Done.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            modes = [mode.id for mode in new.modes.available_modes]
            assert modes == ["read", "ask", "effects", "edits", "auto", "stage"]
            await agent.prompt(session_id=new.session_id, prompt=words("hi"))
            await agent.set_session_mode(session_id=new.session_id, mode_id="read")
            chosen = await agent.set_config_option(config_id="gate", session_id=new.session_id, value="edits")
            assert chosen.config_options[0].current_value == "edits"
            await editor.until(lambda: editor.of("current_mode_update")[-1].current_mode_id == "edits")
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
            with pytest.raises(RequestError, match="there is no mode 'yolo'"):
                await agent.set_session_mode(session_id=new.session_id, mode_id="yolo")
    assert editor.asked == []
    changed = [
        (one["mode"], one["by"], one["channel"]) for one in exported_events(home, new.session_id, "gate_mode_changed")
    ]
    assert changed == [("read", "person", "acp:pad"), ("edits", "person", "acp:pad")]
    (decision,) = exported_events(home, new.session_id, "proposal_decided")
    assert (decision["by"], decision["channel"]) == ("policy", "")


async def test_options_choose_the_model_and_the_gate_before_the_first_prompt(home: Home, project: Path):
    with ScriptedServer([say("Hi.")], models=("fake", "other")) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            chosen = await agent.set_config_option(config_id="model", session_id=new.session_id, value="other")
            assert {option.id: option.current_value for option in chosen.config_options}["model"] == "other"
            await agent.set_config_option(config_id="gate", session_id=new.session_id, value="read")
            await agent.prompt(session_id=new.session_id, prompt=words("hi"))
        assert server.requests[-1].body["model"] == "other"
    (started,) = exported_events(home, new.session_id, "run_started")
    assert started["gate"] == "read"


async def test_slash_commands_are_announced_and_work_in_a_prompt(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([say("Hi.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("hi"))
            answer = await agent.prompt(session_id=new.session_id, prompt=words("/limit steps 7"))
            with pytest.raises(RequestError, match="needs the screen"):
                await agent.prompt(session_id=new.session_id, prompt=words("/replay"))
    assert answer.stop_reason == "end_turn"
    names = {command.name for command in editor.of("available_commands_update")[0].available_commands}
    assert {"limit", "undo", "compact", "gate"} <= names
    assert exported_events(home, new.session_id, "budget_changed")[-1]["budget"]["steps"] == 7


async def test_what_is_chosen_for_a_stored_session_holds_from_its_next_prompt(home: Home, project: Path):
    with ScriptedServer([say("Hi."), FIX_ADD, say("Done.")], models=("fake", "other")) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("hi"))
        editor = Editor()
        async with editing(home, editor, cwd=project) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
            await agent.set_session_mode(session_id=new.session_id, mode_id="edits")
            chosen = await agent.set_config_option(config_id="model", session_id=new.session_id, value="other")
            assert [option.current_value for option in chosen.config_options] == ["edits", "other", "default"]
            assert exported_events(home, new.session_id, "run_resumed") == [], "a choice starts nothing"
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
        assert server.requests[-1].body["model"] == "other"
    assert editor.asked == [] and "a + b" in (project / "calc/core.py").read_text()
    (changed,) = exported_events(home, new.session_id, "gate_mode_changed")
    assert (changed["mode"], changed["channel"]) == ("edits", "acp:pad")


async def test_a_question_of_a_killed_runner_is_answered_in_a_loaded_session(home: Home, project: Path):
    ask = call("ask_person", question="Which one?", options=["left", "right"])
    with ScriptedServer([ask, say("Thanks.")]) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("go"))
        home.end_runners()
        editor = Editor()
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
            answer = await agent.prompt(session_id=new.session_id, prompt=words("2"))
        assert "right" in json.dumps(server.requests[-1].body["messages"][-1])
    assert answer.stop_reason == "end_turn" and editor.text().endswith("Thanks.")


async def test_a_proposal_of_a_killed_runner_is_asked_about_when_its_session_is_loaded(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, say("Done.")]) as server:
        async with editing(home, Editor([None]), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            turn = asyncio.ensure_future(agent.prompt(session_id=new.session_id, prompt=words("fix add")))
            turn.add_done_callback(lambda turn: turn.cancelled() or turn.exception())
            await asyncio.to_thread(server.wait_requests, 1)
            while not exported_events(home, new.session_id, "proposal_opened"):
                await asyncio.sleep(0.05)
        home.end_runners()
        editor = Editor(["approve"])
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
            await editor.until(lambda: "Done." in editor.text())
    assert "a + b" in (project / "calc/core.py").read_text()
    (decision,) = exported_events(home, new.session_id, "proposal_decided")
    assert (decision["decision"], decision["channel"]) == ("approve", "acp:pad")


async def test_a_command_of_the_user_is_offered_and_sends_its_text(home: Home, project: Path):
    file = home.config_file.parent / "commands" / "greet.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: Say hello\n---\nSay hello to $ARGUMENTS, politely.\n")
    editor = Editor()
    with ScriptedServer([say("Hello.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("/greet Ada"))
        assert "Say hello to Ada, politely." in json.dumps(server.requests[-1].body["messages"])
    assert "greet" in {command.name for command in editor.of("available_commands_update")[0].available_commands}
    assert editor.text(kind="user_message_chunk") == ""


async def test_mcp_servers_of_the_editor_are_named_as_not_used(home: Home, project: Path):
    editor = Editor()
    server_of_editor = McpServerStdio(name="notes", command="/bin/false", args=[], env=[])
    with ScriptedServer([say("Hi.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[server_of_editor])
            await agent.prompt(session_id=new.session_id, prompt=words("hi"))
    assert "The MCP servers of the editor are not used: notes." in editor.text()


async def test_a_call_of_an_mcp_server_is_a_permission_request_with_its_arguments(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(f'[mcp.servers.time]\ncommand = "{RUNDRY.with_name("mcp-server-time")}"\n')
    editor = Editor(["approve"])
    now = call("time__get_current_time", timezone="UTC")
    with ScriptedServer([now, say("Late.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("what time is it?"))
    ((_, asked, _),) = editor.asked
    assert asked.title == "call get_current_time of MCP server time"
    assert '"timezone": "UTC"' in asked.content[0].content.text
    (called,) = editor.calls().values()
    assert called["status"] == "completed" and "UTC" in str(called["content"])


async def test_sessions_that_cannot_be_opened_are_refused_with_one_line(home: Home, project: Path, tmp_path: Path):
    async with editing(home, Editor(), cwd=project) as (agent, _):
        with pytest.raises(RequestError, match="no model is set up: name one with --model"):
            await agent.new_session(cwd=str(project), mcp_servers=[])
        with pytest.raises(RequestError, match="there is no session"):
            await agent.load_session(cwd=str(project), session_id="../../etc/passwd", mcp_servers=[])
    async with editing(home, Editor(), "--model", "anthropic/claude-sonnet-4-5", cwd=project) as (agent, _):
        with pytest.raises(RequestError, match="no key for anthropic: set ANTHROPIC_API_KEY"):
            await agent.new_session(cwd=str(project), mcp_servers=[])
        with pytest.raises(RequestError, match="no such folder"):
            await agent.new_session(cwd=str(tmp_path / "missing"), mcp_servers=[])


async def test_closing_the_editor_ends_a_chat_that_waits_and_not_a_run_that_works(home: Home, project: Path):
    with ScriptedServer(
        [say("Hi."), call("read_file", path="calc/core.py"), Turn(tokens=100, hold_after=20)]
    ) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, process):
            idle = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=idle.session_id, prompt=words("hi"))
            busy = await agent.new_session(cwd=str(project), mcp_servers=[])
            asyncio.ensure_future(agent.prompt(session_id=busy.session_id, prompt=words("work"))).add_done_callback(
                lambda turn: turn.cancelled() or turn.exception()
            )
            await asyncio.to_thread(server.wait_requests, 3)
        assert process.returncode == 0
        listed = {each["run_id"]: each["state"] for each in json.loads(home.run("runs", "--json", cwd=project).stdout)}
    assert listed == {idle.session_id: "ended", busy.session_id: "running"}
