"""What clients of others stumbled over: commands of a chat at rest, texts of steps, loaded sessions, refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp import RequestError
from fakes.editor import Editor, editing, words
from fakes.rundry import Home, exported_events
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say


def model(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


@pytest.mark.parametrize("line", ["/clear", "/compact"])
async def test_a_chat_at_rest_is_cleared_and_compacted(home: Home, project: Path, line: str):
    editor = Editor()
    with ScriptedServer([say(" ".join(f"w{n * i}" for i in range(200))) for n in range(1, 12)]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            for number in range(5):
                await agent.prompt(session_id=new.session_id, prompt=words(f"question {number}"))
            answer = await agent.prompt(session_id=new.session_id, prompt=words(line))
            await agent.prompt(session_id=new.session_id, prompt=words("one more"))
    assert answer.stop_reason == "end_turn"
    assert len(exported_events(home, new.session_id, "conversation_cut")) == 1, editor.text()
    assert "refused" not in editor.text()


async def test_commands_of_a_loaded_session_start_its_runner_or_say_that_nothing_runs(home: Home, project: Path):
    with ScriptedServer([say(" ".join(f"w{n * i}" for i in range(200))) for n in range(1, 12)]) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            for number in range(5):
                await agent.prompt(session_id=new.session_id, prompt=words(f"question {number}"))
        for line in ("/compact", "/clear"):  # as acpx: it loads the session for each prompt
            async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
                await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
                async with asyncio.timeout(60):
                    answer = await agent.prompt(session_id=new.session_id, prompt=words(line))
                assert answer.stop_reason == "end_turn"
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
            with pytest.raises(RequestError, match="nothing runs in this session"):
                await agent.prompt(session_id=new.session_id, prompt=words("/pause"))
    assert len(exported_events(home, new.session_id, "conversation_cut")) == 2
    assert exported_events(home, new.session_id, "command_refused") == []


async def test_a_chat_at_rest_is_paused_and_resumed_and_answers_again(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([say("One."), say("Two.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("first"))
            for line in ("/pause", "/resume"):
                async with asyncio.timeout(60):
                    await agent.prompt(session_id=new.session_id, prompt=words(line))
            async with asyncio.timeout(60):
                answer = await agent.prompt(session_id=new.session_id, prompt=words("second"))
    assert answer.stop_reason == "end_turn" and editor.text().endswith("Two.")


async def test_texts_of_two_steps_are_two_paragraphs(home: Home, project: Path):
    looked = call("read_file", path="calc/core.py")
    first = Turn(text="I look.", calls=looked.calls)
    editor = Editor()
    with ScriptedServer([first, say("I looked.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("look"))
        loaded = Editor()
        async with editing(home, loaded, *model(server), cwd=project) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
    assert "I look.\n\nI looked." in editor.text(), editor.text()
    assert "I look.\n\nI looked." in loaded.text(), loaded.text()


async def test_a_loaded_session_shows_its_last_answer_once(home: Home, project: Path):
    looked = call("read_file", path="calc/core.py")
    with ScriptedServer([Turn(text="I look.", calls=looked.calls), say("The *last* one.")]) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("look"))
        editor = Editor()
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=new.session_id, mcp_servers=[])
    assert editor.text().count("last") == 1, editor.text()


async def test_refusals_are_errors_of_the_request(home: Home, project: Path):
    with ScriptedServer([say("Hi.")]) as server:
        async with editing(home, Editor(), *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("hi"))
            for line in ("/replay", "/limit steps -3", "/skill nosuch"):
                with pytest.raises(RequestError) as refused:
                    await agent.prompt(session_id=new.session_id, prompt=words(line))
                assert refused.value.code == -32602, (line, refused.value)
            with pytest.raises(RequestError) as refused:
                await agent.load_session(cwd=str(project), session_id="nosuch", mcp_servers=[])
            assert refused.value.code == -32002  # with which a client begins a new session


async def test_a_plan_follows_the_steps(home: Home, project: Path):
    editor = Editor()
    plans = [call("update_plan", lines=lines) for lines in (["[>] look", "[ ] fix"], ["[x] look", "[>] fix"])]
    with ScriptedServer([*plans, say("Done.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("plan"))
    first, second = editor.of("plan")
    assert [entry.status for entry in first.entries] == ["in_progress", "pending"]
    assert [entry.status for entry in second.entries] == ["completed", "in_progress"]
