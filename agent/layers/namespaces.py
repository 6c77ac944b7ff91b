"""The namespaces of one run: the user, the network and the layers of its commands."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

_SCRIPT = Path(__file__).with_name("forker.py")
_PLACES = "/usr/bin:/bin:/usr/sbin:/sbin"
_SECONDS = 20.0
_MOST, _MOST_DESCRIPTORS = 1 << 12, 32


class NamespacesRefused(Exception):
    """The system does not allow what a layer needs. The message says which step, and why."""

    def __init__(self, step: str, why: str, code: int = 0) -> None:
        """`code`: the error number of the system, or 0 if there is none."""
        super().__init__(f"{step}: {why}")
        self.step, self.why, self.code = step, why, code


class Cover(NamedTuple):
    """One folder that a layer covers. Relative paths begin at the folder that is given to `Namespaces.mount`."""

    place: Path
    lower: Sequence[str]
    """What lies below, the uppermost first."""
    upper: str
    """Where what is written goes."""
    work: str
    """An empty folder for the kernel, on the file system of `upper`."""


class Mounted:
    """A mounted layer, as long as this object is open."""

    def __init__(
        self,
        words: Sequence[str],
        namespace: int,
        roots: Sequence[int],
        places: Sequence[Path],
        caches: Sequence[Path] = (),
    ) -> None:
        self._words, self._namespace = list(words), namespace
        self.places = places
        """The folders that the layer covers."""
        self.caches = caches
        """The caches that it covers too."""
        self.roots = list(roots)
        """A descriptor of each, as commands in the layer see it."""

    @property
    def words(self) -> list[str]:
        """The words before a command that runs in the layer. They name descriptors of this process."""
        return [*self._words, f"--mount=/proc/{os.getpid()}/fd/{self._namespace}", "--"]

    @property
    def online_words(self) -> list[str]:
        """The same for a command that uses the machine's network instead of the run's."""
        return [word for word in self.words if not word.startswith("--net=")]

    def words_in(self, network: int) -> list[str]:
        """Return the same for a command that uses another network, of which this is a descriptor."""
        return _in_network(self.words, network)

    @property
    def namespace(self) -> int:
        """A descriptor of the mount namespace in which the layer is mounted."""
        return self._namespace

    def close(self) -> None:
        """Release the layer. It is unmounted when its last process has ended."""
        for one in (*self.roots, self._namespace):
            if one >= 0:
                os.close(one)
        self.roots, self._namespace = [], -1


class Namespaces:
    """The namespaces of one run. Used by several threads."""

    def __init__(self, interpreter: Path | None = None, *, seconds: float = _SECONDS) -> None:
        """Start the process that makes them. Raises NamespacesRefused.

        `interpreter`: a Python. None means this one. `seconds`: how long to wait for an answer.
        """
        if sys.platform != "linux":
            raise NamespacesRefused("system", "only Linux has layers")
        nsenter = shutil.which("nsenter", path=_PLACES)
        if nsenter is None:
            raise NamespacesRefused("nsenter", "nsenter (util-linux) is not installed")
        self._nsenter = [nsenter, "--preserve-credentials"]
        self._user, self._network = list[int](), list[int]()
        self._lock = threading.Lock()
        self._broken = ""
        """Why nothing can be asked any more: a late answer would be taken for the answer to the next question."""
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(seconds)
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
    def pid(self) -> int:
        """The process that makes them."""
        return self._process.pid

    @property
    def words(self) -> list[str]:
        """The words before a command that uses the run's network, if it was made."""
        return [*self._joining(), "--"]

    def make_network(self) -> None:
        """Make a network for all commands of the run, apart from that of the machine. Raises NamespacesRefused."""
        self._network = self._network or self._ask({"make": "network"})

    def new_network(self) -> int:
        """Make a further network, apart from those of the machine and the run. Raises NamespacesRefused.

        The caller closes the descriptor; the network ends with the last process in it.
        """
        return self._ask({"make": "network"})[0]

    def words_in(self, network: int) -> list[str]:
        """Return the words before a command that uses this network."""
        return [*_in_network(self._joining(), network), "--"]

    def mount(
        self, folder: Path, covers: Sequence[Cover], hidden: Sequence[Path] = (), caches: Sequence[Cover] = ()
    ) -> Mounted:
        """Mount a layer over some folders, for those processes alone that enter it. Raises NamespacesRefused.

        `hidden`: folders that exist, and that these processes see empty. `caches`: further folders that exist, and
        that are covered where the system allows it.
        """
        empty = [str(place) for place in hidden]
        asked = {"covers": [*map(_words_of, covers)], "caches": [*map(_words_of, caches)], "hidden": empty}
        namespace, *found = self._ask({"make": "layer", "folder": str(folder), **asked})
        roots, of_caches = found[: len(covers)], found[len(covers) :]
        places = [one.place for one, root in zip(caches, of_caches, strict=True) if _is_covered(one.place, root)]
        for root in of_caches:
            os.close(root)
        return Mounted(self._joining(), namespace, roots, [cover.place for cover in covers], places)

    def seal(self, mounted: Mounted) -> None:
        """Make a layer read-only for all processes, permanently. Raises NamespacesRefused.

        With the code EBUSY, as long as a file in it is open for writing, or is deleted and still open.
        """
        self._ask({"make": "sealed", "places": [str(place) for place in mounted.places]}, [mounted.namespace])
        if not all(os.fstatvfs(root).f_flag & os.ST_RDONLY for root in mounted.roots):
            raise NamespacesRefused("seal", "the layer can still be written")

    def is_used(self, folder: Path, upper: str, work: str) -> bool:
        """Return whether a layer with this upper folder is mounted, for whatever process. Raises NamespacesRefused."""
        try:
            self._ask({"make": "unused", "folder": str(folder), "upper": upper, "work": work})
        except NamespacesRefused as refused:
            if refused.step == "in use" and refused.code == errno.EBUSY:
                return True
            raise
        return False

    def try_processes(self) -> None:
        """Make a PID namespace as a command without bubblewrap gets it. Raises NamespacesRefused."""
        self._ask({"make": "processes"})

    def close(self) -> None:
        """End the process. What it made stays until it is closed itself."""
        self._end("it was closed")
        for one in (*self._user, *self._network):
            os.close(one)
        self._user, self._network = [], []

    def _end(self, why: str) -> None:
        """End the process and what it started. From now on nothing can be asked, because `why`."""
        if self._broken:
            return
        self._broken = why
        self._ours.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # a mount of a server that does not answer cannot be killed
            self._process.wait(_SECONDS)

    def _joining(self) -> list[str]:
        named = [("user", one) for one in self._user] + [("net", one) for one in self._network]
        return [*self._nsenter, *(f"--{name}=/proc/{os.getpid()}/fd/{one}" for name, one in named)]

    def _ask(self, asked: dict[str, object], given: Sequence[int] = ()) -> list[int]:
        with self._lock:
            if self._broken:
                raise NamespacesRefused("forker", f"it is not used any more: {self._broken}")
            try:
                said = json.dumps(asked).encode("utf-8", "surrogateescape")
                socket.send_fds(self._ours, [said], list(given))
            except (OSError, ValueError) as error:
                self._end(f"it took no question ({error})")
                raise NamespacesRefused("forker", self._broken) from None
            return self._answer()

    def _answer(self) -> list[int]:
        """Wait for the answer. Raises NamespacesRefused. Without a whole answer nothing can be asked any more."""
        found = list[int]()
        try:
            said, found, *_ = socket.recv_fds(self._ours, _MOST, _MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
            told = json.loads(said) if said else None
            if told is None:
                self._end("it ended")
                raise NamespacesRefused("forker", self._broken)
            if told:
                raise NamespacesRefused(str(told["step"]), str(told["why"]), int(told["code"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            for one in found:
                os.close(one)
            self._end(f"it did not answer ({error})")
            raise NamespacesRefused("forker", self._broken) from None
        return list(found)


def _words_of(cover: Cover) -> dict[str, object]:
    return {**cover._asdict(), "place": str(cover.place), "lower": list(cover.lower)}


def _is_covered(place: Path, root: int) -> bool:
    """Return whether an open folder of a layer is another file system than the same folder outside."""
    try:
        return os.fstat(root).st_dev != place.stat().st_dev
    except OSError:
        return False


def _in_network(words: Sequence[str], network: int) -> list[str]:
    others = [word for word in words if not word.startswith("--net=")]
    return [others[0], f"--net=/proc/{os.getpid()}/fd/{network}", *others[1:]]


@cache
def _text() -> str:
    return _SCRIPT.read_text("utf-8")
