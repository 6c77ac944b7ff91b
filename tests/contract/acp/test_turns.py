"""`rundry acp` with the client of the official SDK as the editor: stream, edits, cancel, limits, questions."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

from acp.schema import EmbeddedResourceContentBlock, ImageContentBlock, ResourceContentBlock, TextResourceContents
from fakes.editor import Editor, editing, words
from fakes.pictures import png
from fakes.project import CHECK, CORE, FIX_ADD
from fakes.rundry import Home
from fakes.sandboxes import without_sandbox_note
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, say


def model(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


def decided(home: Home, run_id: str) -> list[dict[str, object]]:
    ran = home.run("export", run_id, cwd=home.root)
    return [event for event in map(json.loads, ran.stdout.splitlines()) if event["type"] == "proposal_decided"]


async def test_an_editor_sees_text_thoughts_calls_and_the_diff_and_approves_it(home: Home, project: Path):
    editor = Editor(["approve"])
    turns = [
        Turn(text="I look.", reasoning="hm", calls=call("read_file", path="calc/core.py").calls),
        FIX_ADD,
        say("Done."),
    ]
    with ScriptedServer(turns) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            answer = await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
    assert answer.stop_reason == "end_turn"
    assert without_sandbox_note(editor.text()) == "I look.\n\nDone."
    assert editor.text(kind="agent_thought_chunk") == "hm"
    read, change = editor.calls().values()
    assert (read["kind"], read["status"], read["title"]) == ("read", "completed", "read calc/core.py")
    assert "return a - b" in str(read["content"])
    assert (change["kind"], change["status"], change["title"]) == ("edit", "completed", "edit calc/core.py +1 −1")
    (diff,) = change["content"]
    assert (diff["path"], diff["old_text"]) == (str(project / "calc/core.py"), CORE)
    assert diff["new_text"] == CORE.replace("a - b", "a + b") == (project / "calc/core.py").read_text()
    assert editor.of("usage_update")[-1].used > 0
    ((_, asked, options),) = editor.asked
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
    assert asked.content[0].new_text == diff["new_text"]
    (decision,) = decided(home, new.session_id)
    assert (decision["decision"], decision["by"], decision["channel"]) == ("approve", "person", "acp:pad")


async def test_a_rejected_edit_changes_nothing_and_the_model_reads_that_it_was_rejected(home: Home, project: Path):
    editor = Editor(["reject"])
    with ScriptedServer([FIX_ADD, say("All right.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
        assert "rejected by the person" in json.dumps(server.requests[-1].body["messages"][-1])
    assert (project / "calc/core.py").read_text() == CORE
    assert [call["status"] for call in editor.calls().values()] == ["failed"]
    assert decided(home, new.session_id)[0]["decision"] == "reject"


async def test_allowing_for_the_session_asks_once_for_the_same_file(home: Home, project: Path):
    editor = Editor(["session"])
    again = call("edit_file", path="calc/core.py", old_text="Sums", new_text="All sums")
    with ScriptedServer([FIX_ADD, again, say("Done.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("fix add"))
    assert len(editor.asked) == 1
    assert (project / "calc/core.py").read_text().startswith('"""All sums."""')


async def test_a_guarded_file_is_asked_about_without_a_way_to_allow_it_for_the_session(home: Home, project: Path):
    editor = Editor(["reject"])
    write = call("write_file", path="tests/test_core.py", content="")
    with ScriptedServer([write, say("No?"), say("Stop.")]) as server:
        argv = [
            *model(server),
            "--until",
            "python3 -m unittest -q",
            "--guard",
            "tests/**",
            "--gate",
            "auto",
            "--steps",
            "2",
        ]
        async with editing(home, editor, *argv, cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("make it green"))
    ((_, asked, options),) = editor.asked
    assert [option.kind for option in options] == ["allow_once", "reject_once"]
    assert "guard" in asked.content[-1].content.text


async def test_cancel_stops_a_streaming_turn_and_the_next_prompt_works(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([Turn(tokens=200, hold_after=50), say("Hello again.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            turn = asyncio.ensure_future(agent.prompt(session_id=new.session_id, prompt=words("talk")))
            await editor.until(lambda: "rivers" in editor.text())
            await agent.cancel(session_id=new.session_id)
            assert (await turn).stop_reason == "cancelled"
            answer = await agent.prompt(session_id=new.session_id, prompt=words("again"))
    assert answer.stop_reason == "end_turn"
    assert editor.text().endswith("Hello again.")


async def test_cancel_while_a_permission_request_is_open_rejects_the_proposal(home: Home, project: Path):
    editor = Editor([None])
    with ScriptedServer([FIX_ADD, say("never")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            turn = asyncio.ensure_future(agent.prompt(session_id=new.session_id, prompt=words("fix add")))
            await editor.until(lambda: editor.asked)
            await agent.cancel(session_id=new.session_id)
            assert (await turn).stop_reason == "cancelled"
    assert (project / "calc/core.py").read_text() == CORE
    assert [(one["decision"], one["reason"]) for one in decided(home, new.session_id)] == [
        ("reject", "the step was interrupted")
    ]


async def test_a_limit_ends_the_turn_with_its_reason_in_words(home: Home, project: Path):
    editor = Editor()
    looks = [call("read_file", path="calc/core.py"), call("list_files"), say("never")]
    with ScriptedServer(looks) as server:
        async with editing(home, editor, *model(server), "--steps", "2", cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            answer = await agent.prompt(session_id=new.session_id, prompt=words("look"))
    assert answer.stop_reason == "max_turn_requests"
    assert "budget: step budget" in editor.text()


async def test_a_met_goal_ends_the_turn_and_says_done_with_the_check_as_a_call(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([say("never")]) as server:
        async with editing(home, editor, *model(server), "--until", "true", cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            answer = await agent.prompt(session_id=new.session_id, prompt=words("make it green"))
    assert answer.stop_reason == "end_turn"
    assert "-> done after 0 steps" in editor.text()
    assert [(one["title"], one["status"]) for one in editor.calls().values()] == [("check true", "completed")]


async def test_the_limit_of_tokens_and_a_refusal_have_stop_reasons_of_their_own(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([Turn(text="No.", finish="content_filter"), call("read_file", path="calc/core.py")]) as server:
        async with editing(home, editor, *model(server), "--tokens", "4000", cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            refused = await agent.prompt(session_id=new.session_id, prompt=words("look"))
            limited = await agent.prompt(session_id=new.session_id, prompt=words("talk"))
    assert "budget: token budget" in editor.text()
    assert (refused.stop_reason, limited.stop_reason) == ("refusal", "max_tokens")


async def test_a_suspect_check_is_a_question_and_the_next_prompt_accepts_it(home: Home, project: Path):
    editor = Editor()
    leaves = edit("calc/core.py", '"""Sums."""', '"""Sums."""\nimport os\n\nos._exit(0)')
    with ScriptedServer([leaves, say("never")]) as server:
        argv = [*model(server), "--until", CHECK, "--gate", "edits"]
        async with editing(home, editor, *argv, cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            asked = await agent.prompt(session_id=new.session_id, prompt=words("make it green"))
            assert "it printed no count of tests" in editor.text() and "1. Accept the result" in editor.text()
            assert "-> done" not in editor.text()
            accepted = await agent.prompt(session_id=new.session_id, prompt=words("1"))
    assert (asked.stop_reason, accepted.stop_reason) == ("end_turn", "end_turn")
    assert "-> done" in editor.text()


async def test_a_question_ends_the_turn_and_the_next_prompt_answers_it(home: Home, project: Path):
    editor = Editor()
    ask = call("ask_person", question="Which one?", options=["left", "right"])
    with ScriptedServer([ask, say("Thanks.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            first = await agent.prompt(session_id=new.session_id, prompt=words("go"))
            assert "Which one?" in editor.text() and "2. right" in editor.text()
            second = await agent.prompt(session_id=new.session_id, prompt=words("2"))
        assert "right" in json.dumps(server.requests[-1].body["messages"][-1])
    assert (first.stop_reason, second.stop_reason) == ("end_turn", "end_turn")
    assert editor.text().endswith("Thanks.")


async def test_links_buffers_and_images_of_a_prompt_reach_the_model(home: Home, project: Path):
    prompt = [
        *words("Compare"),
        ResourceContentBlock(type="resource_link", name="core.py", uri=(project / "calc/core.py").as_uri()),
        EmbeddedResourceContentBlock(
            type="resource",
            resource=TextResourceContents(uri=(project / "new.py").as_uri(), text="print(1)  # @not.png"),
        ),
        ImageContentBlock(type="image", data=base64.b64encode(png()).decode(), mime_type="image/png"),
    ]
    editor = Editor()
    with ScriptedServer([say("Seen.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=prompt)
        sent = json.dumps(server.requests[-1].body["messages"][-1])
    assert "Compare @calc/core.py" in sent
    assert "@new.py as it is in the editor" in sent and "print(1)" in sent
    assert "data:image/png;base64," in sent


async def test_a_command_is_shown_in_full_and_its_output_comes_back_as_code(home: Home, project: Path):
    editor = Editor(["approve"])
    with ScriptedServer([call("run_command", command="printf 'a\\033[31mb\\n'"), say("Ran.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("run it"))
    assert "printf 'a\\033[31mb\\n'" in editor.asked[0][1].content[0].content.text
    (ran,) = editor.calls().values()
    assert (ran["kind"], ran["status"]) == ("execute", "completed")
    shown = ran["content"][0]["content"]["text"]
    assert shown.startswith("```") and "ab" in shown and "\x1b" not in shown


async def test_a_plan_of_the_model_is_the_plan_of_the_editor(home: Home, project: Path):
    editor = Editor()
    with ScriptedServer([call("update_plan", lines=["[x] look", "fix"]), say("Planned.")]) as server:
        async with editing(home, editor, *model(server), cwd=project) as (agent, _):
            new = await agent.new_session(cwd=str(project), mcp_servers=[])
            await agent.prompt(session_id=new.session_id, prompt=words("plan"))
    (plan,) = editor.of("plan")
    assert [(entry.content, entry.status) for entry in plan.entries] == [("look", "completed"), ("fix", "pending")]
