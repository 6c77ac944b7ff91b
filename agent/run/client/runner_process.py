"""The runner process of a view: started without a run, given lines on its standard input, answering on a pipe.

Imports little: a screen starts it with the first key, long before the rest of the screen is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from ...protocol.errors import JournalError

_REPLY_BYTES = 65_536


class RunnerProcess:
    """At most one living runner. It exits by itself when this object is closed before a run began."""

    def __init__(self, log: Path | None) -> None:
        """`log`: the file for its output; None if it is set before the start."""
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: _Replies | None = None
        self._starting = threading.Lock()
        """The first frame starts it in a thread."""

    def start(self) -> None:
        """Start a runner without a run, unless one lives. Raises JournalError."""
        with self._starting:
            if self.is_alive:
                return
            if self._replies is not None:
                self._replies.close()
            replies = self._replies = _Replies()
            assert self.log is not None  # a view of an existing journal starts one only to resume it
            try:
                self._process = start_module(
                    "rundry.agent.run", self.log, os.environ, str(replies.writing), keep=replies.writing
                )
            except OSError as error:
                why = error.strerror
                raise JournalError(f"the runner process cannot start ({why}); its log is {self.log}") from error
            finally:
                replies.close_writing()

    def start_early(self) -> None:
        """Start it if that is possible. If it is not, the start that a run needs reports why."""
        try:
            self.start()
        except JournalError:
            return

    @property
    def is_started(self) -> bool:
        """Return whether one was started, living or dead."""
        return self._process is not None

    @property
    def is_alive(self) -> bool:
        """Return whether one was started and has not exited."""
        return self._process is not None and self._process.poll() is None

    def send(self, line: bytes) -> None:
        """Write a line to its standard input. Raises OSError if it has exited."""
        assert self._process is not None and self._process.stdin is not None  # the caller started it
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def read(self) -> list[bytes]:
        """Return the lines that it sent since the last call, without waiting."""
        return [] if self._replies is None else self._replies.read()

    def wait_for_exit(self, seconds: float) -> bool:
        """Wait for its exit, and return whether none is left. Afterwards nothing can be sent to it."""
        if self._process is None:
            return True
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def reap_later(self) -> None:
        """Let a thread wait for its exit, so that it is never a zombie."""
        if self._process is not None and self._process.poll() is None:
            threading.Thread(target=self._process.wait, daemon=True).start()

    def close(self) -> None:
        """Close its standard input, which ends it unless a run has begun, and the pipe."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._replies is not None:
            self._replies.close()


def start_module(
    module: str, log: Path, env: Mapping[str, str], *words: str, keep: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a module of rundry as a process that outlives this one and never imports files of the workspace.

    `log`: the file to which its output is appended. `keep`: a file descriptor that it inherits. Raises OSError.
    """
    clean = {k: v for k, v in env.items() if not k.startswith("PYTHON")}
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, *words],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=clean,
            start_new_session=True,
            pass_fds=() if keep is None else (keep,),
        )


class _Replies:
    """Both ends of the pipe for lines from the runner, which is read without blocking.

    The view closes the writing end once the runner has inherited it.
    """

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._rest = b""
        self._open = {self._reading, self.writing}

    def read(self) -> list[bytes]:
        """Return the lines that arrived since the last call."""
        if self._reading not in self._open:
            return []
        try:
            data = os.read(self._reading, _REPLY_BYTES)
        except BlockingIOError:
            return []
        if not data:
            self.close()
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines

    def close_writing(self) -> None:
        """Close the writing end, after the runner has inherited it."""
        self._close(self.writing)

    def close(self) -> None:
        """Close both ends, if they are open."""
        self._close(self._reading)
        self._close(self.writing)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)
