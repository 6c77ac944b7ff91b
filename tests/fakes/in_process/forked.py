"""Run many commands of `rundry` fast: one process imports the program, and each command runs in a fork of it.

Each command has its own arguments, folder, environment and output, as if a shell had started it. As a program: reads
`{"argv", "cwd", "env"}` as lines of JSON and answers each with `[exit code, stdout, stderr]`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS = 60.0
"""Time after which a command counts as hung."""
HUNG = -1000
"""Its exit code then."""


class Forked:
    """A process that runs commands. Use it as a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fakes.in_process.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
        """Return exit code, stdout and stderr."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"argv": argv, "cwd": str(cwd), "env": dict(env)}) + "\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        return code, out, err


def _become(case: dict[str, Any], out: int, err: int) -> int:
    """Run the command in this process. Returns its exit code."""
    from rundry.tui.cli.root import main

    os.setsid()
    os.chdir(case["cwd"])
    os.environ.clear()
    os.environ.update(case["env"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.argv = ["rundry", *case["argv"]]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does at the end of a program
        traceback.print_exc()
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()


def _waited(child: int) -> int:
    """Return the exit code of the child. A child that hangs is killed with its processes."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG


def _main() -> None:
    for name in ("tui.cli.lists", "tui.cli.reports", "tui.plain.headless.drive_headless", "tui.start.find_setup"):
        import_module(f"rundry.{name}")  # once, here, for all commands
    for line in sys.stdin:
        case = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                os._exit(_become(case, out.fileno(), err.fileno()) & 0xFF)
            answer: list[object] = [_waited(child)]
            for file in (out, err):
                file.seek(0)
                answer.append(file.read().decode(errors="replace"))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _main()
