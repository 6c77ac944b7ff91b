import asyncio
import os
import random
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rundry.agent.workspace import Sandbox, command_env, run_process


@pytest.fixture
def env():
    return command_env(os.environ)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return not os.path.isdir("/proc/self")


def is_named(cmdline: Path, name: str) -> bool:
    """It is the process that was started under this name (`exec -a`)."""
    try:
        return cmdline.read_bytes().startswith(os.fsencode(name) + b"\0")
    except OSError:
        return False


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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux adopts orphans")
async def test_an_orphan_that_cleared_its_environment_is_ended_too(tmp_path, env):
    line = "(env -i setsid /bin/bash -c 'echo $$ > pid; exec sleep 300' &) ; sleep 300"
    done = await run_process(line, cwd=tmp_path, env=env, timeout=0.2)
    assert done.timed_out and not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux adopts orphans")
async def test_an_orphan_that_has_by_chance_what_every_shell_sets_is_ended_too(tmp_path, env):
    own = Path("/proc/self/environ").read_text().split("\0")
    shared = [item for item in own if item.startswith(("PWD=", "OLDPWD=", "SHLVL=", "_="))]
    line = f"(env -i {shlex.join(shared)} setsid sleep 300 & echo $! > pid) ; sleep 300"
    done = await run_process(line, cwd=tmp_path, env=env, timeout=0.2)
    assert done.timed_out and not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux adopts orphans")
async def test_an_orphan_that_cleared_its_environment_is_known_by_its_session_while_others_run(tmp_path, env):
    other = asyncio.create_task(run_process("sleep 300", cwd=tmp_path, env=env, timeout=60))
    line = "(env -i sleep 300 & echo $! > pid) ; sleep 300"
    done = await run_process(line, cwd=tmp_path, env=env, timeout=0.3)
    assert done.timed_out and not alive(int((tmp_path / "pid").read_text()))
    assert not other.done()
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other


async def test_a_command_in_bubblewrap_that_left_nothing_is_said_to_have_left_nothing(tmp_path, env):
    sandbox = await Sandbox.detect(ways=["bubblewrap"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    run = [sandbox.run("ls; echo x >> notes", tmp_path, cwd=tmp_path, env=env, timeout=20) for _ in range(40)]
    assert [done.left_behind for done in await asyncio.gather(*run)] == [0] * 40
    # What ended together with the sandbox may be gone before it is counted: one left process is told as one or none.
    line = f"exec -a {tmp_path.name} sleep 300 & until grep -q {tmp_path.name} /proc/$!/cmdline; do :; done; echo up"
    left = await sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=20, limit=10)
    assert left.output == b"up\n" and left.left_behind in (0, 1)
    assert not [told for told in Path("/proc").glob("[0-9]*/cmdline") if is_named(told, tmp_path.name)]


async def test_a_program_that_bubblewrap_does_not_find_is_named_without_the_bound_on_processes(tmp_path, env):
    sandbox = await Sandbox.detect(ways=["bubblewrap"])
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


async def test_another_process_of_ours_is_not_taken_for_the_commands(tmp_path, env):
    other = await asyncio.create_subprocess_exec("sleep", "300", start_new_session=True)
    try:
        one = run_process("sleep 0.1 & echo a", cwd=tmp_path, env=env, timeout=5)
        two = run_process("sleep 0.05; echo b", cwd=tmp_path, env=env, timeout=5)
        third = run_process("(setsid sleep 300 &)", cwd=tmp_path, env=env, timeout=5)
        done = await asyncio.gather(one, two, third)
        assert [each.output for each in done] == [b"a\n", b"b\n", b""]
        later = await asyncio.create_subprocess_exec("sleep", "300", start_new_session=True)
        await run_process("true", cwd=tmp_path, env=env, timeout=5)
        assert alive(other.pid) and alive(later.pid)
        later.kill()
        await later.wait()
    finally:
        other.kill()
        await other.wait()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux adopts orphans")
async def test_dead_orphans_are_reaped_and_the_exit_codes_of_our_own_processes_are_left_to_us(tmp_path, env):
    own = [subprocess.Popen(["sh", "-c", "exit 7"], start_new_session=new) for new in (True, False)]
    await run_process("(sh -c 'echo $$ > pid' &); sleep 0.05; sleep 0.05", cwd=tmp_path, env=env, timeout=5)
    waited = [
        await asyncio.create_subprocess_exec("sh", "-c", "exit 8", start_new_session=new) for new in (True, False)
    ]
    done = await asyncio.gather(*(run_process("(true &); exit 9", cwd=tmp_path, env=env, timeout=5) for _ in range(5)))
    assert [each.exit_code for each in done] == [9] * 5
    assert [process.wait() for process in own] == [7, 7]
    assert [await process.wait() for process in waited] == [8, 8]
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")


LINES = ["sleep 100; touch AFTER", "trap '' TERM; sleep 100; touch AFTER", "(sleep 100); touch AFTER"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("way", ["timeout", "cancel", "sandbox"])
async def test_nothing_else_of_the_line_runs_once_it_is_ended(tmp_path, env, line, way):
    sandbox = await Sandbox.detect(ways=["bubblewrap"])
    for _ in range(10):
        if way == "sandbox":
            ending = sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=0.2)
        else:
            ending = run_process(line, cwd=tmp_path, env=env, timeout=0.1 if way == "timeout" else 50)
        running = asyncio.create_task(ending)
        if way == "cancel":
            await asyncio.sleep(0.1)
            running.cancel()
        await asyncio.wait([running])
        assert not (tmp_path / "AFTER").exists()


async def test_a_program_that_is_ended_may_clean_up(tmp_path, env):
    (tmp_path / "worker.sh").write_text("trap 'touch CLEANED; exit 1' TERM\nwhile :; do sleep 0.05; done\n")
    await run_process("bash worker.sh; touch AFTER", cwd=tmp_path, env=env, timeout=0.5)
    assert (tmp_path / "CLEANED").exists()
    assert not (tmp_path / "AFTER").exists()


async def test_a_cancelled_command_leaves_nothing(tmp_path, env):
    line = "setsid bash -c 'echo $$ > pid; exec sleep 300' & sleep 300"
    task = asyncio.create_task(run_process(line, cwd=tmp_path, env=env, timeout=60))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="it looks for the command in /proc")
