"""One loopback network for all commands of a run, apart from this machine's: a check reaches the server that the model
started.

bubblewrap makes a network namespace for a process that only waits; each command joins it (setns(2), by nsenter of
util-linux) before bubblewrap puts it into namespaces of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import weakref
from contextlib import suppress
from pathlib import Path

_SECONDS = 5.0
_SHOWN = ("HOME", "LANG", "PATH")
"""What the process that waits gets of this environment: no key."""
_PLACES = "/usr/bin:/bin:/usr/sbin:/sbin"


class Loopback:
    """The namespace, as long as this object lives."""

    def __init__(self, bubblewrap: Path) -> None:
        """Raises OSError where there is no such namespace to be had; each command then has a network of its own."""
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
        with os.fdopen(reading, "rb") as told:
            pid = _child(told.read())
        if waiting.stdout is None or not waiting.stdout.readline():  # before it speaks, there is nothing to join
            self._end()
            raise PermissionError("bubblewrap made no network")
        self.words = [nsenter, "-U", "-n", "--preserve-credentials", "-t", str(pid), "--"]
        """They stand before the bubblewrap of a command."""
        nested = [*self.words, str(bubblewrap), "--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "--", "true"]
        if subprocess.run(nested, capture_output=True, timeout=_SECONDS, check=False).returncode != 0:
            self._end()
            raise PermissionError("this system does not let a sandbox join it")

    def close(self) -> None:
        """The namespace goes with its last process."""
        self._end()


def _child(told: bytes) -> int:
    try:
        return int(json.loads(told)["child-pid"])
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
