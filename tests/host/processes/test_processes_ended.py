"""Commands that are ended: their trees, orphans and later lines."""

import asyncio
import os
import random
import shlex
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from host.processes.alive import alive

from rundry.agent.host.processes.processes import run_process
from rundry.agent.sandbox.sandbox import Sandbox


def is_named(cmdline: Path, name: str) -> bool:
    """It is the process that was started under this name (`exec -a`)."""
    try:
        return cmdline.read_bytes().startswith(os.fsencode(name) + b"\0")
    except OSError:
        return False


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


async def test_a_command_in_bubblewrap_that_left_nothing_is_reported_to_have_left_nothing(tmp_path, env):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    run = [sandbox.run("ls; echo x >> notes", tmp_path, cwd=tmp_path, env=env, timeout=20) for _ in range(40)]
    assert [done.left_behind for done in await asyncio.gather(*run)] == [0] * 40
    # A process that ended with the sandbox may be gone before it is counted: one is reported as one or none.
    line = f"exec -a {tmp_path.name} sleep 300 & until grep -q {tmp_path.name} /proc/$!/cmdline; do :; done; echo up"
    left = await sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=20, limit=10)
    assert left.output == b"up\n" and left.left_behind in (0, 1)
    assert not [told for told in Path("/proc").glob("[0-9]*/cmdline") if is_named(told, tmp_path.name)]


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


DEAF = pytest.param("trap '' TERM; sleep 100; touch AFTER", marks=pytest.mark.long)  # is killed after 20 s
LINES = ["sleep 100; touch AFTER", DEAF, "(sleep 100); touch AFTER"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("way", ["timeout", "cancel", "sandbox"])
async def test_nothing_else_of_the_line_runs_once_it_is_ended(tmp_path, env, line, way):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    for _ in range(10):
        if way == "sandbox":
            ending = sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=0.2)
        else:
            ending = run_process(line, cwd=tmp_path, env=env, timeout=0.1 if way == "timeout" else 50)
        running = asyncio.create_task(ending)
        if way == "cancel":
            until = time.monotonic() + 10
            while not psutil.Process().children():
                assert time.monotonic() < until
                await asyncio.sleep(0.005)
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
    done = await run_process("yes", cwd=tmp_path, env=env, timeout=3.0, limit=1000)
    ticking.cancel()
    assert done.timed_out and len(done.output) < 1100 and b"bytes left out" in done.output
    assert done.dropped > 1_000_000 and len(done.full) <= 16_000_100
    assert worst < 1.5, "a loop that reads without a pause sleeps for all three seconds"


async def test_head_and_tail_are_kept_and_what_is_missing_is_counted(tmp_path, env):
    done = await run_process("echo BEGIN; seq 1 100000; echo END", cwd=tmp_path, env=env, timeout=10, limit=2000)
    assert done.output.startswith(b"BEGIN\n1\n") and done.output.endswith(b"100000\nEND\n")
    whole = 10 + sum(len(str(n)) + 1 for n in range(1, 100_001))
    assert len(done.full) == whole and done.full_dropped == 0
    assert done.dropped == whole - 2000
