"""A command of the model that waits in the middle until the test lets it continue, wherever it writes."""

from __future__ import annotations

import os
import secrets
import signal
import time
from contextlib import suppress
from pathlib import Path


class PausedCommand:
    """`line` is the part of the command line that waits."""

    def __init__(self) -> None:
        self._word = f"600.{secrets.randbelow(10**9):09d}"
        self.line = f"sleep {self._word}"

    def wait(self, within: float = 60.0) -> None:
        """Wait until the command has come to this part."""
        self._process(within)

    def release(self) -> None:
        """Let the command continue."""
        os.kill(self._process(60.0), signal.SIGTERM)

    def _process(self, within: float) -> int:
        end = time.monotonic() + within
        while time.monotonic() < end:
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    if path.read_bytes().split(b"\0")[:2] == [b"sleep", self._word.encode()]:
                        return int(path.parent.name)
            time.sleep(0.02)
        raise AssertionError(f"nothing runs `{self.line}`")
