"""The process of a server that speaks on its standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...host.processes.command_output import HeadTail
from ...host.processes.process_tree import ProcessTree
from .failed import McpFailed
from .traffic import LONGEST_LINE, Traffic

_PIECE = 65_536
_ERRORS = 4_000
"""Bytes of the standard error that are kept."""
_GRACE = 1.0
"""Seconds between closing the input and SIGTERM, and between SIGTERM and SIGKILL."""


class ServerProcess:
    """A running server. `end` must be called; it ends all processes that the server started."""

    def __init__(self, process: asyncio.subprocess.Process, tree: ProcessTree, traffic: Traffic) -> None:
        self._process, self._tree, self._traffic = process, tree, traffic
        self._errors = HeadTail(_ERRORS)
        self._reading = asyncio.create_task(self._read_errors())
        self._too_much: McpFailed | None = None

    @staticmethod
    async def start(
        argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], traffic: Traffic, pass_fds: Sequence[int]
    ) -> ServerProcess:
        """Start the server. `pass_fds`: descriptors that it inherits. Raises McpFailed."""
        tree, pipe = ProcessTree(), asyncio.subprocess.PIPE
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env={**env, **tree.mark},
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        )
        try:
            process = await asyncio.shield(starting)
        except (OSError, ValueError) as error:
            tree.close()
            raise McpFailed(f"it could not be started: {error}") from error
        except asyncio.CancelledError:
            with suppress(OSError, ValueError, asyncio.CancelledError):
                tree.register_root((await starting).pid)
            tree.kill()
            tree.close()
            raise
        tree.register_root(process.pid)
        return ServerProcess(process, tree, traffic)

    async def lines(self) -> AsyncGenerator[bytes]:
        """Yield each line of the output. Raises McpFailed for too much output."""
        assert self._process.stdout is not None
        rest = bytearray()
        while piece := await self._process.stdout.read(_PIECE):
            self._count(len(piece))
            *lines, last = piece.split(b"\n")
            for line in lines:
                whole, rest = bytes(rest) + line, bytearray()
                yield whole
            rest += last
            if len(rest) > LONGEST_LINE:
                raise McpFailed(f"it sent a line of more than {LONGEST_LINE:,} bytes")
        self._count(0)

    def _count(self, size: int) -> None:
        self._traffic.add_bytes(size)
        if self._too_much is not None:
            raise self._too_much

    async def write(self, line: bytes) -> None:
        """Send one line. Raises OSError if the server does not read any more."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        await self._process.stdin.drain()

    async def how_it_ended(self) -> str:
        """Return how the process ended, with the last line of its standard error."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await self._process.wait()
                await asyncio.wait({self._reading})
        code = self._process.returncode
        how = "it closed its output" if code is None else f"it ended with exit code {code}"
        last = [line for line in self._errors.value().decode("utf-8", "replace").splitlines() if line.strip()][-1:]
        return f"{how}: {last[0].strip()[:300]}" if last else how

    async def end(self) -> None:
        """End the server and everything that it started: close its input, then SIGTERM, then SIGKILL."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._process.wait()
            await self._tree.end(_GRACE)
        finally:
            self._tree.kill()
            self._tree.close()
            self._reading.cancel()
            await asyncio.wait({self._reading})
            self._close_pipes()

    def _close_pipes(self) -> None:
        """Close the pipes, also if a process that could not be ended still holds them."""
        transport = getattr(self._process, "_transport", None)  # no public name closes the pipes of a subprocess
        if transport is not None:
            transport.close()

    async def _read_errors(self) -> None:
        """Keep the end of the standard error. A flood stops the reading, and the next line of output reports it."""
        assert self._process.stderr is not None
        try:
            while piece := await self._process.stderr.read(_PIECE):
                self._errors.add(piece)
                self._traffic.add_bytes(len(piece))
        except McpFailed as error:
            self._too_much = error
            self._tree.kill()
