"""A child process that answers one line at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...workspace.processes.output import HeadTail
from ...workspace.processes.process_tree import ProcessTree
from .reply import LONGEST

_KEPT_ERRORS = 8_000
"""Bytes of standard error that are kept, including the last ones."""


class ChildEnded(Exception):
    """The child does not answer any more; the message says why."""


class Child:
    """One process and all that it starts. The caller must end it."""

    def __init__(
        self, process: asyncio.subprocess.Process, transport: asyncio.SubprocessTransport, processes: ProcessTree
    ) -> None:
        self._process, self._transport, self._processes = process, transport, processes
        self._errors = HeadTail(_KEPT_ERRORS)
        self._listening = asyncio.create_task(self._listen())

    @staticmethod
    async def start(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int] = ()) -> Child:
        """Start a child. `pass_fds`: descriptors that it inherits. Raises ChildEnded if that fails."""
        processes = ProcessTree()
        loop = asyncio.get_running_loop()
        starting = asyncio.create_task(
            loop.subprocess_exec(
                lambda: asyncio.subprocess.SubprocessStreamProtocol(limit=LONGEST, loop=loop),
                *argv,
                cwd=cwd,
                env={**env, **processes.mark},
                start_new_session=True,
                pass_fds=pass_fds,
            )
        )
        cancelled = None
        while not starting.done():  # if the start were cancelled halfway, nothing could end the process
            try:
                await asyncio.wait([starting])
            except asyncio.CancelledError as error:
                cancelled = error
        try:
            transport, protocol = starting.result()
        except OSError as error:
            processes.close()
            raise cancelled or ChildEnded(f"it could not be started: {error.strerror or error}") from None
        processes.register_root(transport.get_pid())
        child = Child(asyncio.subprocess.Process(transport, protocol, loop), transport, processes)
        if cancelled is not None:
            await child.end()
            raise cancelled
        return child

    @property
    def is_alive(self) -> bool:
        """Whether the process has not exited."""
        return self._process.returncode is None

    async def ask(self, line: bytes) -> bytes:
        """Return the child's answer to the line. Raises ChildEnded if there is none."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._errors = HeadTail(_KEPT_ERRORS)
        try:
            stdin.write(line + b"\n")
            await stdin.drain()
            answer = await stdout.readline()
        except ConnectionError:
            answer = b""
        except ValueError:  # the line is longer than the limit
            raise ChildEnded("it answered more than 64 MB") from None
        if answer.endswith(b"\n"):
            return answer
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._process.wait()
        raise ChildEnded(self._how())

    async def end(self) -> bytes:
        """Kill the child and all that it started. Returns the end of its standard error since the last question."""
        self._processes.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._process.wait()
                await asyncio.wait([self._listening])
        self._processes.close()
        self._listening.cancel()
        await asyncio.wait([self._listening])
        self._transport.close()
        return self._errors.value()

    def _how(self) -> str:
        code = self._process.returncode
        if code is None:
            return "it stopped answering"
        return f"it died by signal {-code}" if code < 0 else f"it died with exit code {code}"

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(65_536):
            self._errors.add(piece)
