"""A workspace and a home below the temp folder, which commands see replaced or not at all."""

import os

import pytest

from rundry.agent.protocol import GatePolicy, Rule
from rundry.agent.run.start.sandbox_of_run import detect_sandbox
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox


@pytest.fixture(params=["bubblewrap", "landlock"])
async def sandbox(request, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text("hush")
    (home / ".editorconfig").write_text("mine\n")
    (home / "work").mkdir()
    monkeypatch.setenv("HOME", str(home))
    found = await Sandbox.detect(kinds=[request.param])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def test_what_is_shown_of_the_home_is_read_the_workspace_written_and_secrets_are_hidden(sandbox, tmp_path):
    ws = tmp_path / "home/work"
    line = (
        "cat ~/.editorconfig; cat ~/.ssh/id; echo made > new; cat new; touch ~/outside; cd $TMPDIR; echo t > t; cat t"
    )
    done = await sandbox.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=20)
    lines = done.output.decode().splitlines()
    assert [line for line in lines if line in ("mine", "made", "t", "hush")] == ["mine", "made", "t"]
    assert (ws / "new").read_text() == "made\n" and not (tmp_path / "home/outside").exists()


async def test_a_rule_that_is_added_during_a_run_holds_for_the_next_command(tmp_path):
    ws, rules = tmp_path / "work", list[Rule]()
    ws.mkdir()
    (ws / "notes").write_text("hush")
    sandbox = await detect_sandbox(GatePolicy(), ws, tmp_path / "runs", rules=lambda: rules)
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    env = command_env(os.environ)
    assert (await sandbox.run("cat notes", ws, cwd=ws, env=env, timeout=20)).output == b"hush"
    rules.append(Rule(verdict="deny", path="notes"))
    assert b"hush" not in (await sandbox.run("cat notes", ws, cwd=ws, env=env, timeout=20)).output
