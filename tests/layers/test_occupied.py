"""What a layer holds is final before it is listed, whatever its processes left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.layers.layer import Layer, wait_for_end
from rundry.agent.layers.namespaces import Cover, Namespaces, NamespacesRefused
from rundry.agent.layers.occupied import Occupied, wait_until_free

from .conftest import SYSTEM_PYTHON, Bench

INSIDE = ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--cap-drop", "ALL"]


def is_writable(layer: Layer) -> bool:
    try:
        os.close(os.open("written-later", os.O_WRONLY | os.O_CREAT, dir_fd=layer.root))
    except OSError as error:
        assert error.errno == errno.EROFS
        return False
    return True


MAPPED = """import mmap, os, time
opened = os.open("old", os.O_RDWR)
mapped = mmap.mmap(opened, 4)
os.close(opened)
print("up", flush=True)
time.sleep(100)"""
ON_ITS_WAY = """import os, socket, time
opened = os.open("made", os.O_RDWR | os.O_CREAT)
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [opened])
os.close(opened)
print("up", flush=True)
time.sleep(100)"""
DEAF = """trap "" TERM INT HUP
(setsid sh -c '(trap "" TERM; exec 3>>made; echo up; exec sleep 100) & exit' &)
sleep 100"""
NESTED = """exec bwrap --dev-bind / / --unshare-user --unshare-pid --proc /proc sh -c '
exec 3>>made; echo up; exec sleep 100'"""
HELD = {
    "a file open for writing": "exec 3>>made; echo up; exec sleep 100",
    "a file of the workspace open for writing": "exec 3>>old; echo up; exec sleep 100",
    "a session of its own, twice forked, deaf to signals": DEAF,
    "only a mapping": f"exec python3 -c '{MAPPED}'",
    "only a descriptor on its way in a socket": f"exec python3 -c '{ON_ITS_WAY}'",
    "a deleted file, open for reading": "echo x > gone; exec 3<gone; rm gone; echo up; exec sleep 100",
}
"""What a process does, by what it holds. It continues until it is killed."""


def check_held(bench: Bench, script: str) -> None:
    (bench.ws / "old").write_text("old\n")
    layer = bench.layer()
    argv = [*layer.words, *INSIDE, "sh", "-c", f'cd "$1"; {script}', "sh", str(bench.ws)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout is not None and running.stdout.readline() == b"up\n"
        with pytest.raises(Occupied, match="open for writing"):
            layer.seal(0.05)
        assert is_writable(layer)
        os.killpg(running.pid, signal.SIGKILL)
    layer.seal(20)
    assert not is_writable(layer)
    assert (bench.ws / "old").read_text() == "old\n"
    assert layer.effects()[0], "it can still be listed"
    layer.drop()
    assert not layer.folder.exists()


@pytest.mark.parametrize("script", HELD.values(), ids=HELD)
def test_a_layer_is_sealed_only_when_nobody_can_write_in_it_any_more(bench: Bench, script: str):
    check_held(bench, script)


def test_a_layer_of_an_ordinary_user_is_sealed_in_the_same_way(as_user: Callable[[Callable[[Path], None]], None]):
    def act(folder: Path) -> None:
        for number, script in enumerate([*HELD.values(), NESTED]):  # root without capabilities cannot nest
            own = folder / str(number)
            own.mkdir()
            bench = Bench(own)
            check_held(bench, script)
            bench.close()

    as_user(act)


def check_free(bench: Bench) -> None:
    layer = bench.layer()
    argv = [*layer.words, *INSIDE, "sh", "-c", 'cd "$1"; echo x > made; echo up; exec sleep 100', "sh", str(bench.ws)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout is not None and running.stdout.readline() == b"up\n"
        layer.unmount()
        for _ in range(2):
            with pytest.raises(Occupied, match="still runs"):
                wait_until_free(bench.namespaces, layer.folder, "u", "w", 0.05)
        os.killpg(running.pid, signal.SIGKILL)
    wait_until_free(bench.namespaces, layer.folder, "u", "w", 20)
    wait_until_free(bench.namespaces, layer.folder, "u", "w", 0)
    assert sorted(os.listdir(layer.folder)) == ["s", "stamp", "u", "w"] and os.listdir(layer.folder / "u") == ["made"]
    held = os.dup(bench.layer().root)
    last = bench.folder / "layer-2"
    with pytest.raises(Occupied, match="has a file of it open"):
        wait_until_free(bench.namespaces, last, "u", "w", 0.05)
    os.close(held)


def test_a_layer_whose_runner_let_go_is_free_when_its_last_process_has_ended(bench: Bench):
    check_free(bench)


def test_a_layer_of_an_ordinary_user_is_free_when_its_last_process_has_ended(
    as_user: Callable[[Callable[[Path], None]], None],
):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_free(bench)
        bench.close()

    as_user(act)


def test_a_layer_with_a_git_folder_elsewhere_is_free_when_both_are(bench: Bench):
    subprocess.run(["git", "init", "-q", str(bench.folder)], check=True)
    layer = bench.layer()
    assert layer.places[1:] == [bench.folder / ".git"]
    script = 'exec 3<"$1"; echo up; exec sleep 100'
    argv = [*layer.words, *INSIDE, "sh", "-c", script, "sh", str(bench.folder / ".git/HEAD")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout is not None and running.stdout.readline() == b"up\n"
        layer.unmount()
        with pytest.raises(Occupied):
            wait_for_end(layer.folder, bench.namespaces, 0.05)
        os.killpg(running.pid, signal.SIGKILL)
    wait_for_end(layer.folder, bench.namespaces, 20)


def test_a_late_answer_is_never_taken_for_the_answer_to_the_next_question(tmp_path: Path):
    python = SYSTEM_PYTHON if os.geteuid() else None
    try:
        namespaces = Namespaces(python, seconds=0.3)
    except NamespacesRefused as refused:
        pytest.skip(f"no layers here: {refused}")
    stopped = namespaces.pid
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(NamespacesRefused, match="did not answer"):
        namespaces.mount(tmp_path, [Cover(tmp_path, ["missing"], "u", "w")])
    with pytest.raises(NamespacesRefused, match="not used any more: it did not answer"):
        namespaces.make_network()
    assert namespaces.words[-1] == "--", "what was made before still works"
    with pytest.raises(ProcessLookupError):
        os.kill(stopped, 0)
    before = set(os.listdir("/proc/self/fd"))
    namespaces.close()
    assert set(os.listdir("/proc/self/fd")) <= before
