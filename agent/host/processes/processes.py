"""Run commands without a terminal, with a time-out and bounded output, and end all processes that they started."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import msgspec

from ..file_errors import CommandNotStarted
from ..program_search import find_program
from .command_output import HeadTail, shorten
from .process_tree import ProcessTree

FULL = 16_000_000
"""Maximum bytes of output that are stored (docs/requirements.md 7.5)."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_LEFT_BEHIND_GRACE = 0.3
_LONGEST = 131_000
"""Maximum bytes of one argument (execve(2): 128 KiB)."""

_PIECE = 1 << 20
_FLOOD = 64_000_000
"""Bytes of output after which reading is slowed down, so that a command cannot use a whole core."""
_FLOOD_PAUSE = 0.002


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a command."""

    exit_code: int | None
    """128 + n if signal n ended it. None means that it timed out or did not start."""
    output: bytes
    """Standard output and error in the order of arrival, at most `limit` bytes, head and tail."""
    dropped: int
    """Number of bytes missing in `output`."""
    timed_out: bool
    seconds: float
    error: str | None
    """Why it did not start or did not finish, in one line."""
    full: bytes = b""
    """Head and tail of the output, at most `keep` bytes."""
    full_dropped: int = 0
    """Number of bytes missing in `full`."""
    left_behind: int = 0
    """Number of processes that were still running when the command ended; they were ended too."""
    errors: bytes = b""
    """Standard error, at most 16 MB, if it was requested separately; else it is part of the output."""


def shell(command: str, avoid: Path) -> list[str]:
    """Return the argument list that runs a command line with bash, without start-up files.

    `avoid`: the workspace. A bash in it is not used, because a model could have put it there.
    """
    return [bash(avoid), "--noprofile", "--norc", "-c", command, "bash"]  # `$0`, with which its error messages begin


def bash(avoid: Path) -> str:
    """Return the absolute path of a bash outside of this folder; only its name if there is none."""
    return str(find_program("bash", [avoid]) or "bash")


class ProcessSettings(TypedDict, total=False):
    """Optional arguments of `run_process`, for functions that pass them on."""

    limit: int
    stdin: bytes | None
    separate_errors: bool
    keep: int
    on_start: Callable[[ProcessTree], object] | None


async def run_process(
    command: str | list[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - a time-out does more than cancel
    limit: int = 200_000,
    on_output: Callable[[bytes], None] | None = None,
    stdin: bytes | None = None,
    separate_errors: bool = False,
    keep: int = FULL,
    on_start: Callable[[ProcessTree], object] | None = None,
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run a command line (by bash) or an argument list to its end, or to `timeout` seconds. Never raises OSError.

    `separate_errors`: standard error goes to `Finished.errors`, not to `on_output`.
    `on_start` receives the processes of the command. `pass_fds`: descriptors that it inherits.
    A time-out or a cancellation ends all processes of the command: SIGTERM, two seconds, SIGKILL. Background processes
    are ended when the command ends.
    """
    started = time.monotonic()
    try:
        running = await _start(
            command,
            cwd=cwd,
            env=env,
            on_output=on_output,
            stdin=stdin,
            separate_errors=separate_errors,
            keep=keep,
            pass_fds=pass_fds,
        )
    except CommandNotStarted as error:
        seconds = time.monotonic() - started
        return Finished(exit_code=None, output=b"", dropped=0, timed_out=False, seconds=seconds, error=str(error))
    if on_start is not None:
        on_start(running.tree)
    return await running.finish(timeout, limit)


async def _start(
    command: str | list[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_output: Callable[[bytes], None] | None,
    stdin: bytes | None,
    separate_errors: bool,
    keep: int,
    pass_fds: Sequence[int],
) -> _Running:
    """Start the command; the caller must `finish` it. Raises CommandNotStarted."""
    argv = shell(command, cwd) if isinstance(command, str) else command
    longest = max((len(os.fsencode(part)) for part in argv), default=0)
    if longest > _LONGEST:
        raise CommandNotStarted(f"the command is too long ({longest:,} bytes): put it into a file and run that")
    pipes = _pipes(2 if separate_errors else 1)
    tree = ProcessTree()
    process, cancelled = await _spawn(
        argv, pipes, tree, cwd=cwd, env=env, takes_input=stdin is not None, pass_fds=pass_fds
    )
    tree.register_root(process.pid)
    if process.stdin is not None:
        process.stdin.write(stdin or b"")
        process.stdin.close()
    output, *errors = pipes
    running = _Running(
        process, [_Reader(output[0], on_output, keep), *(_Reader(pipe[0], None, FULL) for pipe in errors)], tree
    )
    if cancelled is not None:
        await running.end_all(GRACE)
        raise cancelled
    return running


async def _spawn(
    argv: list[str],
    pipes: list[tuple[int, int]],
    tree: ProcessTree,
    *,
    cwd: Path,
    env: Mapping[str, str],
    takes_input: bool,
    pass_fds: Sequence[int],
) -> tuple[asyncio.subprocess.Process, asyncio.CancelledError | None]:
    """Start the process, and close the write ends of its pipes here. Return it, and a cancellation meanwhile."""
    writing = [pipe[1] for pipe in pipes]
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env={**env, **tree.mark},
            stdin=asyncio.subprocess.PIPE if takes_input else asyncio.subprocess.DEVNULL,
            stdout=writing[0],
            stderr=writing[-1],
            start_new_session=True,
            pass_fds=pass_fds,
        )
    )
    cancelled = await _wait_for_start(starting)
    try:
        return starting.result(), cancelled
    except (OSError, ValueError) as error:
        tree.close()
        _close(pipe[0] for pipe in pipes)
        raise cancelled or CommandNotStarted(_start_error(error, argv, cwd)) from None
    except asyncio.CancelledError:  # the whole loop ends
        tree.kill()
        tree.close()
        _close(pipe[0] for pipe in pipes)
        raise
    finally:
        _close(writing)


