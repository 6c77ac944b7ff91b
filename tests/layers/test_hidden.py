"""A place for layers inside the workspace: commands see an empty folder there, and cannot get behind it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from rundry.agent.host.processes.processes import run_process
from rundry.agent.layers.fitness import try_workspace
from rundry.agent.layers.layer import Layer
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.sandbox import Sandbox

from .conftest import AsUser, Bench

MOUNTS = """umount .git/rundry 2>/dev/null
unshare -Urm sh -c 'umount -l .git/rundry; ls -A .git/rundry' 2>/dev/null
mount -t tmpfs none .git/rundry 2>/dev/null
"""
WAYS = """ls -A .git/rundry
cat .git/rundry/kept/secret 2>/dev/null
rm -rf .git/rundry 2>/dev/null
mv .git/rundry .git/other 2>/dev/null
echo forged > .git/rundry/forged 2>/dev/null
mkdir .git/rundry/orders 2>/dev/null
ln .git/rundry/kept/secret linked 2>/dev/null
cp -r .git copied; find copied -name secret
echo x > made
"""


def prepared(folder: Path) -> tuple[Path, Path]:
    """Return a repository, and a place in it with something in it."""
    ws = folder / "workspace"
    subprocess.run(["git", "init", "-q", str(ws)], check=True)
    place = ws / ".git/rundry"
    (place / "kept").mkdir(parents=True, mode=0o700)
    place.chmod(0o700)
    (place / "kept/secret").write_text("secret")
    return ws, place


def check_hidden(bench: Bench) -> None:
    ws, place = prepared(bench.folder)
    layer = Layer(place / "layers/one", ws, place).mount(bench.namespaces)
    done = bench.run(layer, MOUNTS * bool(os.geteuid()) + WAYS)  # root is not confined here
    assert done.stdout == "", "nothing of it is seen"
    layer.seal(5)
    names = {one.path for one in layer.effects()[0]}
    assert "made" in names and not [one for one in names if "secret" in one or one.startswith(".git/rundry")]
    assert sorted(path.name for path in place.rglob("*") if "layers" not in path.parts) == ["kept", "secret"]
    layer.drop()


def test_commands_see_an_empty_folder(bench: Bench):
    check_hidden(bench)


def test_commands_of_an_ordinary_user_see_an_empty_folder(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_hidden(bench)
        bench.close()

    as_user(act)


def sandbox_of(kind: str) -> Sandbox:
    found = asyncio.run(Sandbox.detect(kinds=[kind]))
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_sandboxed_commands_see_an_empty_folder(bench: Bench, kind: str):
    ws, place = prepared(bench.folder)
    sandbox = sandbox_of(kind)
    sandbox.layers = place
    layer = Layer(place / "layers/one", ws, place).mount(bench.namespaces)
    argv = sandbox.wrap(["sh", "-c", f"cd {ws} && {{ {MOUNTS}{WAYS}\n}} 2>/dev/null"], ws, Access(layer=layer.access))
    done = asyncio.run(run_process(argv, cwd=Path("/"), env={"PATH": "/usr/bin:/bin"}, timeout=60))
    assert (done.exit_code, done.output) == (0, b""), done
    layer.seal(5)
    assert "made" in {one.path for one in layer.effects()[0]} and (place / "kept/secret").exists()
    layer.drop()


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("keeps", [True, False])
def test_commands_outside_of_layers_do_not_see_it_either(tmp_path: Path, keeps: bool, kind: str):
    ws, place = prepared(tmp_path)
    sandbox = sandbox_of(kind)
    sandbox.layers = place
    script = "ls -A .git/rundry; cat .git/rundry/kept/secret; echo x > .git/rundry/forged; rm -rf .git/rundry; ls .git"
    argv = ["sh", "-c", f"{{ {script}; }} 2>/dev/null"]
    env = {"PATH": "/usr/bin:/bin"}
    done = asyncio.run(sandbox.run(argv, ws, Access(keeps_workspace=keeps), cwd=ws, env=env, timeout=60))
    assert b"secret" not in done.output and b"kept" not in done.output and b"HEAD" in done.output
    assert sorted(os.listdir(place)) == ["kept"]


def test_a_workspace_whose_git_folder_is_the_place_is_fit(bench: Bench):
    ws, _ = prepared(bench.folder)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        found = try_workspace(ws, Path(elsewhere), bench.namespaces)
    assert found.place == ws / ".git/rundry" and found.is_inside and not found.stacks, found
    assert os.listdir(ws / ".git/rundry") == ["kept"]
