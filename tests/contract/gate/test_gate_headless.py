"""Nothing changes that the policy does not allow, and the model gets the reason (docs/requirements.md 6, 10.1)."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from fakes.in_process.headless_run import play
from fakes.project import CHECK, CORE, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files, read
from fakes.server import ScriptedServer
from fakes.turns import Call, call, calls, finish

from rundry.agent.protocol import GateMode

COMMAND = call("run_command", command="touch made")
END = [read("calc/core.py"), finish("told", "calc/core.py")]


async def test_in_ask_mode_edits_and_commands_are_refused_and_the_model_reads_why(runs: Path, project: Path):
    with ScriptedServer([FIX_ADD, COMMAND, *END]) as server:
        ran = await play(runs, server, project, gate=GateMode.ASK)
    assert ran.outcome["reason"] == "answered", ran.story()
    assert [(p["decision"], p["by"]) for p in ran.of("proposal_decided")] == [("reject", "policy")] * 2
    assert all(p["reason"] for p in ran.of("proposal_decided"))
    assert [e["ok"] for e in ran.of("tool_finished")][:2] == [False, False]
    assert changed_files(project) == []
    assert ran.outcome["files_changed"] == []


async def test_in_edits_mode_edits_pass_and_commands_do_not(runs: Path, project: Path):
    with ScriptedServer([FIX_ADD, COMMAND, *END]) as server:
        ran = await play(runs, server, project, gate=GateMode.EDITS)
    assert [p["decision"] for p in ran.of("proposal_decided")] == ["approve", "reject"], ran.story()
    assert changed_files(project) == ["calc/core.py"]


async def test_in_auto_mode_both_pass_and_what_a_command_made_is_a_changed_file(runs: Path, project: Path):
    with ScriptedServer([FIX_ADD, COMMAND, *END]) as server:
        ran = await play(runs, server, project, gate=GateMode.AUTO)
    assert [p["decision"] for p in ran.of("proposal_decided")] == ["approve", "approve"], ran.story()
    assert changed_files(project) == ["calc/core.py", "made"]
    assert ran.outcome["files_changed"] == ["calc/core.py", "made"]


async def test_in_read_mode_nothing_may_change_and_reading_works(runs: Path, project: Path):
    with ScriptedServer([FIX_ADD, COMMAND, *END]) as server:
        ran = await play(runs, server, project, gate=GateMode.READ)
    assert ran.outcome["reason"] == "answered", ran.story()
    assert changed_files(project) == []


async def test_on_ask_handoff_ends_the_run_for_review_with_the_open_proposal(runs: Path, project: Path):
    with ScriptedServer([FIX_ADD]) as server:
        ran = await play(runs, server, project, gate=GateMode.ASK, on_ask="handoff", until=[CHECK])
    assert (ran.outcome["reason"], ran.exit_code) == ("handoff", 5), ran.story()
    (handoff,) = ran.of("handoff_opened")
    assert "calc/core.py" in str(handoff)
    assert changed_files(project) == []


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/etc/rundry-was-here", ".git/hooks/pre-commit", ".env", "link/inside.txt"]
)
async def test_paths_outside_of_the_workspace_and_protected_ones_are_refused(runs: Path, project: Path, path: str):
    (project / "link").symlink_to(runs)
    turns = [call("write_file", path=path, content="x"), call("read_file", path=path), *END]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project)
    assert ran.outcome["reason"] == "answered", ran.story()
    assert [e["ok"] for e in ran.of("tool_finished")][:2] == [False, False]
    assert not (runs / "inside.txt").exists()
    assert not (project.parent / "outside.txt").exists()
    assert not (project / ".git/hooks/pre-commit").exists()
    assert not (project / ".env").exists()


@pytest.mark.parametrize("path", [".rundry.toml", ".github/workflows/ci.yml", ".envrc"])
async def test_files_that_run_code_elsewhere_are_asked_about_in_every_mode(runs: Path, project: Path, path: str):
    with ScriptedServer([call("write_file", path=path, content="x = 1\n"), *END]) as server:
        ran = await play(runs, server, project, gate=GateMode.AUTO)
    assert [(p["decision"], p["by"]) for p in ran.of("proposal_decided")] == [("reject", "policy")], ran.story()
    assert ran.of("proposal_opened")[0]["danger"] is True
    assert not (project / path).exists()


async def test_several_changes_in_one_step_land_in_their_order(runs: Path, project: Path):
    again = Call("edit_file", {"path": "calc/core.py", "old_text": "return a + b", "new_text": "return b + a"})
    with ScriptedServer([calls(*FIX_BOTH.calls, again)]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 1), ran.story()
    expected = CORE.replace("a - b", "b + a").replace("(len(values) + 1)", "len(values)")
    assert (project / "calc/core.py").read_text() == expected


async def test_a_file_keeps_its_mode_line_endings_mark_and_missing_last_newline(runs: Path, project: Path):
    path = project / "odd.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    path.chmod(0o640)
    before = path.stat()
    turns = [read("odd.txt"), call("edit_file", path="odd.txt", old_text="two", new_text="TWO"), FIX_ADD, FIX_MEAN]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert ran.outcome["reason"] == "done", ran.story()
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\nTWO\r\nthree"
    after = path.stat()
    assert after.st_mode == before.st_mode
    assert (after.st_size, int(after.st_mtime)) != (before.st_size, int(before.st_mtime))


async def test_a_command_sees_no_key_and_no_terminal_and_its_children_end_with_it(
    runs: Path, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary-0123456789")
    spy = "env; tty; (sleep 300.25 & echo $! > pid); sleep 30"
    turns = [call("run_command", command=spy, timeout=0.5), *END]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project)
    assert ran.outcome["reason"] == "answered", ran.story()
    result = ran.results("run_command")[0]
    assert "timed out" in result
    assert "sk-ant-canary" not in str(ran.events)
    assert "ANTHROPIC_API_KEY" not in result
    assert "not a tty" in result
    assert not alive_with("sleep", "300.25")


def alive_with(*words: str) -> bool:
    return any(process.info["cmdline"] == list(words) for process in psutil.process_iter(["cmdline"]))
