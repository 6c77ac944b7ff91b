import os
import signal
import time

import pytest
from host.processes.alive import alive

from rundry.agent.host.processes.processes import run_process
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox


async def test_output_and_error_come_merged_in_their_order_with_the_exit_code(tmp_path, env):
    pieces = []
    done = await run_process(
        "echo one; echo two >&2; echo three; exit 7", cwd=tmp_path, env=env, timeout=5, on_output=pieces.append
    )
    assert (done.exit_code, done.output, done.timed_out, done.error) == (7, b"one\ntwo\nthree\n", False, None)
    assert b"".join(pieces) == done.output == done.full


async def test_a_command_killed_by_a_signal_has_the_shells_exit_code(tmp_path, env):
    done = await run_process("kill -9 $$", cwd=tmp_path, env=env, timeout=5)
    assert done.exit_code == 128 + signal.SIGKILL


async def test_an_argument_list_runs_without_a_shell_and_reads_what_it_is_given(tmp_path, env):
    done = await run_process(["cat", "-"], cwd=tmp_path, env=env, timeout=5, stdin=b"$(touch x)" * 50_000)
    assert done.output[:10] == b"$(touch x)" and len(done.full) == 500_000
    assert list(tmp_path.iterdir()) == []


ESCAPES = {
    "in the background": "sleep 300 & echo $! > pid; wait",
    "nohup": "nohup sleep 300 >/dev/null 2>&1 & echo $! > pid; wait",
    "its own session": "setsid bash -c 'echo $$ > pid; exec sleep 300' & wait; sleep 300",
    "a double fork": "(setsid bash -c 'echo $$ > pid; exec sleep 300' &) ; sleep 300",
    "deaf to the request": "trap '' TERM; (trap '' TERM; echo $BASHPID > pid; exec sleep 300) & wait",
    "stopped": "sleep 300 & echo $! > pid; kill -STOP $!; wait",
}


@pytest.mark.parametrize("way", ESCAPES)
async def test_a_time_out_ends_the_whole_tree(tmp_path, env, way):
    done = await run_process(ESCAPES[way], cwd=tmp_path, env=env, timeout=0.2)
    assert done.timed_out and done.exit_code is None and "timed out after 0.2 s" in done.error
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_a_program_that_bubblewrap_does_not_find_is_named_without_the_bound_on_processes(tmp_path, env):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    done = await sandbox.run(["no-such-program"], tmp_path, cwd=tmp_path, env=env, timeout=20)
    assert done.exit_code == 127 and b"no-such-program: not found" in done.output and b"2048" not in done.output


async def test_a_server_left_in_the_background_with_the_pipe_open_does_not_hold_the_command(tmp_path, env):
    started = time.monotonic()
    line = "setsid bash -c 'echo $$ > pid; exec sleep 300' & until [ -s pid ]; do :; done; echo up"
    done = await run_process(line, cwd=tmp_path, env=env, timeout=60)
    assert done.exit_code == 0 and done.output == b"up\n" and done.left_behind >= 1
    assert time.monotonic() - started < 10
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_nothing_waits_for_an_answer_that_nobody_can_give(tmp_path, env):
    done = await run_process("cat; read -r line; tty; (: < /dev/tty) && echo tty", cwd=tmp_path, env=env, timeout=5)
    assert not done.timed_out and b"not a tty" in done.output and not done.output.endswith(b"\ntty\n")


async def test_what_cannot_start_is_reported_in_a_line(tmp_path, env):
    async def error(command, cwd=tmp_path):
        done = await run_process(command, cwd=cwd, env=env, timeout=5)
        assert done.exit_code is None and not done.timed_out
        return done.error

    assert await error(["no-such-program"]) == "no-such-program: not found"
    assert "does not exist" in await error("true", tmp_path / "gone")
    assert "too long" in await error("x" * 2_000_000)
    assert "NUL" in await error("a\0b") or "null" in await error("a\0b")


async def test_start_up_files_of_the_shell_are_not_read(tmp_path, env):
    (tmp_path / ".bashrc").write_text("echo rc\n")
    (tmp_path / "env.sh").write_text("echo env\n")
    hostile = command_env({**os.environ, "HOME": str(tmp_path), "BASH_ENV": str(tmp_path / "env.sh")})
    done = await run_process("echo hi", cwd=tmp_path, env=hostile, timeout=5)
    assert done.output == b"hi\n"


def test_a_commands_environment_has_no_key_and_asks_nobody():
    given = {
        "PATH": "/bin",
        "HOME": "/h",
        "OPENAI_API_KEY": "sk-123456789",
        "MY_LLM": "key-from-config",
        "COPY": "Bearer sk-123456789",
        "AWS_SECRET_ACCESS_KEY": "awsawsaws",
        "HF_TOKEN": "hf_abcdefgh",
        "BASH_ENV": "/x",
        "PYTHONHOME": "/p",
        "PYTHONPATH": "src",
        "LITELLM_MODE": "PRODUCTION",
        "GIT_ASKPASS": "/usr/bin/ask",
        "TERM": "xterm-256color",
        "NODE_ENV": "test",
    }
    env = command_env(given, provider_key_names=["MY_LLM"])
    assert {"OPENAI_API_KEY", "MY_LLM", "COPY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"}.isdisjoint(env)
    assert {"BASH_ENV", "PYTHONHOME", "LITELLM_MODE", "GIT_ASKPASS"}.isdisjoint(env)
    assert env["PATH"] == "/bin" and env["PYTHONPATH"] == "src" and env["NODE_ENV"] == "test"
    assert env["GIT_TERMINAL_PROMPT"] == "0" and env["PAGER"] == "cat" and env["TERM"] == "dumb"
