"""The runner: claims a run, drives it, obeys commands, and is the only one that appends events."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path

from ..journal import Journal, claim
from ..protocol import (
    CommandRefused,
    CommandTaken,
    LoopKind,
    Outcome,
    Refusal,
    RunStarted,
    Stamped,
    command_type,
)
from ..step import PersonInterrupted, verify
from .beginning import begin, take_up
from .conduct import Conduct, Parked
from .drive import drive
from .obey import obey
from .orders import Order
from .outcome import ended_event, outcome_of_parked, refused
from .outfit import load_model, outfit
from .tools_on_offer import tools_of

INBOX_SECONDS = 0.04
"""How often the inbox is looked at: what a person does takes effect within this."""


async def run_order(order: Order, on_event: Callable[[Stamped], None] = lambda stamped: None) -> Outcome:
    """Drives the ordered run to its outcome. Raises RunHeld, JournalError."""
    path = Path(order.journal)
    with claim(path):
        journal = Journal.open(path)
        try:
            return await _run(journal, order, on_event)
        finally:
            journal.close()


async def _run(journal: Journal, order: Order, on_event: Callable[[Stamped], None]) -> Outcome:
    try:
        kit = await outfit(journal, order, os.environ, on_event)
    except Refusal as refusal:
        return _refuse(journal, order, str(refusal), on_event)
    run = Conduct(kit, tools_of(journal.spec))
    with _signals(run):
        inbox = asyncio.create_task(_obey_inbox(run, order.stale))
        try:
            return await _live(run, order)
        finally:
            inbox.cancel()
            await asyncio.gather(inbox, return_exceptions=True)
            kit.gate.cancel_all("the run ended")
            await kit.close()


async def _live(run: Conduct, order: Order) -> Outcome:
    """Begins or takes up the run, drives it, and drives on when a person raises a limit after its end."""
    kit = run.kit
    if kit.facts.started:
        await take_up(run, order)
    else:
        begin(run, order)
    await _baseline(run)
    while True:
        try:
            outcome = await drive(run)
        except Parked:
            return outcome_of_parked(kit.facts, kit.journal.path)
        kit.record(ended_event(outcome), durable=True)
        if not (order.linger and await run.taken_up_again()):
            return outcome


async def _baseline(run: Conduct) -> None:
    """A goal that is met already needs no model."""
    if run.facts.spec.loop is LoopKind.GOAL and run.facts.step == 0 and not run.facts.checks:
        with contextlib.suppress(PersonInterrupted):
            await verify(run.kit, run.kit.recorder(None, None), claim=False, baseline=True)


async def _obey_inbox(run: Conduct, stale: list[int]) -> None:
    """Takes commands as they come; each is answered with an event, taken or refused."""
    left = set(stale)
    while True:
        if run.kit.journal.changed():
            for command_id, command in run.kit.journal.take():
                kind = command_type(command) if command is not None else "unknown"
                if command is None:
                    why = "this version does not know that command"
                elif command_id in left:
                    why = "it was given to a runner that died before it took it; give it again if you still want it"
                else:
                    why = await obey(run, command_id, command, load_model)
                if why is None:
                    run.kit.record(CommandTaken(command_id=command_id, command=kind))
                else:
                    run.kit.record(CommandRefused(command_id=command_id, command=kind, why=why))
            run.kit.news.set()
        await asyncio.sleep(INBOX_SECONDS)


@contextlib.contextmanager
def _signals(run: Conduct) -> Generator[None]:
    """SIGINT and SIGTERM end the run with an outcome."""
    loop = asyncio.get_running_loop()

    def stop(name: str) -> None:
        run.stop, run.stop_detail = "now", f"stopped by {name}"
        run.kit.gate.cancel_all(run.stop_detail)
        run.kit.interrupt("stop")
        run.kit.news.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number.name)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _refuse(journal: Journal, order: Order, detail: str, on_event: Callable[[Stamped], None]) -> Outcome:
    """A precondition does not hold: said in the journal, nothing else was touched."""
    spec = journal.spec
    outcome = refused(detail, str(journal.path))
    if journal.last_seq() == 0:
        on_event(
            journal.append(
                RunStarted(
                    run_id=spec.run_id,
                    loop=spec.loop,
                    task=spec.task,
                    workspace=spec.workspace,
                    model=spec.model.name,
                    budget=spec.budget,
                    journal=str(journal.path),
                    gate=spec.gate.mode,
                    notes=order.notes,
                )
            )
        )
    on_event(journal.append(ended_event(outcome), durable=True))
    return outcome
