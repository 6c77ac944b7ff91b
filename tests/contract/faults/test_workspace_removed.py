"""The folder of a run disappears while the run works in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, calls

USES = [
    ("write_file", {"path": "new.txt", "content": "x\n"}),
    ("write_file", {"path": "deep/er/new.txt", "content": "x\n"}),
    ("edit_file", {"path": "NOTES.md", "old_text": "The suite is red.", "new_text": "x"}),
    ("read_file", {"path": "NOTES.md"}),
    ("list_files", {}),
    ("search", {"pattern": "red"}),
    ("run_command", {"command": "echo hello > x"}),
    ("start_command", {"name": "job", "command": "sleep 1"}),
]


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "a file in its place"])
def test_every_tool_fails_with_a_message_in_a_workspace_that_was_removed(home: Home, project: Path, *, replaced: bool):
    turns = [Turn(text="I think", hold_after=1), *(calls(Call(name, args)) for name, args in USES)]
    argv = ["run", "go", "--headless", "--json", "--gate", "auto", "--until", "test -f done", "--model", "fake"]
    argv += ["--steps", str(len(turns)), "--time", "60s", "--window", "20", "--tool-error-rate", "1.0"]
    with (
        ScriptedServer(turns, then=Turn(text="I stop")) as server,
        home.start(*argv, "--api-base", server.base_url, cwd=project) as running,
    ):
        running.wait_event("call_admitted")
        shutil.rmtree(project)
        if replaced:
            project.write_text("")
        server.release()
        ran = running.finish(timeout=100)
    assert ran.outcome["reason"] == "budget", ran.story()
    results = ran.of("tool_finished")
    assert [e["tool"] for e in results] == [name for name, _ in USES], ran.story()
    assert [e["tool"] for e in results if e["ok"]] == (["list_files"] if replaced else []), "it says that it is a file"
    for event in results[:2]:
        assert f"the workspace {project} was removed" in event["result"]
    assert "Traceback" not in str(ran)
