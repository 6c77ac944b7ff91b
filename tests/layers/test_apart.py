"""Under Landlock, all processes of a command in a layer end with it; it reaches neither mounts nor the first one."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from rundry.agent.host.processes.processes import Finished, run_process
from rundry.agent.layers.layer import Layer
from rundry.agent.layers.occupied import Occupied, wait_until_free
from rundry.agent.sandbox.landlock import LEAST, why_no_landlock
from rundry.agent.sandbox.start_command import Apart, restricted

from .conftest import SYSTEM_PYTHON, AsUser, Bench

pytestmark = pytest.mark.skipif(bool(why_no_landlock()), reason=f"Landlock {LEAST} is not here")

ENV = {"PATH": "/usr/bin:/bin"}
DEAF = """trap "" TERM INT HUP
(setsid sh -c '(trap "" TERM; exec 3>>made; while :; do sleep 0.1; done) & exit' &)
until [ -e made ]; do sleep 0.05; done
"""
NESTED = """(setsid unshare -U --pid --fork sh -c 'trap "" TERM; exec 3>>made; sleep 100' &)
until [ -e made ]; do sleep 0.05; done
"""


def words(layer: Layer, script: str) -> list[str]:
    """Return the words of a command that may write in the workspace, as `Sandbox` would build them."""
    ws = str(layer.workspace)
    rules = {"write": [ws, "/dev/null"], "places": ["/"], "hide": [], "keep": [], "read": []}
    argv = ["sh", "-c", f"cd '{ws}' || exit; {script}"]
    own = restricted(argv, rules, network=True, processes=500, report=-1, apart=Apart())
    return [*layer.words, *([str(SYSTEM_PYTHON), *own[1:]] if os.geteuid() else own)]


def run(bench: Bench, layer: Layer, script: str, seconds: float = 60) -> Finished:
    return asyncio.run(run_process(words(layer, script), cwd=Path("/"), env=ENV, timeout=seconds))


def said(bench: Bench, script: str) -> str:
    layer = bench.layer()
    done = run(bench, layer, script)
    assert done.exit_code == 0, done
    layer.seal(5)
    layer.drop()
    return done.output.decode()


def check_ends(bench: Bench) -> None:
    for script in (DEAF, NESTED) if os.geteuid() else (DEAF,):
        layer = bench.layer()
        done = run(bench, layer, f"{script} echo x > other")
        assert done.exit_code == 0, done
        layer.seal(5)
        assert [one.path for one in layer.effects()[0]] == ["made", "other"]
        layer.unmount()
        wait_until_free(bench.namespaces, layer.folder, "u", "w", 5)
    late = bench.layer()
    done = run(bench, late, f"{DEAF} sleep 100", seconds=0.5)
    assert done.timed_out
    late.seal(5)
    late.unmount()
    wait_until_free(bench.namespaces, late.folder, "u", "w", 5)


def test_no_process_of_a_command_outlives_it(bench: Bench):
    check_ends(bench)


def test_no_process_of_a_command_of_an_ordinary_user_outlives_it(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_ends(bench)
        check_confined(bench)
        bench.close()

    as_user(act)


def test_without_a_namespace_of_its_own_a_process_would_outlive_its_killed_runner(bench: Bench):
    for apart in (False, True):
        layer = bench.layer()
        argv = words(layer, f"{DEAF} echo up; sleep 100")
        if not apart:
            argv = [word.replace('"apart": true', '"apart": false') for word in argv]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True, env=ENV) as running:
            assert running.stdout is not None and running.stdout.readline() == b"up\n"
            left = [int(one) for one in os.listdir("/proc") if one.isdigit() and _is_in(int(one), layer)]
            os.kill(running.pid, signal.SIGKILL)
            running.wait()
            if apart:
                layer.seal(5)
                continue
            with pytest.raises(Occupied):
                layer.seal(0.3)
            for one in left:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)


def _is_in(pid: int, layer: Layer) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == layer.workspace and pid != os.getpid()
    except OSError:
        return False


REACHES = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
reached = []
for number in (9, 15, 2, 1):
    try:
        os.kill(1, number)  # the kernel drops it where Landlock does not refuse it
    except OSError:
        pass
if not libc.ptrace(16, 1, None, None):
    reached.append("ptrace")
for name in ("mem", "environ", "root/etc/passwd", "fd/1"):
    try:
        open(f"/proc/1/{name}", "rb").read(1)
        reached.append(name)
    except OSError:
        pass
print("reached:", *reached)
print("parent:", os.getppid(), "first:", os.stat("/proc/1").st_uid == os.getuid())"""


def check_confined(bench: Bench) -> None:
    assert said(bench, f"exec python3 -c '{REACHES}'") == "reached:\nparent: 1 first: True\n"
    assert said(bench, "kill -9 -1 2>/dev/null; echo alive") == "alive\n"
    assert int(said(bench, "ls /proc | grep -c '^[0-9]'")) < 8, "only its own processes are shown"
    assert said(bench, "ls /proc/self/fd | xargs") == "0 1 2 3\n", "the last one is that of ls"
    ways = (
        "umount -l . 2>/dev/null; mount -o remount,rw / 2>/dev/null; "
        "unshare -Urm sh -c 'umount -l .; mount -t tmpfs none /tmp' 2>/dev/null; echo written > made; ls"
    )
    assert said(bench, ways) == "made\n"
    assert os.listdir(bench.ws) == []


def test_a_command_reaches_neither_the_first_process_nor_the_mounts(bench: Bench):
    check_confined(bench)


@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("exec missing-program", 127)]
)
def test_the_exit_code_is_that_of_the_command(bench: Bench, script: str, code: int):
    layer = bench.layer()
    done = run(bench, layer, script)
    assert (done.exit_code, done.timed_out) == (code, False)
    layer.drop()


def test_nothing_is_run_if_the_namespace_is_refused(as_user: AsUser):
    def act(folder: Path) -> None:
        user = os.geteuid()
        assert not ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{user} {user} 1")):
            Path(f"/proc/self/{name}").write_text(text)
        Path("/proc/sys/user/max_pid_namespaces").write_text("0")
        own = restricted(["touch", str(folder / "run")], {}, network=True, processes=9, report=-1, apart=Apart())
        done = subprocess.run([str(SYSTEM_PYTHON), *own[1:]], capture_output=True, text=True, check=False, env=ENV)
        assert done.returncode == 126 and "nothing was run: [Errno 28] no PID namespace" in done.stderr
        assert not (folder / "run").exists()

    as_user(act)
