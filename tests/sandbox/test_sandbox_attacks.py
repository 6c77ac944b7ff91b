"""docs/attacks.md 7.11 to 7.22, tried in each sandbox that this machine has."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from fakes.visible_folders import visible_folder

from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture(params=["bubblewrap", "landlock"])
async def sandbox(request, tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)
    (runs / "other.db").write_text("journal of another run")
    found = await Sandbox.detect(hide=[runs], kinds=[request.param])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


@pytest.fixture
def ws(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def run(sandbox, ws):
    async def run(line: str, timeout=20.0, **more):
        env = command_env({**os.environ, "OPENAI_API_KEY": KEY, "OTHER": f"x{KEY}", **more})
        done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=timeout)
        return done, done.output.decode()

    return run


async def lets_signals_through(sandbox) -> bool:
    await sandbox.probe(fresh=True)
    return "signal" in [one.name for one in sandbox.missing()]


def alive(marker: str) -> list[str]:
    """Processes, other than this one, that were started with this word."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in words and state not in "ZX" and int(place.name) != os.getpid():
            found.append(place.name)
    return found


@pytest.fixture
def bystander():
    """A process of the person's, outside, with a key in its environment."""
    env = {**os.environ, "OPENAI_API_KEY": KEY}
    with subprocess.Popen(["sleep", "3600.5"], env=env) as process:
        yield process
        assert process.poll() is None, "a command ended a process outside"
        process.kill()


async def test_no_key_is_in_the_environment_nor_in_that_of_a_process_outside(run, bystander):
    pids = f"1 $PPID {bystander.pid} {os.getpid()} self"
    _, said = await run(f"env; for p in {pids}; do cat /proc/$p/environ; cat /proc/$p/mem; done 2>/dev/null")
    assert "PATH=" in said and KEY not in said


async def test_a_process_outside_is_neither_traced_nor_ended(sandbox, run, bystander):
    if await lets_signals_through(sandbox):
        pytest.skip("this Landlock holds no signals")
    tracing = f"import ctypes; print('traced', ctypes.CDLL(None).ptrace(16, {bystander.pid}, 0, 0))"
    _, said = await run(f'python3 -c "{tracing}"; kill -9 {bystander.pid}; pkill -f 3600.5; kill -9 -1')
    assert "traced 0" not in said and bystander.poll() is None


async def test_a_command_that_ends_whatever_is_called_rundry_does_not_end_it(sandbox, ws):
    if await lets_signals_through(sandbox):
        pytest.skip("this Landlock holds no signals")
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "rundry"]) as other:
        done = await sandbox.run("pkill -f rundry; true", ws, cwd=ws, env=command_env(os.environ), timeout=10)
        assert done.error is None and other.poll() is None
        other.kill()


async def test_another_runs_journal_cannot_be_read_by_any_way_round(run, tmp_path):
    file = tmp_path / "runs" / "other.db"
    ways = (
        f"cat {file}",
        f"ln -s {file} l; cat l",
        f"ln {file} h && cat h",
        f"cp -r {file.parent} copy; cat copy/*",
        f"cd {file.parent} && cat other.db",
        f"mv {file.parent} here; cat here/*",
        f"cat /proc/{os.getpid()}/root{file}; cat /proc/1/root{file}",
    )
    for way in ways:
        assert "journal of" not in (await run(way))[1], way
    assert file.read_text() == "journal of another run"


async def test_keys_at_home_cannot_be_read(ws, pytestconfig, monkeypatch, sandbox):
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as home:
        monkeypatch.setenv("HOME", home)
        for name in (".ssh/id_rsa", ".aws/credentials", ".netrc", ".config/gh/hosts.yml"):
            (Path(home) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(home) / name).write_text("hush")
        (Path(home) / ".editorconfig").write_text("plain")
        env = command_env({**os.environ, "HOME": home})
        line = (
            "cat ${HOME}/.ssh/* ~/.ssh/id_rsa ~/.aws/credentials ~/.netrc ~/.config/gh/hosts.yml; cat ~/.editorconfig"
        )
        done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=10)
        assert done.output.endswith(b"plain") and b"hush" not in done.output
        done = await sandbox.run(
            "touch ~/new; echo x > ~/.editorconfig; rm ~/.editorconfig", ws, cwd=ws, env=env, timeout=10
        )
        assert done.exit_code != 0 and (Path(home) / ".editorconfig").read_text() == "plain"
        assert not (Path(home) / "new").exists()