def _pipes(count: int) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            made.append(os.pipe())
    except OSError as error:
        _close(end for pipe in made for end in pipe)
        raise CommandNotStarted(f"no pipe for its output: {error.strerror or error}") from None
    return made


def _close(ends: Iterable[int]) -> None:
    for end in ends:
        os.close(end)


async def _wait_for_start(starting: asyncio.Task[asyncio.subprocess.Process]) -> asyncio.CancelledError | None:
    """Wait for the start, even if this task is cancelled meanwhile. Return the cancellation.

    If the start itself were cancelled, asyncio would end only the first process, and its children would continue.
    """
    cancelled = None
    while not starting.done():
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


class _Running:
    """A running command."""

    def __init__(self, process: asyncio.subprocess.Process, readers: Sequence[_Reader], tree: ProcessTree) -> None:
        """`readers`: one for the output, and one for standard error if that is separate."""
        self._process, self._readers, self.tree = process, readers, tree
        self._started = time.monotonic()

    async def finish(self, seconds: float, limit: int) -> Finished:
        """Wait for the end. After `seconds`, or when cancelled, end all processes."""
        timed_out = False
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            # Also after a cancellation: no process may outlive its command.
            left = await self.end_all(GRACE if self._process.returncode is None else _LEFT_BEHIND_GRACE)
        return self._finished(timed_out, 0 if timed_out else left, seconds, limit)

    async def end_all(self, grace: float) -> int:
        """End all processes. Return the number that was still alive."""
        try:
            left = await self.tree.end(grace)
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._process.wait()
                    for reader in self._readers:
                        await reader.drained.wait()
            return left
        finally:
            self.tree.kill()
            self.tree.close()
            for reader in self._readers:
                reader.close()

    def _finished(self, timed_out: bool, left: int, allowed: float, limit: int) -> Finished:
        code = self._process.returncode
        kept, *errors = (reader.kept for reader in self._readers)
        full = kept.value()
        output, dropped = shorten(full, limit)
        error = f"timed out after {allowed:.3g} s" if timed_out else None
        return Finished(
            exit_code=None if timed_out or code is None else code if code >= 0 else 128 - code,
            output=output,
            dropped=dropped + kept.dropped,
            timed_out=timed_out,
            seconds=time.monotonic() - self._started,
            error=error if code is not None else "it could not be ended, even with SIGKILL",
            full=full,
            full_dropped=kept.dropped,
            left_behind=left,
            errors=b"".join(each.value() for each in errors),
        )


class _Reader:
    """Reads a pipe when the event loop reports data, and never blocks."""

    def __init__(self, fd: int, on_output: Callable[[bytes], None] | None, keep: int) -> None:
        self.kept = HeadTail(keep)
        self.drained = asyncio.Event()
        self._fd, self._on_output = fd, on_output
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        os.set_blocking(fd, False)
        if sys.platform == "linux":
            with suppress(OSError):  # the user's quota of pipe memory is used up: the default of 64 KiB is enough
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIECE)
        self._loop.add_reader(fd, self._read)

    def close(self) -> None:
        """Stop reading, even if other processes still hold the write end."""
        if self._fd < 0:
            return
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        self.drained.set()

    def _read(self) -> None:
        try:
            piece = os.read(self._fd, _PIECE)
        except BlockingIOError:
            return
        if not piece:
            self.close()
            return
        self.kept.add(piece)
        if self._on_output is not None:
            self._on_output(piece)
        if self.kept.total > _FLOOD:
            self._loop.remove_reader(self._fd)
            self._pause = self._loop.call_later(_FLOOD_PAUSE, self._loop.add_reader, self._fd, self._read)


def _start_error(error: OSError | ValueError, argv: list[str], cwd: Path) -> str:
    program = argv[0] if argv else ""
    if isinstance(error, ValueError):
        return f"the command cannot be run: {error}"
    if not cwd.is_dir():
        return f"the folder {cwd} does not exist: it was moved or removed"
    if error.errno == errno.E2BIG:
        return "the command and its environment are too long: put it into a file and run that"
    if error.errno == errno.ENOENT:
        return f"{program}: not found"
    return f"{program}: {error.strerror or error}"
