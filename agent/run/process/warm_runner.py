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
from dataclasses import replace
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
from ..start.sandbox_of_run import EarlyTrial, try_early
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
    os.chdir("/")
    try:
        return asyncio.run(_serve(replies))
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


def _next_line() -> bytes:
    """Return the next line of standard input, or an empty one at its end."""
    return sys.stdin.buffer.readline().strip()


async def _prepare(expected: Expected, tried: EarlyTrial | None) -> EarlyTrial | None:
    """Load in threads what the first call of the model will need, and try the sandbox. Returns its trial."""
    if expected.is_typing and expected.spec is not None:
        tried = await try_early(expected.spec, Path(expected.runs), tried)
    if expected.is_typing:
        count = Counter(expected.model.name).text
        Thread(target=count, args=("the first count loads the encoding",), daemon=True).start()
    begin_loading_for(expected.model, os.environ)
    return tried


async def _serve(replies: _Replies) -> int:
    """Prepare for each `Expected`, answer each `Check`, then drive the run of the `Order`. Returns the exit code."""
    process = ProcessContext()
    while True:
        line = await asyncio.to_thread(_next_line)
        if not line:
            if process.tried is not None:
                await process.tried.give_up()
            return 0
        kind = msgspec.json.decode(line, type=_Line)
        if kind.model is not None:
            tried = await _prepare(msgspec.json.decode(line, type=Expected), process.tried)
            process = replace(process, tried=tried)
        elif kind.check is not None:
            process = await _checked(msgspec.json.decode(line, type=Check), process, replies)
        else:
            return await _run_order(msgspec.json.decode(line, type=Order), process, replies)


async def _checked(asked: Check, process: ProcessContext, replies: _Replies) -> ProcessContext:
    """Answer a check. Returns what it found out for the run, or a context without that if the run is refused."""
    plain = ProcessContext(tried=process.tried)
    try:
        checked = await check_can_begin(asked.check, plain, replies.say, Path(asked.runs))
    except (Refusal, UserError) as error:
        replies.refuse(error)
        return ProcessContext()
    replies.send(Reply(fits=True))
    return checked


async def _run_order(order: Order, process: ProcessContext, replies: _Replies) -> int:
    try:
        return await _run(order, process, replies)
    except (Refusal, UserError) as error:
        replies.refuse(error)
        raise
