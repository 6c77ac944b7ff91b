"""A loopback network that all commands of a run share, so that a check can reach a server that the model started.

It is separate from the machine's loopback network. bubblewrap creates the network namespace for a process that only
waits. Each command joins the namespace (setns(2), with nsenter of util-linux) before its own bubblewrap starts.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
import weakref
from contextlib import suppress
from pathlib import Path

_SECONDS = 40.0
_SHOWN = ("HOME", "LANG", "PATH")
"""Environment variables of the waiting process; none of them contains a key."""
_PLACES = "/usr/bin:/bin:/usr/sbin:/sbin"


class Loopback:
    """A network namespace that exists as long as this object."""

    def __init__(self, bubblewrap: Path) -> None:
        """Create the namespace. Raises OSError if that fails; each command then has its own network."""
        nsenter = shutil.which("nsenter", path=_PLACES)
        if nsenter is None:
            raise FileNotFoundError("nsenter (util-linux) is not installed")
        reading, writing = os.pipe()
        argv = [str(bubblewrap), "--unshare-user", "--unshare-net", "--dev-bind", "/", "/"]
        try:
            waiting = subprocess.Popen(
                [*argv, "--info-fd", str(writing), "--", "sh", "-c", "echo up; exec cat >/dev/null"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[writing],
                env={name: os.environ[name] for name in _SHOWN if name in os.environ},
                start_new_session=True,
            )
        finally:
            os.close(writing)
        self._end = weakref.finalize(self, _stop, waiting)
        assert waiting.stdout is not None
        with os.fdopen(reading, "rb") as info:
            try:
                pid = _child(_read(info.fileno(), b"}"))
                _read(waiting.stdout.fileno(), b"\n")  # after this line, the namespace exists
            except OSError:
                self._end()
                raise
        self.words = [nsenter, "-U", "-n", "--preserve-credentials", "-t", str(pid), "--"]
        """Arguments that come before a command's bubblewrap and join the namespace."""
        nested = [*self.words, str(bubblewrap), "--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "--", "true"]
        if subprocess.run(nested, capture_output=True, timeout=_SECONDS, check=False).returncode != 0:
            self._end()
            raise PermissionError("this system does not let a sandbox join it")

    def close(self) -> None:
        """End the waiting process; the namespace ends with its last process."""
        self._end()


def _read(descriptor: int, end: bytes) -> bytes:
    """Read up to this byte. Raises PermissionError if it does not arrive."""
    until, found = time.monotonic() + _SECONDS, b""
    while end not in found:
        if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
            raise PermissionError(f"bubblewrap made no network in {_SECONDS:g} s")
        piece = os.read(descriptor, 1_000)
        if not piece:
            raise PermissionError("bubblewrap made no network")
        found += piece
    return found


def _child(info: bytes) -> int:
    try:
        return int(json.loads(info)["child-pid"])
    except (ValueError, KeyError) as e:
        raise PermissionError("bubblewrap made no network") from e


def _stop(waiting: subprocess.Popen[bytes]) -> None:
    for pipe in (waiting.stdin, waiting.stdout):
        if pipe is not None:
            pipe.close()
    with suppress(ProcessLookupError):
        waiting.terminate()
    with suppress(subprocess.TimeoutExpired):
        waiting.wait(1.0)
