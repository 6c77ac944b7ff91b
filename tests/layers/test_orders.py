"""An order is carried out whole, whoever is killed meanwhile, and once."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rundry.agent.layers.applier import Applier
from rundry.agent.layers.apply import CHANGED
from rundry.agent.layers.effect_rows import EffectRow, decode_rows, encode_rows, new_name
from rundry.agent.layers.git.git_rows import GitChanges, RefRow
from rundry.agent.layers.layer import Layer
from rundry.agent.layers.layer_effects import Side
from rundry.agent.layers.orders import GIT, Order, Orders, is_held

from .conftest import Bench
from .gitting import sh
from .test_apply import contents, rows_of
from .test_effects import fill

SCRIPT = """rm -rf docs; echo now > docs; rm run.sh; mkdir -p run.sh/a; echo b > run.sh/a/b; rm -rf src/deep
    ln -s docs src/deep; echo x >> src/one.txt; chmod +x src/one.txt; mkdir -p new/er; echo 1 > new/er/1
    echo 2 > new/er/2"""


def order_of(bench: Bench, layer: Layer, rows: list[EffectRow]) -> Order:
    """Return an order whose small contents it holds itself, and whose others lie in the layer."""
    with layer.written() as written:
        held = {row.path: written.load(row.path, row.after) for row in rows if row.after and is_held(row.after)}
    return Order(workspace=bench.ws, rows=rows, written=layer.upper, contents=held)


def direct(bench: Bench, script: str) -> dict[str, tuple[object, ...]]:
    """Return what the command makes of a copy of the workspace."""
    copy = bench.folder / "direct"
    shutil.copytree(bench.ws, copy, symlinks=True)
    subprocess.run(["sh", "-c", script], cwd=copy, check=True)
    return contents(copy)


def ordered(bench: Bench, script: str = SCRIPT) -> tuple[Orders, str]:
    layer = bench.layer()
    assert bench.run(layer, script).returncode == 0
    orders = Orders(bench.folder / "base")
    rows = rows_of(layer.effects(reads=lambda path: not path.startswith("new"))[0])
    orders.give(name := new_name(), order_of(bench, layer, rows))
    return orders, name


def test_the_applier_carries_an_order_out_once(bench: Bench):
    fill(bench.ws)
    expected = direct(bench, SCRIPT)
    orders, name = ordered(bench)
    applier = Applier(bench.folder / "base")
    results = applier.carry_out(name)
    assert results and not any(one.conflict for one in results), results
    assert contents(bench.ws) == expected
    (bench.ws / "docs").write_text("mine")
    assert applier.carry_out(name) == results, "it is done: what came after stays"
    assert (bench.ws / "docs").read_text() == "mine"
    applier.close()
    assert orders.names() == [name]
    orders.forget(name)
    assert not orders.names()


@pytest.mark.parametrize("is_undo", [False, True])
def test_a_file_in_conflict_holds_back_what_concerns_git_but_not_at_an_undo(tmp_path: Path, is_undo: bool):
    work = tmp_path / "work"
    work.mkdir()
    sh(work, "git init -q; echo mine > a; git add a; git commit -qm first; git tag v1")
    old, new = (Side(type="file", digest=hashlib.sha256(data).hexdigest(), size=4) for data in (b"old\n", b"new\n"))
    tag = RefRow(name="refs/tags/v1", before=sh(work, "git rev-parse v1").strip(), after="")
    order = Order(
        workspace=work,
        rows=[EffectRow(path="a", before=old, after=new)],
        contents={"a": b"new\n"},
        git=[GitChanges(common=os.fsencode(work / ".git"), rows=(tag,))],
        is_undo=is_undo,
    )
    orders = Orders(tmp_path / "base")
    orders.give(name := new_name(), order)
    file, ref = orders.carry_out(name)
    assert (file.conflict, ref.path) == (CHANGED, f"{GIT}refs/tags/v1") and (work / "a").read_text() == "mine\n"
    assert ref.conflict == ("" if is_undo else "held back, because a file changed meanwhile")
    assert sh(work, "git tag").split() == ([] if is_undo else ["v1"])


def test_rows_of_names_that_are_not_text_are_stored(tmp_path: Path):
    names = [os.fsdecode(name) for name in (b"\xff\n'", b"plain", "ä".encode())]
    rows = [EffectRow(path=name, before=None, after=None) for name in names]
    assert decode_rows(encode_rows(rows)) == rows
    del tmp_path


RUNNER = """
import os, signal, sys, threading, time
from pathlib import Path
from rundry.agent.layers.applier import Applier
applier = Applier(Path(sys.argv[1]))
applier.start()
threading.Thread(target=applier.carry_out, args=(sys.argv[2],), daemon=True).start()
own = Path(sys.argv[1]) / "orders" / sys.argv[2]
while not (own / "leftovers.leftovers").exists() and not (own / "done").exists():
    time.sleep(0.001)
