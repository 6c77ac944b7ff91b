"""Real layers on real mounts, as the user of the test run and, for root, also as an ordinary user."""

from __future__ import annotations

import codecs
import ctypes
import importlib
import os
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from rundry.agent.layers.layer import Layer
from rundry.agent.layers.layer_effects import Effect
from rundry.agent.layers.namespaces import Namespaces, NamespacesRefused

NOBODY = 65_534
SYSTEM_PYTHON = Path("/usr/bin/python3")
"""An interpreter that an ordinary user may run, wherever the tests' own one lies."""


class AsUser(Protocol):
    """Runs a function as an ordinary user."""

    def __call__(self, act: Callable[[Path], None], prepare: Callable[[Path], object] = ...) -> None: ...


class Bench:
    """A workspace, the namespaces of a run, and layers over it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ws = folder, folder / "workspace"
        self.ws.mkdir(exist_ok=True)
        own = SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else None
        self.namespaces = Namespaces(own if os.geteuid() == NOBODY else None)
        self._count = 0

    def layer(self) -> Layer:
        self._count += 1
        return Layer(self.folder / f"layer-{self._count}", self.ws).mount(self.namespaces)

    def run(self, layer: Layer, script: str) -> subprocess.CompletedProcess[str]:
        argv = [*layer.words, "sh", "-c", f'cd "$1" && {{ {script}\n}}', "sh", str(self.ws)]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def effects(self, script: str) -> list[Effect]:
        layer = self.layer()
        done = self.run(layer, script)
        assert done.returncode == 0, done.stderr
        return layer.effects()[0]

    def close(self) -> None:
        self.namespaces.close()


@pytest.fixture
def as_user() -> AsUser:
    """Run a function as an ordinary user, in a child with a folder of its own."""

    def run(act: Callable[[Path], None], prepare: Callable[[Path], object] = Path.exists) -> None:
        """`prepare` is run before, as root."""
        codecs.lookup("ascii")  # an ordinary user may not read the modules of this interpreter
        importlib.import_module("pathspec")
        folder = Path(tempfile.mkdtemp(prefix="layers-", dir="/tmp"))
        os.chown(folder, NOBODY, NOBODY)
        prepare(folder)
        child = os.fork()
        if not child:
            code = 1
            try:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as if this user had started the process
                act(folder)
                code = 0
            except BaseException:  # noqa: BLE001 - the child may only end here
                traceback.print_exc()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        assert os.waitstatus_to_exitcode(status) == 0, "see the output of the child"

    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return run


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    try:
        found = Bench(tmp_path)
    except NamespacesRefused as refused:
        pytest.skip(f"no layers here: {refused}")
    yield found
    found.close()


def apart(act: Callable[[Path], None]) -> None:
    """Run a function as root in a mount namespace of its own."""
    if os.geteuid():
        pytest.skip("only root can mount here")
    folder = Path(tempfile.mkdtemp(prefix="layers-", dir="/tmp"))
    child = os.fork()
    if not child:
        code = 1
        try:
            assert not ctypes.CDLL(None).unshare(0x00020000)  # CLONE_NEWNS
            mount("--make-rprivate", "/")
            act(folder)
            code = 0
        except BaseException:  # noqa: BLE001 - the child may only end here
            traceback.print_exc()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    assert os.waitstatus_to_exitcode(status) == 0, "see the output of the child"


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)
