import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fakes.in_place import in_place

from rundry.agent.host.processes.processes import run_process
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox


@pytest.fixture
async def sandbox():
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


@pytest.fixture
def run(sandbox, tmp_path):
    async def run(line: str, **options):
        env = command_env(os.environ)
        done = await sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=options.pop("timeout", 20), **options)
        return done.exit_code, done.output.decode()

    return run


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    return tmp_path / ".git"


async def test_a_command_writes_in_the_workspace_and_the_temp_folder_and_nowhere_else(run, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    assert await run("echo in > here && cat here && echo t > /tmp/t && cat $TMPDIR/t") == (0, "in\nt\n")
    assert (tmp_path / "here").read_text() == "in\n"
    assert not Path("/tmp/t").exists()
    home = pwd.getpwuid(os.getuid()).pw_dir
    for place in ("/etc/rundry-x", "/usr/rundry-x", f"{home}/rundry-x"):
        code, said = await run(f"touch {place}")
        assert code != 0 and "Read-only" in said
    await run(f"mkdir -p {outside}; touch {outside}/x")
    assert list(outside.iterdir()) == []


async def test_the_temp_folder_lasts_from_one_command_to_the_next(run):
    assert (await run("echo kept > /tmp/t"))[0] == 0
    assert await run("cat /tmp/t") == (0, "kept\n")


async def test_a_link_out_made_by_the_command_leads_nowhere(run, tmp_path):
    target = tmp_path.parent / f"{tmp_path.name}-target"
    target.write_text("old")
    await run(f"ln -s {target} l; echo new > l")
    assert target.read_text() == "old"


async def test_there_is_no_network_unless_it_is_asked_for(run):
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        assert (await run(line))[0] != 0
        assert (await run(line, access=Access(network=True)))[0] == 0
    finally:
        server.close()
        await server.wait_closed()


async def test_a_config_that_a_command_makes_stays_and_is_named(sandbox, tmp_path):
    with in_place(sandbox, tmp_path) as place:
        assert (await place.run("ls -A")).named == {}
        for line in ("echo x > .rundry.toml", "echo x > y; mv -f y .rundry.toml", "ln -s /etc/passwd .rundry.toml"):
            done, named, _ = await place.run(line)
            assert done.exit_code == 0 and named.keys() == {".rundry.toml"}
            assert [path.name for path in tmp_path.iterdir()] == [".rundry.toml"]
            (tmp_path / ".rundry.toml").unlink()
        done, named, _ = await place.run("echo x > .rundry.toml; sleep 60", timeout=0.3)
    assert done.timed_out and named.keys() == {".rundry.toml"} and (tmp_path / ".rundry.toml").read_text() == "x\n"


async def test_a_config_that_is_there_cannot_be_changed(run, tmp_path):
    (tmp_path / ".rundry.toml").write_text("mine")
    assert (await run("echo x > .rundry.toml"))[0] != 0
    assert (await run("mv .rundry.toml z"))[0] != 0
    assert (tmp_path / ".rundry.toml").read_text() == "mine"


@pytest.mark.parametrize("hooks", ["there", "missing"])
async def test_gits_hooks_and_config_cannot_be_changed_and_git_still_commits(run, tmp_path, repository, hooks):
    if hooks == "missing":
        for path in repository.joinpath("hooks").iterdir():
            path.unlink()
        repository.joinpath("hooks").rmdir()
    config = repository.joinpath("config").read_bytes()
    lines = (
        "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./x",
        "mv .git other && cp -r other .git && echo x >> .git/config",
        "rm -rf .git/hooks && mkdir .git/hooks",
    )
    for line in lines:
        assert (await run(line))[0] != 0, line
    assert repository.joinpath("config").read_bytes() == config
    assert not repository.joinpath("hooks/pre-commit").exists()
    code, said = await run("touch f; git add f && git -c user.name=a -c user.email=b commit -qm x && git log --oneline")
    assert code == 0 and said.endswith("x\n")


async def test_processes_outside_are_not_seen_and_none_survives(run, tmp_path):
    code, said = await run("cat /proc/1/comm; ls /proc | grep -c '^[0-9]'; setsid sleep 271 & echo end")
    assert code == 0 and said.splitlines()[0] == "bwrap" and int(said.splitlines()[1]) < 10
    left = await run_process(["pgrep", "-fx", "sleep 271"], cwd=tmp_path, env=command_env(os.environ), timeout=5)
    assert left.output == b""


async def test_a_time_out_ends_the_sandbox_with_all_in_it(sandbox, tmp_path):
    env = command_env(os.environ)
    line = "setsid sleep 272 & sleep 272"
    done = await sandbox.run(line, tmp_path, cwd=tmp_path, env=env, timeout=0.3)
    assert done.timed_out
    left = await run_process(["pgrep", "-fx", "sleep 272"], cwd=tmp_path, env=env, timeout=5)
    assert left.output == b""


def zombies():
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == os.getpid():
            found.append(int(stat.parent.name))
    return found


async def test_a_long_run_of_commands_leaves_no_dead_process_behind(run):
    before = set(zombies())
    for _ in range(10):
        assert (await run("true"))[0] == 0
    assert len(set(zombies()) - before) <= 1  # of the last one, it may not have been seen yet


OWNER = """
import asyncio, sys, time
from pathlib import Path
from rundry.agent.sandbox.sandbox import Sandbox
sandbox = asyncio.run(Sandbox.detect())
words = sandbox.wrap(["true"], Path(sys.argv[1]))
print(words[words.index("/tmp") - 1], flush=True)
time.sleep(60)
"""


async def test_temp_folders_of_killed_runners_are_swept_and_no_others(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    argv = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as lives:
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as dies:
            kept, left = (Path(each.stdout.readline().strip()).parent for each in (lives, dies))
            dies.kill()
        (left / "tmp" / "big").write_text("x")
        theirs = [tmp_path / name for name in ("rundry-commands-other", "rundry-demo-1")]
        for path in theirs:
            path.mkdir()
        assert left.parent == tmp_path and left.exists()
        await Sandbox.detect()
        assert not left.exists() and kept.exists() and all(path.exists() for path in theirs)
        lives.terminate()


async def test_a_hidden_folder_cannot_even_be_read(tmp_path):
    runs, ws = tmp_path / "runs", tmp_path / "w"
    runs.mkdir()
    ws.mkdir()
    (runs / "journal").write_text("secret")
    sandbox = await Sandbox.detect(hide=[runs])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    done = await sandbox.run(f"cat {runs}/journal", ws, cwd=ws, env=command_env(os.environ), timeout=5)
    assert done.exit_code != 0 and b"secret" not in done.output


async def test_without_a_sandbox_commands_run_as_they_are(tmp_path):
    sandbox = Sandbox()
    assert sandbox.kind is None and sandbox.network and sandbox.not_held
    assert sandbox.wrap(["x", "y"], tmp_path) == ["x", "y"]
    done = await sandbox.run("echo hi > f; cat f", tmp_path, cwd=tmp_path, env=command_env(os.environ), timeout=5)
    assert done.output == b"hi\n" and [path.name for path in tmp_path.iterdir()] == ["f"]


async def test_without_bubblewrap_the_next_way_is_taken_and_it_is_reported_why(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    only = await Sandbox.detect(kinds=["bubblewrap"])
    assert only.kind is None and "bubblewrap is not installed" in only.why_none
    both = await Sandbox.detect()
    assert both.kind in ("landlock", None) and "bubblewrap is not installed" in both.why_none


@pytest.mark.parametrize("said", ["No permissions to create new namespace", "setting up uid map: Permission denied"])
async def test_a_bubblewrap_that_does_not_work_is_not_taken_and_its_own_words_are_given(tmp_path, monkeypatch, said):
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho 'bwrap: {said}' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert said in (await Sandbox.detect(kinds=["bubblewrap"])).why_none
    both = await Sandbox.detect()
    assert both.kind != "bubblewrap" and said in both.why_none


SLOW = """#!/bin/sh
[ -e {flag} ] || {{ touch {flag}; exec sleep 300; }}
exec {real} "$@"
"""


@pytest.mark.parametrize("recovers", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_a_sandbox_that_does_not_answer_on_a_busy_machine_is_tried_again_and_a_note_says_so(
    tmp_path, monkeypatch, recovers
):
    real = shutil.which("bwrap")
    if real is None or (await Sandbox.detect(kinds=["bubblewrap"])).kind is None:
        pytest.skip("bubblewrap does not work here")
    flag, fake = tmp_path / "flag", tmp_path / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text(SLOW.format(flag=flag if recovers else tmp_path / "no/flag", real=real))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    found = await Sandbox.detect()
    if recovers:
        assert found.kind == "bubblewrap"
        assert found.notes == ["bubblewrap was tried again, because it did not answer in 5 s"]
    else:
        why = "bubblewrap is installed but did not answer in 5 s, 15 s, 40 s"
        assert found.kind != "bubblewrap" and why in found.why_none
        assert found.kind is None or found.notes == [f"{found.kind} is used: {why}"]


async def test_a_bubblewrap_below_the_workspace_or_of_a_relative_path_is_not_run(tmp_path, monkeypatch):
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    (tmp_path / "link").symlink_to(fake.parent)
    monkeypatch.chdir(tmp_path)
    usual = os.environ["PATH"]
    for entry in (str(fake.parent), "bin", "", str(tmp_path / "link")):
        monkeypatch.setenv("PATH", f"{entry}:{usual}")
        await Sandbox.detect(workspace=tmp_path)
        assert not (tmp_path / "ran").exists(), entry


SERVER = "python3 -m http.server 18923 --bind 127.0.0.1"
ASK = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:18923/\").status)'"
CONNECTS = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 18923))' 2>/dev/null"
WAIT = f"until {CONNECTS}; do sleep 0.1; done"


async def test_a_check_reaches_the_server_that_another_command_started(tmp_path):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None or sandbox.why_no_loopback:
        pytest.skip(sandbox.why_none or sandbox.why_no_loopback)
    env = command_env(os.environ)
    server = asyncio.create_task(sandbox.run(SERVER, tmp_path, cwd=tmp_path, env=env, timeout=60))
    try:
        done = await sandbox.run(f"{WAIT}; {ASK}", tmp_path, cwd=tmp_path, env=env, timeout=30)
        assert done.output.strip() == b"200"
        another = await Sandbox.detect(kinds=["bubblewrap"])
        apart = await another.run(ASK, tmp_path, cwd=tmp_path, env=env, timeout=30)
        assert apart.exit_code != 0, "each run has a network of its own"
    finally:
        server.cancel()
        await asyncio.wait([server])


async def test_the_loopback_of_a_run_is_not_this_machines(tmp_path):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        line = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'"
        done = await sandbox.run(line, tmp_path, cwd=tmp_path, env=command_env(os.environ), timeout=30)
    assert b"refused" in done.output
