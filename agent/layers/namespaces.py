"""The namespaces of one run: where its commands find the user, the network and the layers that are theirs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Self

_SCRIPT = Path(__file__).with_name("forker.py")
_PLACES = "/usr/bin:/bin:/usr/sbin:/sbin"
_SECONDS = 20.0
_MOST, _MOST_DESCRIPTORS = 1 << 12, 4


class NamespacesRefused(Exception):
    """The system does not allow what a layer needs. `step`: which step it refused; the message says why."""

    def __init__(self, step: str, why: str) -> None:
        super().__init__(f"{step}: {why}")
        self.step = step


class Mounted:
    """A mounted layer, as long as this object is open."""

    def __init__(self, words: Sequence[str], namespace: int, root: int) -> None:
        self._words, self._namespace = list(words), namespace
        self.root = root
        """A descriptor of the folder that the layer covers, as commands in the layer see it."""

    @property
    def words(self) -> list[str]:
        """The words before a command that runs in the layer. They name descriptors of this process."""
        return [*self._words, f"--mount=/proc/{os.getpid()}/fd/{self._namespace}", "--"]

    def close(self) -> None:
        """Let go of the layer. It is unmounted when its last process has ended."""
        for one in (self.root, self._namespace):
            if one >= 0:
                os.close(one)
        self.root = self._namespace = -1


class Namespaces:
    """The namespaces of one run. Used by several threads."""

    def __init__(self, interpreter: Path | None = None) -> None:
        """Start the process that makes them. Raises NamespacesRefused. `interpreter`: a Python; None: this one."""
        nsenter = shutil.which("nsenter", path=_PLACES)
        if nsenter is None or not sys.platform.startswith("linux"):
            raise NamespacesRefused("nsenter", "nsenter (util-linux) is not installed")
        self._nsenter = [nsenter, "--preserve-credentials"]
        self._user, self._network = list[int](), list[int]()
        self._lock = threading.Lock()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(_SECONDS)
        program = str(interpreter or os.path.realpath(sys.executable))
        try:
            # Passed as text, so that Python does not import from a folder that a command can write to.
            self._process = subprocess.Popen(
                [program, "-I", "-S", "-B", "-c", _text(), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self._ours.close()
            raise NamespacesRefused("python", str(error)) from None
        finally:
            theirs.close()
        try:
            self._user = self._answer()
        except NamespacesRefused:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def words(self) -> list[str]:
        """The words before a command that uses the run's network, if it was made."""
        return [*self._joining(), "--"]

    def make_network(self) -> None:
        """Make a network for all commands of the run, apart from that of the machine. Raises NamespacesRefused."""
        self._network = self._network or self._ask({"make": "network"})

    def mount(self, folder: Path, lower: Sequence[str], upper: str, work: str, place: Path) -> Mounted:
        """Mount a layer over the folder `place`, for those processes alone that enter it. Raises NamespacesRefused.

        `lower`: what lies below, the uppermost first. Relative paths begin at `folder`.
        """
        asked = {"folder": str(folder), "lower": list(lower), "upper": upper, "work": work, "place": str(place)}
        namespace, root = self._ask({"make": "layer", **asked})
        return Mounted(self._joining(), namespace, root)

    def close(self) -> None:
        """End the process. What it made stays until it is closed itself."""
        self._ours.close()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for one in (*self._user, *self._network):
            os.close(one)
        self._user, self._network = [], []

    def _joining(self) -> list[str]:
        named = [("user", one) for one in self._user] + [("net", one) for one in self._network]
        return [*self._nsenter, *(f"--{name}=/proc/{os.getpid()}/fd/{one}" for name, one in named)]

    def _ask(self, asked: dict[str, object]) -> list[int]:
        with self._lock:
            try:
                self._ours.send(json.dumps(asked).encode("utf-8", "surrogateescape"))
                return self._answer()
            except (OSError, ValueError) as error:
                raise NamespacesRefused("forker", f"it does not answer ({error})") from None

    def _answer(self) -> list[int]:
        try:
            said, found, *_ = socket.recv_fds(self._ours, _MOST, _MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise NamespacesRefused("forker", f"it does not answer ({error})") from None
        if not said:
            raise NamespacesRefused("forker", "it ended")
        told = json.loads(said)
        if told:
            raise NamespacesRefused(str(told["step"]), str(told["why"]))
        return list(found)


@cache
def _text() -> str:
    return _SCRIPT.read_text("utf-8")
