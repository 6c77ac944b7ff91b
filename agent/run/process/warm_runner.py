"""The warm runner: a runner that is started before there is a run and reads its order from standard input.

The first argument is the file descriptor for replies. Standard input has lines of JSON: any number of `Expected` and
`Check`, then one `Order`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from ...models.counting import Counter
from ...models.open_model import begin_loading_for
from ...protocol import Refusal, RundryError, Unreachable, UserError
from ..client.start_request import Check, Expected, Order, Reply
from ..start.inputs import ProcessContext
from ..start.preflight import check_can_begin
from .refused_run import is_unused, remove_if_refused
from .runner import run_order


class _Line(msgspec.Struct):
    """The fields that distinguish the lines on standard input. An `Order` has neither."""

    check: dict[str, Any] | None = None
    model: Any = None


def serve() -> int:
    """Read one order, drive its run, and return the exit code: 0 if standard input is closed before an order."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    replies = _Replies(int(sys.argv[1]) if len(sys.argv) > 1 else None)
    line = _next_line()
    if line is None:
        return 0
    os.chdir("/")
    try:
        return asyncio.run(_serve(line, replies))
    except RundryError as error:
        print(f"rundry: {error}", file=sys.stderr)
        return 1


async def _run(order: Order, process: ProcessContext, replies: _Replies) -> int:
    """Drive the run; after that, a new run that was refused leaves no journal. Returns the exit code."""
    path = Path(order.journal)
    is_new = is_unused(path)
    outcome = await run_order(order, process=process, tell=replies.say)
    if is_new:
        remove_if_refused(path, outcome, lambda line: print(f"rundry: {line}", file=sys.stderr))
    return outcome.exit_code


class _Replies:
    """Sends replies to the view that started this runner, if it still exists."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        if descriptor is not None:
            os.set_inheritable(descriptor, False)

    def send(self, reply: Reply) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.write(self._descriptor, msgspec.json.encode(reply) + b"\n")

    def say(self, text: str) -> None:
        self.send(Reply(said=text))

    def refuse(self, error: RundryError) -> None:
        self.send(Reply(refused=str(error), later=isinstance(error, Unreachable)))


def _next_line() -> bytes | None:
    """Return the next `Check` or `Order`, or None at the end of the input. Prepare for each `Expected` model."""
    while (line := sys.stdin.buffer.readline()).strip():
        if msgspec.json.decode(line, type=_Line).model is None:
            return line
        _prepare(msgspec.json.decode(line, type=Expected))
    return None


def _prepare(expected: Expected) -> None:
    """Load in threads what the first call of the model will need."""
    if expected.is_typing:
        count = Counter(expected.model.name).text
        Thread(target=count, args=("the first count loads the encoding",), daemon=True).start()
    begin_loading_for(expected.model, os.environ)


async def _serve(line: bytes, replies: _Replies) -> int:
    """Answer each `Check`, then drive the run of the `Order`. Returns the exit code."""
    process = plain = ProcessContext()
    while msgspec.json.decode(line, type=_Line).check is not None:
        process = plain
        try:
            process = await check_can_begin(msgspec.json.decode(line, type=Check).check, plain, replies.say)
            replies.send(Reply(fits=True))
        except (Refusal, UserError) as error:
            replies.refuse(error)
        following = await asyncio.to_thread(_next_line)
        if following is None:
            return 0
        line = following
    try:
        return await _run(msgspec.json.decode(line, type=Order), process, replies)
    except (Refusal, UserError) as error:
        replies.refuse(error)
        raise
