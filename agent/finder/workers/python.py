"""A Python function of the user's that works an item, in child processes: never imported into the runner."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...protocol import UserError
from ...workspace import Sandbox
from .child import Child, ChildEnded
from .reply import last_words, one_line, read_reply
from .worker import Worked, WorkItem, as_json

_CHILD = Path(__file__).with_name("python_child.py")


class _Told(msgspec.Struct):
    """A line of a child's."""

    answer: msgspec.Raw = msgspec.Raw()
    raised: str | None = None


class PythonWorker:
    """Calls `module:function` with each item as a dict; what it returns is read as a command's answer is.

    The module is looked for in the workspace first. There are as many children as there were items at the same time;
    each is used again until it dies, or is ended because an item took too long.
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
        """Raises UserError where `function` is not written as `module:function`."""
        module, _, name = function.partition(":")
        if not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
            raise UserError(f"worker: python = {function!r}: write module:function")
        self._module, self._name, self._seconds, self._network = module, name, seconds, network
        self._workspace, self._env, self._sandbox = workspace, env, sandbox
        self._idle: list[Child] = []

    async def work(self, item: WorkItem) -> Worked:
        """What the function returned. Cancelling ends the child that calls it."""
        child = self._idle.pop() if self._idle else None
        try:
            async with asyncio.timeout(self._seconds):
                child = await self._living(child)
                line = await child.ask(as_json(item))
        except TimeoutError:
            return Worked(error=_with(await _ended(child), f"timed out after {self._seconds:g} s"))
        except ChildEnded as ended:
            return Worked(error=_with(await _ended(child), str(ended)))
        except asyncio.CancelledError:
            await _ended(child)
            raise
        self._idle.append(child)
        return _judged(line)

    async def close(self) -> None:
        """All children are ended."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(child.end() for child in idle))

    async def _living(self, child: Child | None) -> Child:
        """The one given where it lives, else a new one. Raises ChildEnded where none can be started."""
        if child is not None and child.is_alive:
            return child
        await _ended(child)
        # As text: a sandbox may hide the folder in which rundry itself stands.
        told = [_CHILD.read_text(), str(self._workspace), self._module, self._name]
        argv = self._sandbox.wrap([sys.executable, "-P", "-B", "-c", *told], self._workspace, network=self._network)
        return await Child.start(argv, cwd=self._workspace, env=self._env)


async def _ended(child: Child | None) -> bytes:
    return b"" if child is None else await child.end()


def _judged(line: bytes) -> Worked:
    try:
        told = msgspec.json.decode(line, type=_Told)
    except (msgspec.DecodeError, UnicodeError):
        return read_reply(line)  # half a character: says so
    return Worked(error=one_line(told.raised)) if told.raised is not None else read_reply(bytes(told.answer))


def _with(said: bytes, error: str) -> str:
    words = last_words(said)
    return one_line(f"{error}; it said: {words}") if words else error
