"""What a layer costs a command, paired with the sandbox alone, and what an apply of an install costs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import Literal, NamedTuple

from rundry.agent.host.files.locked_file import Lease
from rundry.agent.host.processes.processes import shell
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.apply import carry_out
from rundry.agent.layers.effect_rows import EffectRow as Effect
from rundry.agent.layers.fitness import try_workspace
from rundry.agent.layers.namespaces import Namespaces
from rundry.agent.layers.run_layers import RunLayers
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.sandbox import Sandbox

from .table import Row, middle

SIZES = (1_000, 50_000, 200_000)
ROUNDS, WALKS = 25, 7
"""Pairs for a command that does not walk the tree, and for one that does."""
MORE_MS = 10
"""Milliseconds that a command may take longer than in the sandbox alone, at the median: one that does not walk the tree
in a layer, and a reader with the read-only view that it gets.
"""
WALKERS = {"git status": "git status --short", "grep": "grep -rq --exclude-dir=.git nothing . || true"}
INSTALLED, IN_A_FOLDER = 30_000, 30
MOST_OF_MOVING = 1.2
"""An apply of an install, as a ratio to making its folders and leasing and moving each of its files."""
PAIRS = 5
"""Of an apply and of moving the same files."""
ABOUT = f"""A command in a layer is paired with the same command in the sandbox alone; a negative value means that it
was faster. An install is {INSTALLED:,} new files in 1,100 new folders. Applying it is paired with making the folders,
and leasing and moving each file."""

How = Literal["alone", "layer", "view"]
"""Where a command runs: in the sandbox alone, in a layer, or in the read-only view that readers get."""


async def measure(folder: Path) -> list[Row]:
    """Rows for workspaces of three sizes, and for an install."""
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None:
        return []
    rows = await asyncio.to_thread(_install_rows, folder / "install")
    for size in SIZES:
        rows += await _command_rows(sandbox, folder / f"workspace-{size}", size)
    return rows


async def _command_rows(sandbox: Sandbox, root: Path, size: int) -> list[Row]:
    _fill(root, size)
    state = root.with_name(f"{root.name}-state")
    state.mkdir()
    namespaces = Namespaces()
    found = try_workspace(root, state, namespaces)
    if found.place is None:
        raise AssertionError(f"{found.step}: {found.why}")
    layers = RunLayers(Workspace(root), found.place, "bench", namespaces)
    rows = list[Row]()
    try:
        plain, more = await _paired(sandbox, root, layers, "true", ("layer",), ROUNDS)
        what = f"a command that does not walk the tree, {size:,} files"
        rows += [
            Row(f"{what}: in a layer, listed and dropped, over the sandbox alone", more["layer"], "ms", limit=MORE_MS),
            Row("  in the sandbox alone", plain, "ms"),
        ]
        for name, line in WALKERS.items():
            plain, more = await _paired(sandbox, root, layers, line, ("view", "layer"), WALKS)
            view = f"{name}, {size:,} files: in the read-only view of readers, over the sandbox alone"
            rows += [
                Row(view, more["view"], "ms", limit=MORE_MS),
                Row("  in a layer, over the sandbox alone (under Landlock)", more["layer"], "ms"),
                Row("  in the sandbox alone", plain, "ms"),
            ]
    finally:
        layers.close()
        shutil.rmtree(root)
    return rows


async def _paired(
    sandbox: Sandbox, root: Path, layers: RunLayers, line: str, hows: tuple[How, ...], rounds: int
) -> tuple[float, dict[How, float]]:
    """Return the median of a command in the sandbox alone, and by how much it takes longer elsewhere, in ms."""
    plain, more = list[float](), {how: list[float]() for how in hows}
    await _timed(sandbox, root, layers, line, "alone")  # what it reads is in memory then
    for _ in range(rounds):
        alone = await _timed(sandbox, root, layers, line, "alone")
        plain.append(alone)
        for how in hows:
            more[how].append(await _timed(sandbox, root, layers, line, how) - alone)
    return middle(plain), {how: middle(values) for how, values in more.items()}


async def _timed(sandbox: Sandbox, root: Path, layers: RunLayers, line: str, how: How) -> float:
    """Return the milliseconds of one command, with all that has to be done before its result counts."""
    begin = time.perf_counter()
    layer = await asyncio.to_thread(layers.open) if how == "layer" else None
    env = {"PATH": os.environ["PATH"]}
    if how == "alone":
        done = await sandbox.run_unchecked(shell(line, root), root, cwd=root, env=env, timeout=60.0)
    else:
        access = Access(layer=None if layer is None else layer.access, keeps_workspace=layer is None)
        done = await sandbox.run(line, root, access, cwd=root, env=env, timeout=60.0)
    if layer is not None:
        await asyncio.to_thread(layers.listed, layer, os.environ)
        await asyncio.to_thread(layer.drop)
    took = 1000 * (time.perf_counter() - begin)
    if done.exit_code != 0:
        raise AssertionError(done.error or done.output)
    return took


def _fill(root: Path, size: int) -> None:
    """Make a repository in which everything is committed."""
    for number in range(size // 100):
        inner = root / f"p{number // 50}" / f"q{number % 50}"
        inner.mkdir(parents=True)
        for file in range(100):
            inner.joinpath(f"m{file}.py").write_bytes(b"x\n")
    who = ["-c", "user.name=u", "-c", "user.email=u@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "start"], ["status"]):
        subprocess.run(["git", "-C", root, *words], check=True, capture_output=True)


def _install_rows(folder: Path) -> list[Row]:
    """The apply of 30,000 new files, against the least that is safe."""
    root, state = folder / "workspace", folder / "state"
    for one in (root, state):
        one.mkdir(parents=True)
    namespaces = Namespaces()
    layers = RunLayers(Workspace(root), state / "layers", "bench", namespaces)
    try:
        applied, moved = list[_Took](), list[_Took]()
        for number in range(PAIRS):
            for is_ours in (True, False) if number % 2 == 0 else (False, True):
                if is_ours:
                    applied.append(_applied(layers, f"node_modules-{number}"))
                else:
                    _install(source := folder / f"source-{number}")
                    with _timed_block(moved):
                        _move(source, root / f"moved-{number}")
    finally:
        layers.close()
    what = f"an install of {INSTALLED:,} files, applied"
    return [
        Row(what, _middle_of(applied).seconds, "s", _middle_of(moved).seconds, "moved file by file", MOST_OF_MOVING),
        Row("  processor time", _middle_of(applied).processor, "s", _middle_of(moved).processor, "moved file by file"),
    ]


class _Took(NamedTuple):
    seconds: float
    processor: float


def _middle_of(took: list[_Took]) -> _Took:
    return _Took(middle([one.seconds for one in took]), middle([one.processor for one in took]))


@contextlib.contextmanager
def _timed_block(took: list[_Took]) -> Generator[None]:
    begin, used = time.perf_counter(), time.thread_time()
    yield
    took.append(_Took(time.perf_counter() - begin, time.thread_time() - used))


def _applied(layers: RunLayers, name: str) -> _Took:
    """Install in a layer, and return what the apply took."""
    layer, took = layers.open(), list[_Took]()
    _install(layer.upper / name)
    layer.seal(10.0)
    effects, _ = layer.effects(reads=lambda _: False)
    rows = [Effect(path=one.path, before=one.before, after=one.after) for one in effects]
    with _timed_block(took), layer.written() as written:
        results = carry_out(layers.workspace, rows, written, durable=False)
    if any(one.conflict for one in results):
        raise AssertionError("an effect is a conflict")
    layer.drop()
    return took[0]


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
