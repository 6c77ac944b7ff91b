"""Landlock in a layer: the command starts in its folder, writes to the layer alone, and nothing of it survives."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from rundry.agent.host.processes.processes import Finished, run_process
from rundry.agent.layers.layer import Layer
from rundry.agent.sandbox import start_command
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.landlock import LEAST, why_no_landlock
from rundry.agent.sandbox.sandbox import Sandbox

from .conftest import NOBODY, SYSTEM_PYTHON, AsUser, Bench

pytestmark = pytest.mark.skipif(bool(why_no_landlock()), reason=f"Landlock {LEAST} is not here")

ENV = {"PATH": "/usr/bin:/bin"}
SURVIVES = """trap "" TERM
(setsid sh -c '(trap "" TERM; exec 3>>made; while :; do sleep 0.1; done) & exit' &)
until [ -e made ]; do sleep 0.05; done"""
CONNECTS = "import socket; socket.create_connection(('127.0.0.1', {}), 5)"
SERVES = """python3 -c "
import socket
server = socket.create_server(('127.0.0.1', 8200))
open('/dev/stdout', 'w').write('up')
server.accept()
" & sleep 1; python3 -c "import socket; socket.create_connection(('127.0.0.1', 8200), 5)" && echo reached"""


def run(sandbox: Sandbox, layer: Layer, script: str, cwd: Path | None = None, **more: object) -> Finished:
    access = Access(layer=replace(layer.access, cwd=cwd or layer.workspace), **more)  # type: ignore[arg-type]
    argv = sandbox.wrap(["sh", "-c", script], layer.workspace, access)
    return asyncio.run(run_process(argv, cwd=Path("/"), env=ENV, timeout=60))


def warm(folder: Path) -> None:
    """Read the tables of the sandbox, which an ordinary user may not read."""
    Sandbox("landlock").wrap(["true"], folder)


def check_confined(bench: Bench) -> None:
    bench.namespaces.make_network()
    if os.geteuid() == NOBODY:
        start_command.INTERPRETER = SYSTEM_PYTHON
    sandbox = Sandbox("landlock")
    ws, outside = bench.ws, bench.folder / "outside"
    (ws / "sub").mkdir()
    outside.mkdir()
    (ws / "kept").write_text("one\n")
    layer = bench.layer()
    done = run(sandbox, layer, f"pwd; echo x > here; echo more >> ../kept; echo x > {outside}/a; exit 7", ws / "sub")
    assert done.exit_code == 7 and done.output.startswith(f"{ws}/sub\n".encode()), done
    layer.seal(5)
    assert [one.path for one in layer.effects()[0]] == ["kept", "sub/here"]
    assert (ws / "kept").read_text() == "one\n" and os.listdir(ws / "sub") == os.listdir(outside) == []
    layer.drop()

    layer = bench.layer()
    done = run(sandbox, layer, f"{SURVIVES}; echo x > $TMPDIR/shared; echo alive")
    assert (done.exit_code, done.output) == (0, b"alive\n"), done
    layer.seal(5)
    assert [one.path for one in layer.effects()[0]] == ["made"] and (sandbox.temp / "shared").exists()
    layer.drop()

    layer = bench.layer()
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = run(sandbox, layer, f'python3 -c "{CONNECTS.format(server.getsockname()[1])}"')
    assert done.exit_code == 1 and b"refused" in done.output, "the machine's loopback is another one"
    done = run(sandbox, layer, SERVES)
    assert done.exit_code == 0 and done.output.endswith(b"reached\n"), done
    done = run(sandbox, layer, "echo x > kept; echo x > new", keeps_workspace=True)
    assert done.exit_code != 0
    layer.seal(5)
    assert layer.effects()[0] == []
    layer.drop()

    layer = bench.layer()
    done = run(sandbox, layer, "echo started > kept", ws / "not-there")
    assert done.exit_code == 126 and b"nothing was run" in done.output
    layer.seal(5)
    assert layer.effects()[0] == []
    layer.drop()


def test_a_command_is_confined_to_its_layer(bench: Bench):
    check_confined(bench)


def test_a_command_of_an_ordinary_user_is_confined_to_its_layer(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_confined(bench)
        bench.close()

    as_user(act, warm)


def test_a_linked_working_tree_shares_its_git_folder_and_nothing_else(bench: Bench):
    main, ws = bench.folder / "main", bench.folder / "linked"
    identity = ["-c", "user.name=u", "-c", "user.email=e"]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    subprocess.run(["git", "-C", str(main), *identity, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run(["git", "-C", str(main), "worktree", "add", "-q", "--detach", str(ws)], check=True)
    bench.ws = ws
    layer = bench.layer()
    script = f"echo x > new && git add new && git {' '.join(identity)} commit -q -m made && echo x > {main}/other"
    done = run(Sandbox("landlock"), layer, script)
    assert done.exit_code == 2 and b"Permission denied" in done.output, done
    layer.seal(5)
    assert "new" in [one.path for one in layer.effects()[0]] and os.listdir(main) == [".git"]
    assert list((layer.uppers[1] / "objects").iterdir()), "git wrote to its own layer"
    layer.drop()


def test_a_workspace_inside_a_repository_shares_only_its_git_folder(bench: Bench):
    top, ws = bench.folder / "top", bench.folder / "top/inner"
    identity = "-c user.name=u -c user.email=e"
    ws.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    bench.ws = ws
    layer = bench.layer()
    script = (
        f"echo x > new && git add new && git {identity} commit -q -m made && git log --format=%s; echo x > ../other"
    )
    done = run(Sandbox("landlock"), layer, script)
    assert done.output.startswith(b"made\n") and b"Permission denied" in done.output, done
    layer.seal(5)
    assert [one.path for one in layer.effects()[0]] == ["new"] and sorted(os.listdir(top)) == [".git", "inner"]
    layer.drop()
