"""No way around a layer: unmounting, remounting, new namespaces and the first process lead to nothing outside of it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from rundry.agent.host.processes.processes import run_process
from rundry.agent.sandbox import start_command
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.landlock import why_no_landlock
from rundry.agent.sandbox.sandbox import Sandbox, find_bubblewrap

from .conftest import NOBODY, SYSTEM_PYTHON, AsUser, Bench

WAYS = """cd {ws}
try() {{ echo x > {ws}/escaped-$1; echo x > {outside}/escaped-$1; }}
umount -l {ws}; umount -l .; try unmounted
mount -o remount,rw {ws}; mount -o remount,bind,rw /; try remounted
mount --bind {folder} {ws}; mount -t tmpfs none {ws}; try covered
for flags in -Urm -Um -rm '-Urm --map-root-user' '-Urpm --fork --mount-proc'; do
  unshare $flags sh -c "umount -l {ws}; mount --make-rprivate /; umount -R {ws}; mount -o remount,rw {folder}
    echo x > {ws}/escaped-in; echo x > {outside}/escaped-in; ls {layers}"
done
for pid in 1 $PPID; do
  nsenter -t $pid -m sh -c 'echo x > {ws}/escaped-entered; echo x > {outside}/escaped-entered'
  echo x > /proc/$pid/root{ws}/escaped-root; echo x > /proc/$pid/root{outside}/escaped-root
  echo x > /proc/$pid/cwd/escaped-cwd
done
for fd in /proc/self/fd/*; do echo x > $fd/escaped-fd; echo x > $fd/../escaped-fd; done
echo x > {layers}/escaped; mkdir -p {upper}; echo x > {upper}/escaped
chroot {folder} sh -c 'echo x > workspace/escaped-chroot'
mknod {ws}/disk b 254 0; echo done > {ws}/made
"""


def check(bench: Bench, kind: str) -> None:
    if os.geteuid() == NOBODY:
        start_command.INTERPRETER = SYSTEM_PYTHON
    bench.namespaces.make_network()
    outside = bench.folder / "outside"
    outside.mkdir(exist_ok=True)
    (bench.ws / "kept").write_text("kept")
    layer = bench.layer()
    before = names(layer.folder)
    script = WAYS.format(
        ws=bench.ws, outside=outside, folder=bench.folder, layers=layer.folder.parent, upper=layer.upper
    )
    sandbox = Sandbox(kind, program=find_bubblewrap(bench.ws) if kind == "bubblewrap" else None)
    argv = sandbox.wrap(["sh", "-c", f"{{ {script}\n}} 2>/dev/null"], bench.ws, Access(layer=layer.access))
    done = asyncio.run(run_process(argv, cwd=Path("/"), env={"PATH": "/usr/sbin:/usr/bin:/bin"}, timeout=60))
    assert done.exit_code == 0, done
    assert sorted(os.listdir(bench.ws)) == ["kept"] and os.listdir(outside) == []
    layer.seal(10)
    assert "made" in {one.path for one in layer.effects()[0]}, "the script ran to its end"
    assert names(layer.folder) == before
    assert sorted(path.name for path in bench.folder.iterdir() if path.name.startswith("escaped")) == []
    layer.drop()


def names(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name not in ("stamp",)}


def kinds() -> list[str]:
    return [
        *(["bubblewrap"] if find_bubblewrap(None) is not None else []),
        *([] if why_no_landlock() else ["landlock"]),
    ]


@pytest.mark.parametrize("kind", kinds())
def test_a_command_does_not_get_around_its_layer(bench: Bench, kind: str):
    check(bench, kind)


@pytest.mark.parametrize("kind", kinds())
def test_a_command_of_an_ordinary_user_does_not_get_around_its_layer(as_user: AsUser, kind: str):
    def warm(folder: Path) -> None:
        Sandbox(kind, program=find_bubblewrap(folder) if kind == "bubblewrap" else None).wrap(["true"], folder)

    def act(folder: Path) -> None:
        bench = Bench(folder)
        check(bench, kind)
        bench.close()

    as_user(act, warm)
