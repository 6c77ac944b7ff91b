"""A process that carries out orders, so that a kill of the runner does not leave half of one.

It reads the names of orders from its standard input, one a line, and answers each with a line: empty, or what is wrong.
At the end of the input it ends, after the order that it is carrying out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.own_programs import module_words
from .orders import Orders

if TYPE_CHECKING:
    from .apply import Result


class Applier:
    """Applies orders to one workspace. Used by several threads."""

    def __init__(self, base: Path) -> None:
        """`base`: the layers' folder of the workspace."""
        self.orders = Orders(base)
        self._base, self._lock = base, threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, which takes 0.1 s, so that it is ready when something is applied. Raises OSError."""
        with self._lock:
            self._started()

    def carry_out(self, name: str) -> list[Result]:
        """Carry out an order that was given, and return what became of its rows. Raises OSError and ValueError."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(f"{name}\n".encode())
                process.stdin.flush()
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = b""
        if answer and answer != b"\n":
            raise OSError(answer.decode("utf-8", "replace").strip())
        return self.orders.carry_out(name)  # its outcome; if the process was killed, the rest of the order

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            kept = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
            self._process = subprocess.Popen(
                module_words(__name__, os.fspath(self._base)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in kept if name in os.environ},
                cwd="/",
                process_group=0,
            )
        return self._process


def main(base: Path) -> None:
    """Carry out orders until the input ends."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(one, signal.SIG_IGN)
    orders = Orders(base)
    for line in sys.stdin:
        answer = ""
        try:
            orders.carry_out(line.strip())
        except (OSError, ValueError) as error:
            answer = " ".join(str(error).split()) or type(error).__name__
        try:
            print(answer, flush=True)
        except BrokenPipeError:  # the runner is gone; the order is done
            os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