os.kill(0 if sys.argv[3] == "group" else os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("killed", ["process", "group"])
def test_the_kill_of_the_runner_leaves_a_whole_apply(bench: Bench, killed: str):
    fill(bench.ws)
    script = f"{SCRIPT}; mkdir many; for i in $(seq 300); do echo $i > many/$i; done; echo last > zz"
    expected = direct(bench, script)
    orders, name = ordered(bench, script)
    runner = subprocess.run(
        [sys.executable, "-c", RUNNER, str(bench.folder / "base"), name, killed], start_new_session=True, check=False
    )
    assert runner.returncode == -signal.SIGKILL
    until = time.monotonic() + 60
    while orders.outcome(name) is None and time.monotonic() < until:
        time.sleep(0.02)
    assert contents(bench.ws) == expected


CUT = """
import sys
from pathlib import Path
from rundry.agent.layers.orders import Orders
Orders(Path(sys.argv[1])).carry_out(sys.argv[2])
"""


def test_an_order_that_was_cut_at_any_step_is_finished_by_the_next_process(bench: Bench):
    fill(bench.ws)
    expected = direct(bench, SCRIPT)
    start = bench.folder / "start"
    shutil.copytree(bench.ws, start, symlinks=True)
    reached = 0
    for at in range(1, 400, 2):
        shutil.rmtree(bench.ws)
        shutil.copytree(start, bench.ws, symlinks=True)
        orders, name = ordered(bench)
        argv = [sys.executable, "-c", CUT, str(bench.folder / "base"), name]
        done = subprocess.run(argv, env={**os.environ, "RUNDRY_CRASH_AT": str(at)}, check=False)
        results = orders.carry_out(name)
        assert not any(one.conflict for one in results), (at, results)
        assert contents(bench.ws) == expected, at
        if done.returncode == 0:
            break
        reached += 1
        assert done.returncode == -signal.SIGKILL
    assert reached > 20


def test_what_the_user_brings_back_after_a_kill_in_an_apply_stays_and_is_a_conflict(bench: Bench):
    fill(bench.ws)
    old, start, log = contents(bench.ws), bench.folder / "start", bench.folder / "log"
    shutil.copytree(bench.ws, start, symlinks=True)

    def cut(at: int) -> tuple[Orders, str]:
        orders, name = ordered(bench)
        argv = [sys.executable, "-c", CUT, str(bench.folder / "base"), name]
        log.unlink(missing_ok=True)
        more = {"RUNDRY_CRASH_AT": str(at), "RUNDRY_CRASH_LOG": str(log)}
        subprocess.run(argv, env={**os.environ, **more}, check=False)
        return orders, name

    def bring_back() -> None:
        shutil.rmtree(bench.ws)
        shutil.copytree(start, bench.ws, symlinks=True)

    cut(0)
    points = [at for at, name in enumerate(log.read_text().splitlines(), 1) if name == "apply: row"]
    brought = set[str]()
    for at in points:
        bring_back()
        orders, name = cut(at)
        seen = contents(bench.ws)
        # A new folder comes again for what the order still has to make in it.
        folders = {path for path in seen if path not in old and (bench.ws / path).is_dir()}
        paths = {path for path in {*seen, *old} if seen.get(path) != old.get(path)} - folders
        bring_back()
        results = orders.carry_out(name)
        now = contents(bench.ws)
        assert {path: now.get(path) for path in paths} == {path: old.get(path) for path in paths}, at
        assert {one.path for one in results if one.conflict} >= paths, (at, results)
        brought |= paths
    assert {"docs", "docs/link", "run.sh", "src/one.txt", "src/deep/two.txt", "new/er/1"} <= brought


def test_two_processes_carry_the_same_order_out_one_after_the_other(bench: Bench):
    fill(bench.ws)
    expected = direct(bench, SCRIPT)
    orders, name = ordered(bench)
    found = list[object]()
    appliers = [Applier(bench.folder / "base") for _ in range(3)]
    threads = [threading.Thread(target=lambda one=one: found.append(one.carry_out(name))) for one in appliers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in appliers:
        one.close()
    assert len(found) == 3 and found[0] == found[1] == found[2] == orders.outcome(name)
    assert contents(bench.ws) == expected


HOLDER = """
import sys, time
from pathlib import Path
from rundry.agent.layers.orders import Orders
with Orders(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(100)
"""


def test_no_order_is_carried_out_while_another_process_applies_and_a_kill_of_that_one_lets_it_begin(bench: Bench):
    fill(bench.ws)
    expected = direct(bench, SCRIPT)
    orders, name = ordered(bench)
    other = subprocess.Popen([sys.executable, "-c", HOLDER, str(bench.folder / "base")], stdout=subprocess.PIPE)
    waiting = threading.Thread(target=orders.carry_out, args=(name,))
    try:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive() and orders.outcome(name) is None
    finally:
        other.kill()
        other.communicate()
    waiting.join()
    assert contents(bench.ws) == expected
