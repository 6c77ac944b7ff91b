"""What an apply displaces is kept where it is asked for, at no copy, and given back by an undo."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rundry.agent.layers.displaced_files import MOST_BYTES, MOST_SECONDS, Kept
from rundry.agent.layers.effect_rows import EffectRow, new_name
from rundry.agent.layers.layer_effects import Side
from rundry.agent.layers.orders import Order, Orders

from .conftest import Bench
from .test_apply import contents, rows_of
from .test_orders import CUT, order_of

SIZE = 1_600_000
SCRIPT = "head -c 2000000 /dev/zero > changed; rm gone; echo small > became; rm -r tree; echo x > tree"


def filled(bench: Bench) -> dict[str, str]:
    """Fill the workspace with large files, and return their digests by path."""
    (bench.ws / "tree").mkdir()
    found = dict[str, str]()
    for name in ("changed", "gone", "became", "tree/in"):
        data = os.urandom(SIZE)
        (bench.ws / name).write_bytes(data)
        found[name] = hashlib.sha256(data).hexdigest()
    return found


def given(bench: Bench, keep: frozenset[str]) -> tuple[Orders, str, list[EffectRow]]:
    layer = bench.layer()
    assert bench.run(layer, SCRIPT).returncode == 0
    rows = rows_of(layer.effects()[0])
    order, orders = order_of(bench, layer, rows), Orders(bench.folder / "base")
    kept = Order(workspace=order.workspace, rows=rows, written=order.written, contents=order.contents, keep=keep)
    orders.give(name := new_name(), kept)
    return orders, name, rows


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def taken_back(bench: Bench, orders: Orders, rows: list[EffectRow]) -> list[str]:
    orders.give(name := new_name(), Order(workspace=bench.ws, rows=[row.inverse for row in rows], is_undo=True))
    return [f"{one.path}: {one.conflict}" for one in orders.carry_out(name) if one.conflict]


def test_displaced_files_are_kept_with_their_inode_and_come_back(bench: Bench):
    digests = filled(bench)
    before, inode = contents(bench.ws), (bench.ws / "gone").stat().st_ino
    orders, name, rows = given(bench, frozenset(digests.values()))
    assert not any(one.conflict for one in orders.carry_out(name))
    kept = orders.kept.place(name)
    assert names(kept) == {*digests.values()}
    assert (kept / digests["gone"]).stat().st_ino == inode
    assert orders.kept.room() == MOST_BYTES - 4 * SIZE
    assert taken_back(bench, orders, rows) == []
    assert contents(bench.ws) == before


def test_what_nobody_asked_to_keep_is_deleted_and_its_undo_is_a_conflict(bench: Bench):
    digests = filled(bench)
    orders, name, rows = given(bench, frozenset({digests["gone"]}))
    orders.carry_out(name)
    assert names(orders.kept.place(name)) == {digests["gone"]}
    assert sorted(line.partition(":")[0] for line in taken_back(bench, orders, rows)) == [
        "became",
        "changed",
        "tree/in",
    ]
    assert (bench.ws / "gone").stat().st_size == SIZE


def test_a_hard_link_that_is_overwritten_in_place_is_kept_as_a_copy(bench: Bench):
    (bench.ws / "one").write_text("old\n")
    os.link(bench.ws / "one", bench.ws / "other")
    row = EffectRow(path="one", before=side(b"old\n"), after=side(b"new\n"))
    orders, digest = Orders(bench.folder / "base"), hashlib.sha256(b"old\n").hexdigest()
    order = Order(workspace=bench.ws, rows=[row], contents={"one": b"new\n"}, keep=frozenset({digest}))
    orders.give(name := new_name(), order)
    assert not any(one.conflict for one in orders.carry_out(name))
    assert (bench.ws / "other").read_text() == "new\n", "the links stay"
    assert (orders.kept.place(name) / digest).read_text() == "old\n"
    assert taken_back(bench, orders, [row]) == []
    assert (bench.ws / "other").read_text() == "old\n"


def side(data: bytes) -> Side:
    return Side(type="file", digest=hashlib.sha256(data).hexdigest(), size=len(data))


@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_kill_at_any_step_loses_nothing_that_is_to_be_kept(bench: Bench, first: int):
    reached = 0
    for at in range(first, 400, 9):
        shutil.rmtree(bench.ws)
        bench.ws.mkdir()
        digests = filled(bench)
        before = contents(bench.ws)
        orders, name, rows = given(bench, frozenset(digests.values()))
        argv = [sys.executable, "-c", CUT, str(bench.folder / "base"), name]
        done = subprocess.run(argv, env={**os.environ, "RUNDRY_CRASH_AT": str(at)}, check=False)
        results = orders.carry_out(name)
        assert not any(one.conflict for one in results), (at, results)
        assert names(orders.kept.place(name)) == {*digests.values()}, at
        assert taken_back(bench, orders, rows) == [], at
        assert contents(bench.ws) == before, at
        orders.kept.drop(name)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        reached += 1
    assert reached > 2


def test_what_is_older_than_its_time_goes(tmp_path: Path):
    kept = Kept(tmp_path)
    for name in ("old", "new"):
        kept.place(name).mkdir(parents=True)
        (kept.place(name) / "digest").write_bytes(b"1234")
    os.utime(kept.place("old"), (1, time.time() - MOST_SECONDS - 60))
    assert kept.room() == MOST_BYTES - 8 and kept.find("digest") is not None
    kept.expire()
    assert not kept.place("old").exists() and kept.room() == MOST_BYTES - 4
    kept.drop("new")
    kept.drop("new")
    assert kept.find("digest") is None and kept.room() == MOST_BYTES
