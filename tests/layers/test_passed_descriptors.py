"""A descriptor that a command passed on, or left on its way, changes nothing of what is applied."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rundry.agent.layers.occupied import Occupied

from .conftest import SYSTEM_PYTHON, AsUser, Bench
from .test_apply import carried_out, rows_of
from .test_effects import fill, tree

HOLDER = """import os, socket, sys
place, when = sys.argv[1:]
server = socket.socket(socket.AF_UNIX)
server.bind(place)
server.listen()
print("up", flush=True)
client, _ = server.accept()
held = socket.recv_fds(client, 1, 9)[1] if when == "received" else None
print("held", flush=True)
sys.stdin.readline()
held = held or socket.recv_fds(client, 1, 9)[1]
done = []
for one in held:
    for name, attempt in {
        "write": lambda: os.write(one, b"forged"),
        "write from the start": lambda: os.pwrite(one, b"forged", 0),
        "cut": lambda: os.ftruncate(one, 1),
        "open again": lambda: os.write(os.open(f"/proc/self/fd/{one}", os.O_RDWR), b"forged"),
        "permissions": lambda: os.fchmod(one, 0o777),
        "plant": lambda: os.write(os.open("planted", os.O_CREAT | os.O_RDWR, dir_fd=one), b"x"),
        "overwrite": lambda: os.write(os.open("file", os.O_RDWR, dir_fd=one), b"forged"),
        "rename": lambda: os.rename("file", "renamed", src_dir_fd=one, dst_dir_fd=one),
        "remove": lambda: os.unlink("file", dir_fd=one),
        "folder": lambda: os.mkdir("made", dir_fd=one),
    }.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
print(len(held), *done, flush=True)
sys.stdin.readline()
"""
"""A process outside of the layer. It tries what it can with what it got, when a line tells it to."""
PASS = """python3 -c '
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
for _ in range(2):
    opened = [os.open(name, flags) for name, flags in {names}]
    socket.send_fds(client, [b"x"], opened)
' "{place}"
"""
READ = '(("new", 0), ("new/deep", 0), ("new/file", 0), ("made", 0), ("src/one.txt", 0), ("src", 0))'
WRITE = '(("made", 2),)'
SCRIPT = "mkdir -p new/deep; echo listed > new/file; echo listed > made; echo more >> src/one.txt"


@contextmanager
def holder(bench: Bench, when: str) -> Iterator[subprocess.Popen[str]]:
    python = sys.executable if os.geteuid() == 0 else str(SYSTEM_PYTHON)
    argv = [python, "-c", HOLDER, str(bench.folder / "socket"), when]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "up\n"
        yield running
        running.kill()


def passed(bench: Bench, names: str) -> str:
    return f"{SCRIPT}\n{PASS.format(names=names, place=bench.folder / 'socket')}"


def check_read(bench: Bench, when: str) -> None:
    fill(bench.ws)
    with holder(bench, when) as other:
        assert other.stdin is not None and other.stdout is not None
        layer = bench.layer()
        done = bench.run(layer, passed(bench, READ))
        assert done.returncode == 0, done.stderr
        assert other.stdout.readline() == "held\n"
        layer.seal(5)
        rows = rows_of(layer.effects(reads=lambda _: False)[0])
        assert not any(one.conflict for one in carried_out(bench, layer, rows))
        applied = tree(bench.ws)
        assert applied["new/file"][2] == b"listed\n" and applied["src/one.txt"][2] == b"one\nmore\n"
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "6\n", "nothing that it tried was allowed"
        assert tree(bench.ws) == applied
        layer.drop()
    assert tree(bench.ws) == applied
    (bench.folder / "socket").unlink()


@pytest.mark.parametrize("when", ["received", "on its way"])
def test_what_can_only_be_read_changes_nothing_after_the_apply(bench: Bench, when: str):
    check_read(bench, when)


def test_what_can_only_be_read_changes_nothing_for_an_ordinary_user(as_user: AsUser):
    def act(folder: Path) -> None:
        for when in ("received", "on its way"):
            (folder / when).mkdir()
            bench = Bench(folder / when)
            check_read(bench, when)
            bench.close()

    as_user(act)


@pytest.mark.parametrize("when", ["received", "on its way"])
def test_with_what_can_be_written_the_layer_is_never_listed(bench: Bench, when: str):
    fill(bench.ws)
    before = tree(bench.ws)
    with holder(bench, when) as other:
        assert other.stdout is not None
        layer = bench.layer()
        assert bench.run(layer, passed(bench, WRITE)).returncode == 0
        assert other.stdout.readline() == "held\n"
        with pytest.raises(Occupied, match="open for writing"):
            layer.seal(0.2)
    layer.seal(20)
    assert tree(bench.ws) == before
    layer.drop()
