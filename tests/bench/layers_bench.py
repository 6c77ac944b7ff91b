"""What a layer costs a command, paired with the sandbox alone, and what an apply of an install costs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from pathlib import Path

from rundry.agent.layers.apply import carry_out
from rundry.agent.layers.fitness import try_workspace
from rundry.agent.layers.namespaces import Namespaces
from rundry.agent.layers.rows import Row as Effect
from rundry.agent.layers.run_layers import RunLayers
from rundry.agent.workspace.files.locked_file import Lease
from rundry.agent.workspace.paths import Workspace
from rundry.agent.workspace.sandbox.access import Access
from rundry.agent.workspace.sandbox.sandbox import Sandbox

from .table import Row, middle

SIZES = (1_000, 50_000, 200_000)
ROUNDS = 25
MORE_MS = 10
"""Milliseconds that a command in a layer may take longer than in the sandbox alone, at the median."""
INSTALLED, IN_A_FOLDER = 30_000, 30
MOST_OF_MOVING = 1.2
"""An apply of an install, as a ratio to making its folders and leasing and moving each of its files."""


async def measure(folder: Path) -> list[Row]:
    """Rows for workspaces of three sizes, and for an install."""
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None:
        return []
    rows = list[Row]()
    for size in SIZES:
        rows += await _command_rows(sandbox, folder / f"workspace-{size}", size)
    return [*rows, await asyncio.to_thread(_install_row, folder / "install")]


async def _command_rows(sandbox: Sandbox, root: Path, size: int) -> list[Row]:
    _fill(root, size)
    state = root.with_name(f"{root.name}-state")
    state.mkdir()
    namespaces = Namespaces()
    found = try_workspace(root, state, namespaces)
    if found.place is None:
        raise AssertionError(f"{found.step}: {found.why}")
    layers = RunLayers(Workspace(root), found.place, "bench", namespaces)
    plain, layered = list[float](), list[float]()
    try:
        for _ in range(ROUNDS):
            plain.append(await _timed(sandbox, root, None))
            layered.append(await _timed(sandbox, root, layers))
    finally:
        layers.close()
        shutil.rmtree(root)
    more = [one - other for one, other in zip(layered, plain, strict=True)]
    what = f"a command that does not walk the tree, {size:,} files"
    return [
        Row(f"{what}: in a layer, listed and dropped, over the sandbox alone", middle(more), "ms", limit=MORE_MS),
        Row("  in the sandbox alone", middle(plain), "ms"),
    ]


async def _timed(sandbox: Sandbox, root: Path, layers: RunLayers | None) -> float:
    """Return the milliseconds of one command, with all that has to be done before its result counts."""
    begin = time.perf_counter()
    layer = None if layers is None else await asyncio.to_thread(layers.open)
    access = Access(layer=None if layer is None else layer.access)
    env = {"PATH": os.environ["PATH"]}
    done = await sandbox.run("true", root, access, cwd=root, env=env, timeout=30.0, may_configure=True)
    if layers is not None and layer is not None:
        await asyncio.to_thread(layers.listed, layer, os.environ)
    took = 1000 * (time.perf_counter() - begin)
    if layer is not None:
        layer.drop()
    if done.exit_code != 0:
        raise AssertionError(done.error or done.output)
    return took


def _fill(root: Path, size: int) -> None:
    for number in range(size // 100):
        inner = root / f"p{number // 50}" / f"q{number % 50}"
        inner.mkdir(parents=True)
        for file in range(100):
            inner.joinpath(f"m{file}.py").write_bytes(b"x\n")


def _install_row(folder: Path) -> Row:
    """The apply of 30,000 new files, against the least that is safe."""
    root, state = folder / "workspace", folder / "state"
    for one in (root, state):
        one.mkdir(parents=True)
    namespaces = Namespaces()
    layers = RunLayers(Workspace(root), state / "layers", "bench", namespaces)
    try:
        applied, moved = list[float](), list[float]()
        for number in range(3):
            layer = layers.open()
            _install(layer.upper / f"node_modules-{number}")
            layer.seal(10.0)
            effects, _ = layer.effects(reads=lambda _: False)
            rows = [Effect(path=one.path, before=one.before, after=one.after) for one in effects]
            begin = time.perf_counter()
            with layer.written() as written:
                results = carry_out(layers.workspace, rows, written, durable=False)
            applied.append(time.perf_counter() - begin)
            if any(one.conflict for one in results):
                raise AssertionError("an effect is a conflict")
            layer.drop()
            _install(source := folder / f"source-{number}")
            begin = time.perf_counter()
            _move(source, root / f"moved-{number}")
            moved.append(time.perf_counter() - begin)
    finally:
        layers.close()
    what = f"an install of {INSTALLED:,} files, applied, over moving file by file"
    return Row(what, middle(applied) / middle(moved), "x", limit=MOST_OF_MOVING)


def _install(top: Path) -> None:
    for number in range(INSTALLED // IN_A_FOLDER):
        inner = top / f"package{number // 10}" / f"part{number % 10}"
        inner.mkdir(parents=True)
        for file in range(IN_A_FOLDER):
            inner.joinpath(f"{file}.js").write_bytes(b"x\n")


def _move(source: Path, target: Path) -> None:
    """Make the folders, and lease and move each file."""
    for place, _, names in os.walk(source):
        new = target / Path(place).relative_to(source)
        new.mkdir()
        own, to = os.open(place, os.O_RDONLY), os.open(new, os.O_RDONLY)
        for name in names:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=own)
            if not Lease(file).held:
                raise AssertionError("no lease")
            os.rename(name, name, src_dir_fd=own, dst_dir_fd=to)
            os.close(file)
        with contextlib.ExitStack() as stack:
            for one in (own, to):
                stack.callback(os.close, one)
