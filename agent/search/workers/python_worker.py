"""Work an item with a Python function of the user, in child processes. The runner never imports it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.processes.command_output import HeadTail
from ...host.processes.process_tree import ProcessTree
from ...protocol import UserError
from ...protocol.text.shorten_text import line_cut
from ...sandbox.command_access import NO_ACCESS
from .refusal import with_refusal
from .reply import LONGEST, LONGEST_ERROR, read_reply, with_cause
from .worker import ItemResult, WorkItem, as_json

if TYPE_CHECKING:
    from ...sandbox.sandbox import Sandbox

_CHILD = Path(__file__).with_name("python_child.py")
_KEPT_ERRORS = 8_000
"""Bytes of standard error that are kept, including the last ones."""


class _ChildReply(msgspec.Struct):
    """One line of a child's answer."""

    answer: msgspec.Raw = msgspec.Raw()
    raised: str | None = None


class PythonWorker:
    """Call `module:function` with each item as a dict, and read what it returns like a command's answer.

    The workspace is searched for the module first. There are as many children as items are worked at the same time.
    Each is reused until it dies, or is ended because an item took too long.
    """

    def __init__(
        self,
        function: str,
        *,
        workspace: Path,
        env: Mapping[str, str],
        sandbox: Sandbox,
        seconds: float = 30.0,
    ) -> None:
        """Set the function. Raises UserError if `function` is not written as `module:function`."""
        module, _, name = function.partition(":")
        if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
            raise UserError(f"worker: python = {function!r}: write module:function")
        self._module, self._name, self._seconds = module, name, seconds
        self._workspace, self._env, self._sandbox = workspace, env, sandbox
        self._idle: list[_Child] = []

    async def work(self, item: WorkItem) -> ItemResult:
        """Return the function's result. Cancelling ends the child that runs it."""
        child = self._idle.pop() if self._idle else None
        try:
            async with asyncio.timeout(self._seconds):
                child = await self._living(child)
                line = await child.ask(as_json(item))
        except TimeoutError:
            return ItemResult(error=with_cause(f"timed out after {self._seconds:g} s", await _ended(child)))
        except _ChildEnded as ended:
            return ItemResult(error=with_cause(str(ended), await _ended(child)))
        except asyncio.CancelledError:
            await _ended(child)
            raise
        self._idle.append(child)
        return with_refusal(_judged(line), item, b"", self._sandbox, self._workspace)

    async def close(self) -> None:
        """End the idle child processes, and wait for them."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(child.end() for child in idle))

    async def _living(self, child: _Child | None) -> _Child:
        """Return the given child if it is alive, else a new one. Raises _ChildEnded if none can be started."""
        if child is not None and child.is_alive:
            return child
        await _ended(child)
        # As text: a sandbox may hide the folder of rundry's own code.
        arguments = [_CHILD.read_text(), str(self._workspace), self._module, self._name]
        argv = [sys.executable, "-P", "-B", "-c", *arguments]
        child = None
        for set_up in self._sandbox.starts():
            await _ended(child)
            wrapped = self._sandbox.wrap(argv, self._workspace, NO_ACCESS, report=set_up.descriptor)
            child = await _Child.start(wrapped, cwd=self._workspace, env=self._env, pass_fds=set_up.descriptors)
            try:
                if await set_up.wait():
                    break
            except BaseException:
                await child.end()
                raise
        assert child is not None
        return child


class _ChildEnded(Exception):
    """The child does not answer any more; the message says why."""


class _Child:
    """A process that answers one line at a time, and all that it starts. The caller must end it."""

    def __init__(
        self, process: asyncio.subprocess.Process, transport: asyncio.SubprocessTransport, processes: ProcessTree
    ) -> None:
        self._process, self._transport, self._processes = process, transport, processes
        self._errors = HeadTail(_KEPT_ERRORS)
        self._listening = asyncio.create_task(self._listen())

    @staticmethod
    async def start(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int] = ()) -> _Child:
        """Start a child. `pass_fds`: descriptors that it inherits. Raises _ChildEnded if that fails."""
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
            raise cancelled or _ChildEnded(f"it could not be started: {error.strerror or error}") from None
        processes.register_root(transport.get_pid())
        child = _Child(asyncio.subprocess.Process(transport, protocol, loop), transport, processes)
        if cancelled is not None:
            await child.end()
            raise cancelled
        return child

    @property
    def is_alive(self) -> bool:
        """Whether the process has not exited."""
        return self._process.returncode is None

    async def ask(self, line: bytes) -> bytes:
        """Return the child's answer to the line. Raises _ChildEnded if there is none."""
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
            raise _ChildEnded("it answered more than 64 MB") from None
        if answer.endswith(b"\n"):
            return answer
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._process.wait()
        raise _ChildEnded(self._how())

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


async def _ended(child: _Child | None) -> bytes:
    return b"" if child is None else await child.end()


def _judged(line: bytes) -> ItemResult:
    try:
        reply = msgspec.json.decode(line, type=_ChildReply)
    except (msgspec.DecodeError, UnicodeError):
        return read_reply(line)  # a lone surrogate: the error names it
    if reply.raised is not None:
        return ItemResult(error=line_cut(reply.raised, LONGEST_ERROR))
    return read_reply(bytes(reply.answer))