async def test_links_out_made_before_or_while_it_runs_are_not_a_way_to_write(run, ws, pytestconfig):
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as outside:
        (Path(outside) / "old").write_text("old")
        (ws / "before").symlink_to(outside)
        for line in (
            "echo x > before/old; touch before/new",
            f"ln -s {outside} l; echo x > l/old; touch l/new; cp /etc/hostname l/old",
            f"mkdir d; (sleep 0.1; rmdir d; ln -s {outside} d) & for i in $(seq 300); do echo x > d/old; done; wait",
        ):
            await run(f"exec 2>/dev/null; {line}")
        assert [(path.name, path.read_text()) for path in Path(outside).iterdir()] == [("old", "old")]


async def test_no_server_outside_is_reached_and_none_is_reached_from_outside(run):
    heard = []
    server = await asyncio.start_server(lambda _, writer: (heard.append(1), writer.close()), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        await run(f"echo x > /dev/tcp/127.0.0.1/{port}; curl -m 2 -s http://127.0.0.1:{port}")
    finally:
        server.close()
        await server.wait_closed()
    assert heard == []


@pytest.mark.parametrize(
    "line",
    [
        "sleep {s} &",
        "nohup sleep {s} >/dev/null 2>&1 &",
        "setsid sleep {s} &",
        "(setsid bash -c 'sleep {s} &' &)",
        "trap '' TERM HUP; (trap '' TERM HUP; sleep {s}) & disown -a",
        "env -i setsid sleep {s} &",
    ],
)
async def test_nothing_that_was_left_in_the_background_outlives_the_command(run, line):
    marker = f"977.{os.getpid()}{abs(hash(line)) % 9999}"
    done, _ = await run(f"{line.format(s=marker)}\nsleep 0.1")
    assert done.exit_code == 0 and alive(marker) == []


async def test_five_hundred_processes_end_with_the_commands_time_out(run):
    marker = f"978.{os.getpid()}"
    line = f"f() {{ if [ $1 -gt 1 ]; then f $(($1 / 2)) & f $(($1 - $1 / 2)) & fi; sleep {marker} & wait; }}; f 250"
    done, _ = await run(line, timeout=1.5)
    assert done.timed_out and alive(marker) == []


async def test_a_command_has_a_bound_on_its_processes(run):
    done, said = await run("ulimit -u")
    assert done.exit_code == 0 and 500 < int(said) < 20_000


async def test_a_command_that_asks_for_a_password_ends_immediately(run):
    done, _ = await run("read x; cat; sudo -k true; ssh -o ConnectTimeout=1 192.0.2.1; read < /dev/tty", timeout=10)
    assert not done.timed_out and done.seconds < 5


async def test_a_folder_that_is_gone_is_reported(sandbox, ws):
    gone = ws / "gone"
    done = await sandbox.run("true", ws, cwd=gone, env=command_env(os.environ), timeout=5)
    assert done.exit_code is None and "does not exist" in str(done.error)


async def test_a_killed_runner_leaves_no_command(sandbox, ws):
    marker = f"979.{os.getpid()}"
    script = (
        "import asyncio, os, sys\nfrom pathlib import Path\n"
        "from rundry.agent.sandbox.sandbox import Sandbox\n"
        "from rundry.agent.sandbox.command_environment import command_env\n"
        "async def main():\n"
        "    ws = Path(sys.argv[2])\n"
        "    sandbox = await Sandbox.detect(kinds=[sys.argv[1]])\n"
        "    await sandbox.run(sys.argv[3], ws, cwd=ws, env=command_env(os.environ), timeout=60)\n"
        "asyncio.run(main())\n"
    )
    line = f"touch up; exec sleep {marker}"
    argv = [sys.executable, "-c", script, str(sandbox.kind), str(ws), line]
    with subprocess.Popen(argv) as runner:
        async with asyncio.timeout(20):
            while not (ws / "up").exists():
                await asyncio.sleep(0.02)
        runner.kill()
    until = time.monotonic() + 5
    while alive(marker):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
