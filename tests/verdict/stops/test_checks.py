import os
import shlex
import sys
import tempfile
import venv
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.sandbox.command_access import programs_of_user
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.verdict.checks.run_check import head_and_tail, run_check

PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


async def check(command, workspace, timeout=20.0, sandbox=None):
    return await run_check(
        command, workspace, env=command_env(os.environ), timeout=timeout, sandbox=sandbox or Sandbox()
    )


async def test_exit_code_0_is_met(workspace):
    result = await check("true", workspace)
    assert (result.passed, result.exit_code, result.timed_out, result.error) == (True, 0, False, None)


async def test_anything_else_is_not_yet(workspace):
    result = await check("echo no; exit 3", workspace)
    assert (result.passed, result.exit_code, result.output, result.error) == (False, 3, "no\n", None)


async def test_it_is_bash_in_the_workspace(workspace):
    (workspace.root / "here.txt").write_text("x")
    assert (await check("[[ -f here.txt && -n $BASH_VERSION ]]", workspace)).passed


async def test_a_time_out_is_named_as_such(workspace):
    result = await check("echo begun; sleep 30", workspace, timeout=0.2)
    assert (result.passed, result.exit_code, result.timed_out, result.error) == (False, None, True, None)
    assert result.output == "begun\n"
    assert result.seconds < 10


async def test_a_command_that_does_not_exist_is_named_as_such(workspace):
    result = await check("no-such-command-here --x", workspace)
    assert not result.passed
    assert result.exit_code == 127
    assert "no-such-command-here: command not found" in result.error


async def test_a_script_that_may_not_be_run_is_named_as_such(workspace):
    (workspace.root / "check.sh").write_text("exit 0\n")
    result = await check("./check.sh", workspace)
    assert result.exit_code == 126
    assert "Permission denied" in result.error


async def test_a_check_that_ran_and_misses_a_command_on_the_way_has_failed(workspace):
    result = await check("echo 3 tests; no-such-command-here", workspace)
    assert (result.exit_code, result.error) == (127, None)


async def test_a_workspace_that_is_gone_is_an_error_and_no_traceback(workspace):
    workspace.root.rmdir()
    result = await check("true", workspace)
    assert not result.passed
    assert str(workspace.root) in result.error


async def test_failing_tests_are_counted_in_all_of_the_output(workspace):
    noise = f"{PYTHON} -c 'print(\"noise \" * 20_000)'"
    result = await check(f"{noise}; echo '3 failed, 2 passed in 0.10s'; {noise}; exit 1", workspace)
    assert result.failing == 3
    assert len(result.output) < 10_000


async def test_long_output_keeps_its_head_and_its_tail(workspace):
    result = await check("seq 1 20000; exit 1", workspace)
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("19999\n20000\n")
    assert "lines" in result.output
    assert "left out" in result.output
    assert len(result.output) < 9_000


async def test_the_model_gets_no_terminal_sequences(workspace):
    result = await check("printf '\\033[31mred\\033[0m \\033]0;title\\007x\\n 10%%\\r 99%%\\rdone\\n'", workspace)
    assert result.output == "red x\ndone\n"


async def test_a_check_reads_nothing_from_standard_input(workspace):
    assert (await check("read answer || echo nobody", workspace)).output == "nobody\n"


async def test_it_runs_in_the_sandbox(workspace, tmp_path_factory):
    sandbox = await Sandbox.detect()
    if sandbox.kind is None:
        pytest.skip("no sandbox here")
    outside = tmp_path_factory.mktemp("outside") / "file"
    result = await check(f"echo x > {outside}; echo y > inside.txt", workspace, sandbox=sandbox)
    assert not outside.exists()
    assert (workspace.root / "inside.txt").read_text() == "y\n"
    assert result.passed


def test_short_output_is_not_cut():
    assert head_and_tail("a\nb\n", 100) == "a\nb\n"


def test_a_cut_says_how_much_is_missing():
    text = "".join(f"line {n}\n" for n in range(1_000))
    short = head_and_tail(text, 400)
    assert "lines, " in short
    assert len(short) < 500
    assert all(line.startswith(("line ", "[...")) for line in short.splitlines())


def test_one_line_without_an_end_is_cut_too():
    assert len(head_and_tail("x" * 100_000, 1_000)) < 1_100


async def test_what_the_sandbox_refused_to_it_is_reported(workspace):
    sandbox = await Sandbox.detect()
    if sandbox.kind is None or sandbox.network:
        pytest.skip("no sandbox here that holds the network")
    line = "exec 3<>/dev/tcp/192.0.2.1/80"
    result = await check(line, workspace, sandbox=sandbox)
    assert not result.passed and "[the sandbox of the check refused: the network]" in result.output
    assert "refused:" not in (await check(f"{line}; echo '1 failed in 0.1s'; false", workspace, sandbox=sandbox)).output


async def test_a_check_sees_the_script_that_it_names_outside_of_what_commands_see(workspace):
    sandbox = await Sandbox.detect()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        script = Path(folder) / "check.sh"
        script.write_text("exit 0")
        assert (await check(f"bash {script}", workspace, sandbox=sandbox)).passed
        hidden = await sandbox.run(
            f"cat {script}", workspace.root, cwd=workspace.root, env=command_env(os.environ), timeout=20
        )
        assert sandbox.kind is None or hidden.exit_code != 0


async def test_a_check_makes_a_program_in_its_own_temp_folder_although_the_machine_has_one_there(workspace):
    """Such as one that the user built by hand with the same line."""
    sandbox = await Sandbox.detect()
    with tempfile.NamedTemporaryFile(dir="/tmp", prefix="rundry-test-") as made:
        assert programs_of_user(f"cc -o {made.name} p.c && {made.name}", workspace.seen) == []
        found = await check(f"echo 'exit 0' > {made.name} && sh {made.name}", workspace, sandbox=sandbox)
        assert found.passed, found.output


def test_only_files_outside_of_the_workspace_are_shown_and_no_whole_home(tmp_path, monkeypatch):
    ws, home, tools = (tmp_path / name for name in ("ws", "home", "tools"))
    for folder in (ws, home, tools):
        folder.mkdir()
        (folder / "run.sh").touch()
    monkeypatch.setenv("HOME", str(home))
    assert programs_of_user(f"sh {tools}/run.sh {ws}/run.sh {home}/run.sh {tools}/none run.sh", ws) == [
        tools,
        home / "run.sh",
    ]
    assert programs_of_user("sh 'open", ws) == [] and programs_of_user(["x", f"{tools}/run.sh"], ws) == [tools]


async def test_a_check_by_the_python_of_an_environment_elsewhere_has_the_packages_of_that_environment(workspace):
    sandbox = await Sandbox.detect()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        venv.create(folder, symlinks=True)
        packages = next(Path(folder).glob("lib/python3*/site-packages"))
        (packages / "only_here.py").write_text("")
        result = await check(f"{folder}/bin/python -c 'import only_here'", workspace, sandbox=sandbox)
        assert result.passed, result.output
