import os

import pytest

from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox


@pytest.fixture
async def sandbox():
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def test_a_command_changes_no_folder_of_path_in_the_workspace_unless_it_is_let_through(
    sandbox, tmp_path, monkeypatch
):
    ws = tmp_path / "ws"
    for name in ("venv/bin", "tools"):
        (ws / name).mkdir(parents=True)
    (ws / "venv/bin/rg").write_text("old")
    monkeypatch.setenv("PATH", f"{ws}/venv/bin:tools:.:{os.environ['PATH']}")
    line = "echo evil > venv/bin/rg; echo evil > venv/bin/git; mv venv/bin venv/b2; touch tools/git; echo ok > other"
    env = command_env(os.environ)
    done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=20)
    assert sorted(path.name for path in ws.rglob("*") if path.is_file()) == ["other", "rg"]
    assert (ws / "venv/bin/rg").read_text() == "old"
    failed = await sandbox.run("touch tools/git", ws, cwd=ws, env=env, timeout=20)
    need = sandbox.refused(failed, ws)
    assert (done.exit_code == 0 and need is None) or need.place == ws / "tools"
    await sandbox.run("touch tools/git", ws, Access(writable=[ws / "tools"]), cwd=ws, env=env, timeout=20)
    assert (ws / "tools/git").exists()