@pytest.mark.parametrize("held", [False, True])
async def test_a_command_cancelled_while_it_starts_leaves_nothing(tmp_path, env, held):
    sandbox = await Sandbox.detect() if held else Sandbox()
    if held and sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    moments = random.Random(3)
    line = f"sleep 97.{os.getpid()} & (setsid sleep 97.{os.getpid()} &) ; sleep 97.{os.getpid()}"
    for turn in range(20):
        run = sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=60)
        task = asyncio.create_task(run)
        for _ in range(turn % 6):
            await asyncio.sleep(0)
        if turn > 12:
            await asyncio.sleep(moments.random() * 0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not running_with(f"sleep 97.{os.getpid()}")


def running_with(words: str) -> list[int]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                if words in file.read().replace("\0", " ") and alive(int(pid)):
                    found.append(int(pid))
        except OSError:
            continue
    return found


async def test_a_command_that_forks_on_and_on_is_ended(tmp_path, env):
    line = "i=0; while [ $i -lt 300 ]; do sleep 300 & i=$((i+1)); done; echo all; wait"
    done = await run_process(line, cwd=tmp_path, env=env, timeout=0.5)
    assert done.timed_out and done.seconds < 10
    left = await run_process(["pgrep", "-f", "^sleep 300$"], cwd=tmp_path, env=env, timeout=5)
    pids = [int(pid) for pid in left.output.split() if pid.isdigit()]
    assert not any(os.path.realpath(f"/proc/{pid}/cwd") == str(tmp_path) for pid in pids)


async def test_endless_output_is_bounded_and_the_loop_stays_awake(tmp_path, env):
    worst = 0.0

    async def tick():
        nonlocal worst
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            worst = max(worst, time.monotonic() - before)

    ticking = asyncio.create_task(tick())
    done = await run_process("yes", cwd=tmp_path, env=env, timeout=0.4, limit=1000)
    ticking.cancel()
    assert done.timed_out and len(done.output) < 1100 and b"bytes left out" in done.output
    assert done.dropped > 1_000_000 and len(done.full) <= 16_000_100
    assert worst < 0.3


async def test_head_and_tail_are_kept_and_what_is_missing_is_counted(tmp_path, env):
    done = await run_process("echo BEGIN; seq 1 100000; echo END", cwd=tmp_path, env=env, timeout=10, limit=2000)
    assert done.output.startswith(b"BEGIN\n1\n") and done.output.endswith(b"100000\nEND\n")
    whole = 10 + sum(len(str(n)) + 1 for n in range(1, 100_001))
    assert len(done.full) == whole and done.full_dropped == 0
    assert done.dropped == whole - 2000


async def test_nothing_waits_for_an_answer_that_nobody_can_give(tmp_path, env):
    done = await run_process("cat; read -r line; tty; (: < /dev/tty) && echo tty", cwd=tmp_path, env=env, timeout=5)
    assert not done.timed_out and b"not a tty" in done.output and not done.output.endswith(b"\ntty\n")


async def test_what_cannot_start_is_said_in_a_line(tmp_path, env):
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
