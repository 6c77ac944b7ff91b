"""Files that appear and disappear while sandboxes start."""

import asyncio
import itertools
import os
import socket
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.visible_folders import visible_folder

from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.sandbox import Sandbox

COMMANDS = 24


@pytest.fixture
def outside(pytestconfig):
    """A folder that commands see, and that is neither the workspace nor a temp folder."""
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        yield Path(folder)


@contextmanager
def repeated(make, remove):
    """Make and remove something again and again in a thread."""
    ended = threading.Event()

    def work():
        for number in itertools.count():
            made = make(number)
            remove(number, made)
            if ended.is_set():
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def results(sandbox: Sandbox, ws: Path, access: Access = Access()) -> list[tuple[int | None, bytes]]:  # noqa: B008
    env = command_env(os.environ)
    runs = []
    for _ in range(COMMANDS // 2):
        pair = (sandbox.run("echo done", ws, access, cwd=ws, env=env, timeout=100) for _ in range(2))
        runs += [(done.exit_code, done.output) for done in await asyncio.gather(*pair)]
    return runs


async def detected(**more) -> Sandbox:
    found = await Sandbox.detect(kinds=["bubblewrap"], **more)
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def test_sockets_that_disappear_while_sandboxes_start_fail_no_command(outside, tmp_path):
    (outside / "file").write_text("not only sockets are here")
    (outside / "only").mkdir()

    def make(number):
        servers = []
        for folder in (outside, outside / "only", tmp_path):
            servers.append(socket.socket(socket.AF_UNIX))
            servers[-1].bind(str(folder / f"s{number}"))
            servers[-1].listen()
        return servers

    def remove(number, servers):
        for server, folder in zip(servers, (outside, outside / "only", tmp_path), strict=True):
            server.close()
            (folder / f"s{number}").unlink()

    sandbox = await detected()
    with repeated(make, remove):
        assert set(await results(sandbox, tmp_path)) == {(0, b"done\n")}


def change(place: Path):
    """Return functions that put a file there and remove it. It is written elsewhere, as by git."""
    new = place.parent.with_suffix(".new")

    def make(_):
        new.write_text("x")
        new.rename(place)

    return make, lambda *_: place.unlink()


@pytest.mark.parametrize("name", [".envrc", "guarded.py", "denied"])
async def test_files_of_the_workspace_that_disappear_meanwhile_fail_no_command(tmp_path, name):
    place = tmp_path / name
    rules = HideRules(denied=lambda _: [name] if name == "denied" and place.exists() else [])
    access = Access(read_only=[place] if name == "guarded.py" else [])
    sandbox = await detected(hide_rules=rules)
    with repeated(*change(place)):
        found = set(await results(sandbox, tmp_path, access))
    # what git or a tool runs is named if it was there at one end of the command alone
    assert {(code, output.partition(b"\n")[0]) for code, output in found} == {(0, b"done")}, found
    assert list(tmp_path.iterdir()) == [], "a mount point of the sandbox is left"


async def test_hidden_files_and_folders_that_disappear_meanwhile_fail_no_command(outside, tmp_path):
    file, folder = outside / "token", outside / "keys"
    sandbox = await detected(hide_rules=HideRules(hide=(file, folder)))

    def make(_):
        file.write_text("x")
        folder.mkdir()

    def remove(*_):
        file.unlink()
        folder.rmdir()

    with repeated(make, remove):
        assert set(await results(sandbox, tmp_path)) == {(0, b"done\n")}


async def test_a_command_that_prints_what_a_failed_sandbox_prints_runs_once(tmp_path):
    sandbox = await detected()
    line = 'echo x >> ran; echo "bwrap: Can\'t mkdir parents for /x: Read-only file system" >&2; exit 1'
    done = await sandbox.run(line, tmp_path, cwd=tmp_path, env=command_env(os.environ), timeout=100)
    assert done.exit_code == 1 and (tmp_path / "ran").read_text() == "x\n"


async def test_a_sandbox_that_can_never_be_set_up_says_why(tmp_path):
    sandbox = await detected()
    ws = tmp_path / "gone"
    said = []
    done = await sandbox.run(
        "echo x", ws, cwd=tmp_path, env=command_env(os.environ), timeout=100, on_output=said.append
    )
    assert done.exit_code == 1 and b"gone" in done.output and b"".join(said) == done.output


async def test_a_server_is_started_again_if_what_its_sandbox_mounts_disappears(outside, tmp_path):
    file = outside / "token"
    sandbox = await detected(hide_rules=HideRules(hide=(file,)))
    with repeated(*change(file)):
        for _ in range(COMMANDS):
            starts = 0
            for set_up in sandbox.starts():
                starts += 1
                argv = sandbox.wrap(["echo", "done"], tmp_path, report=set_up.descriptor)
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    cwd=tmp_path,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    pass_fds=set_up.descriptors,
                )
                is_set_up = await set_up.wait()
                said, _ = await process.communicate()
                assert said == (b"done\n" if is_set_up else b"")
                if is_set_up:
                    break
            assert said == b"done\n", starts
