"""Start commands through the script that restricts them, and notice a sandbox that could not be set up."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

import msgspec

from .system_calls import filter_program

_SCRIPT = Path(__file__).with_name("restrict_process.py")
INTERPRETER = Path(os.path.realpath(sys.executable))
"""The Python that runs the script in the sandbox. The one of a virtual environment is a link to it."""
TRIES = 40
"""Maximum number of times that a sandbox is set up, if something that it mounts keeps disappearing meanwhile."""


class SetUp:
    """A pipe through which the sandbox of one command reports that it is set up. Used as a context manager.

    Until then nothing of the command has run, so it can be started again.
    """

    def __init__(self, *, is_used: bool, is_last: bool) -> None:
        """`is_used`: False if nothing is mounted; the set-up then counts as complete. `is_last`: no attempt follows."""
        self.is_last = is_last
        self._reading, self._writing = os.pipe() if is_used else (-1, -1)
        self._is_complete = not is_used
        self._stop_waiting: Callable[[], object] = lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_waiting()
        for end in (self._reading, self._writing):
            if end >= 0:
                os.close(end)
        self._reading = self._writing = -1

    @property
    def descriptor(self) -> int:
        """The descriptor that the command's process must inherit, or -1 if there is none."""
        return self._writing

    @property
    def descriptors(self) -> list[int]:
        """The descriptor as a list, as the functions that start processes expect it."""
        return [self._writing] if self._writing >= 0 else []

    def when_complete(self, then: Callable[[], object]) -> None:
        """Call a function when the report arrives, in the event loop that runs now."""
        if self._reading < 0:
            return
        loop, reading = asyncio.get_running_loop(), self._reading

        def arrived() -> None:
            loop.remove_reader(reading)
            then()

        loop.add_reader(reading, arrived)
        self._stop_waiting = lambda: loop.remove_reader(reading)

    def is_complete(self) -> bool:
        """Return whether the report has arrived, without waiting for it."""
        if not self._is_complete and self._reading >= 0:
            os.set_blocking(self._reading, False)
            with suppress(BlockingIOError):
                self._is_complete = os.read(self._reading, 1) != b""
        return self._is_complete

    async def wait(self) -> bool:
        """Wait until the sandbox is set up or its process has ended. Return whether it is set up.

        The process must have been started.
        """
        if self._is_complete:
            return True
        os.close(self._writing)
        self._writing = -1
        os.set_blocking(self._reading, False)
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._reading, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._reading)
        return self.is_complete()


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """Gives a command its own mounts and its own PID namespace, whose processes all end with the command."""

    hidden: Sequence[Path] = ()
    """Folders that are empty for it."""
    cwd: Path | None = None
    """The folder in which it starts. None means that of the process."""


def restricted(
    argv: Sequence[str],
    landlock: Mapping[str, object],
    *,
    network: bool,
    processes: int,
    report: int,
    env: Mapping[str, str] | None = None,
    apart: Apart | None = None,
) -> list[str]:
    """Return the command line that restricts its own process, then executes `argv`.

    `landlock`: what Landlock allows, as `restrict_process.py` explains. `processes`: the largest number.
    `report`: descriptor of a `SetUp`. `env`: additional variables. `apart`: None means none of its own, or
    those of bubblewrap.
    """
    settings = {
        "landlock": landlock,
        "apart": apart is not None,
        "hidden": [str(path) for path in apart.hidden] if apart is not None else [],
        "cwd": str(apart.cwd or "") if apart is not None else "",
        "network": network,
        "processes": processes,
        "filter": filter_program(limits_others=not landlock).hex(),
        "report": report,
    }
    added = f"import os; os.environ.update({dict(env)!r})\n" if env else ""
    # Passed as text, so that Python does not import from a folder that a command can write to.
    return [str(INTERPRETER), "-I", "-S", "-B", "-c", added + _text(), json.dumps(settings), *argv]


@cache
def _text() -> str:
    return _SCRIPT.read_text("utf-8")
