"""Work an item with a Python function of the user, in child processes. The runner never imports it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import UserError
from ...workspace.sandbox.access import Access
from .child import Child, ChildEnded
from .reply import error_tail, one_line, read_reply
from .worker import ItemResult, WorkItem, as_json

if TYPE_CHECKING:
    from ...workspace.sandbox.sandbox import Sandbox

_CHILD = Path(__file__).with_name("python_child.py")


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
        network: bool = False,
    ) -> None:
        """Set the function. Raises UserError if `function` is not written as `module:function`."""
        module, _, name = function.partition(":")
        if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
            raise UserError(f"worker: python = {function!r}: write module:function")
        self._module, self._name, self._seconds, self._network = module, name, seconds, network
        self._workspace, self._env, self._sandbox = workspace, env, sandbox
        self._idle: list[Child] = []

    async def work(self, item: WorkItem) -> ItemResult:
        """Return the function's result. Cancelling ends the child that runs it."""
        child = self._idle.pop() if self._idle else None
        try:
            async with asyncio.timeout(self._seconds):
                child = await self._living(child)
                line = await child.ask(as_json(item))
        except TimeoutError:
            return ItemResult(error=_with(await _ended(child), f"timed out after {self._seconds:g} s"))
        except ChildEnded as ended:
            return ItemResult(error=_with(await _ended(child), str(ended)))
        except asyncio.CancelledError:
            await _ended(child)
            raise
        self._idle.append(child)
        return _judged(line)

    async def close(self) -> None:
        """End the idle child processes, and wait for them."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(child.end() for child in idle))

    async def _living(self, child: Child | None) -> Child:
        """Return the given child if it is alive, else a new one. Raises ChildEnded if none can be started."""
        if child is not None and child.is_alive:
            return child
        await _ended(child)
        # As text: a sandbox may hide the folder of rundry's own code.
        arguments = [_CHILD.read_text(), str(self._workspace), self._module, self._name]
        argv = [sys.executable, "-P", "-B", "-c", *arguments]
        child = None
        for set_up in self._sandbox.starts():
            await _ended(child)
            wrapped = self._sandbox.wrap(argv, self._workspace, Access(network=self._network), report=set_up.descriptor)
            child = await Child.start(wrapped, cwd=self._workspace, env=self._env, pass_fds=set_up.descriptors)
            try:
                if await set_up.wait():
                    break
            except BaseException:
                await child.end()
                raise
        assert child is not None
        return child


async def _ended(child: Child | None) -> bytes:
    return b"" if child is None else await child.end()


def _judged(line: bytes) -> ItemResult:
    try:
        reply = msgspec.json.decode(line, type=_ChildReply)
    except (msgspec.DecodeError, UnicodeError):
        return read_reply(line)  # a lone surrogate: the error names it
    return ItemResult(error=one_line(reply.raised)) if reply.raised is not None else read_reply(bytes(reply.answer))


def _with(errors: bytes, error: str) -> str:
    words = error_tail(errors)
    return one_line(f"{error}; standard error: {words}") if words else error
