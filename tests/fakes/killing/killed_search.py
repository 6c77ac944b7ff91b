"""A seeded search by lenses, sceptics and a critic, killed by SIGKILL after its n-th event and resumed.

As a program: `python -m fakes.killing.killed_search FOLDER STEP [leads]` kills at every STEP-th event, each time in a
process of its own (a fork: the imports are paid once), and prints what differed from the run that nobody killed, a line
each. With `leads` the items that lenses report are worked.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rundry.agent.host.real_clock import SystemClock
from rundry.agent.journal.journal import Journal
from rundry.agent.models.open_model import ModelOpener
from rundry.agent.protocol import (
    Budget,
    FinderSpec,
    LeadsSpec,
    Lens,
    LoopKind,
    ModelFault,
    ModelSpec,
    Request,
    RunSpec,
    Seed,
    Stamped,
    WorkFinished,
)
from rundry.agent.run.client.start_request import Order, ResumeChanges
from rundry.agent.run.process.runner import run_order
from rundry.agent.run.start.inputs import ProcessContext
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import State
from rundry.agent.state.facts.run_facts import fold

from ..in_process.headless_run import spec_of
from ..models.model_by_role import ModelByRole, judge, report
from ..turns import Turn, call

HIDDEN = {"taint": ["t1", "t2", "t3"], "auth": ["a1", "t2"], "ends": ["e1"]}
"""Lens to what there is to be found by it, one or two a pass."""
REFUTED = ("t2", "e1")


class QuickClock(SystemClock):
    """Nobody waits for long."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


class Seeded(ModelByRole):
    """Answers from the request alone, so that it is the same model after a kill."""

    def __init__(self) -> None:
        super().__init__({})
        self._faults = 4

    def choose(self, request: Request) -> Turn | ModelFault:
        assert_legal(request)
        system, told = request.messages[0].text, "\n".join(m.text for m in request.messages)
        if "Try to refute it" in system:
            title = told.split("Finding `title:", 1)[1].split("`", 1)[0]
            if request.messages[-1].role == "user":
                return call("read_file", path="a.txt")
            return judge("refuted" if title in REFUTED else "stands", f"on {title}")
        if "You work one item" in system:
            if request.messages[-1].role == "user":
                return call("read_file", path="a.txt")
            return report("t2", items=[("file", "deep.txt")])
        if "run dry" in system:
            if "ends" in told:
                return call("propose", reason="nothing is missing")
            return call("propose", reason="the ends", lens={"name": "ends", "prompt": "look at the ends"})
        name = system.split("Your way to look is `", 1)[1].split("`", 1)[0]
        if name == "auth" and self._faults:
            self._faults -= 1
            return ModelFault("server", "once more, please", retryable=True)
        if request.messages[-1].role == "user":
            return call("read_file", path="a.txt")
        known = request.messages[-3].text
        new = [title for title in HIDDEN[name] if f"- {title}" not in known][:1]
        return report(*new, *HIDDEN[name][:1], items=[("file", f"{name}.txt")])


def assert_legal(request: Request) -> None:
    """Each call is answered once, in order."""
    asked = [one.call_id for m in request.messages for one in m.calls]
    answered = [m.call_id for m in request.messages if m.role == "tool"]
    assert asked == answered, (asked, answered)


def spec(place: Path, *, leads: bool = False) -> RunSpec:
    return spec_of(
        None,
        place,
        task="find it",
        loop=LoopKind.UNTIL_DRY,
        budget=Budget(steps=400, tokens=None),
        finder=FinderSpec(
            lenses=[Lens(name=name, prompt=f"look like {name}") for name in ("taint", "auth")],
            seeds=[Seed(kind="file", value="a.txt")],
            sceptics=3,
            retries=1000,
            concurrency=4,
            leads=LeadsSpec(work=leads, steps=300),
        ),
    )


class _Opener(ModelOpener):
    """Opens a seeded model, whatever the spec."""

    async def open(self, spec: ModelSpec) -> Seeded:
        return Seeded()


def drive(path: Path, kill_after: int = 0) -> None:
    """To its end; killed right after that many events."""
    left = kill_after

    def see(_: Stamped) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    order = Order(journal=str(path), changes=ResumeChanges())
    outcome = asyncio.run(run_order(order, see, ProcessContext(opener=_Opener(), clock=QuickClock())))
    assert outcome.reason == "dry" and outcome.complete, (outcome.reason, outcome.detail)


def forked(work: Callable[[], None]) -> int:
    """Its exit status in a process of its own."""
    if (child := os.fork()) == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child must not continue as its parent
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def ends(path: Path) -> dict[str, Any]:
    """What must be the same, however often it was killed; and what may never be."""
    journal = Journal.open(path)
    events = journal.read()
    facts = fold(journal.spec, events)
    found, view = facts.finder, FrontierView(journal)
    assert found is not None
    votes = [(s.event.key, s.event.by) for s in events if type(s.event).__name__ == "VoteCast"]  # type: ignore[union-attr]
    counts, items = view.counts(), {state.value: {row.key for row in view.page(state)} for state in State}
    journal.close()
    charges = sum(type(s.event).__name__ == "Charged" for s in events)
    admitted = sum(type(s.event).__name__ == "CallAdmitted" for s in events)
    faults = sum(type(s.event).__name__ == "Fault" for s in events)
    assert len(votes) == len(set(votes)), f"a sceptic judged twice: {votes}"
    assert charges + faults == admitted, f"{admitted} calls, {charges} charges, {faults} faults"
    assert (counts.seen, counts.queued, counts.done) == (len(items["done"]), 0, found.done), (counts, found)
    assert (found.queued, found.working, found.set_aside, found.flights) == (0, 0, 0, {}), found
    assert not any(isinstance(s.event, WorkFinished) and s.event.set_aside for s in events)
    return {
        "items": items,
        "verdicts": {key: f.verdict for key, f in found.findings.items()},
        "votes": {key: sorted(v.verdict for v in f.votes) for key, f in found.findings.items()},
        "by_lenses": [
            sum(getattr(lens, of) for lens in found.lenses.values()) for of in ("new", "confirmed", "refuted")
        ],
        "streak": found.streak >= 2,
    }


def main() -> None:
    folder, step, leads = Path(sys.argv[1]), int(sys.argv[2]), "leads" in sys.argv
    place = folder / "place"
    place.mkdir(exist_ok=True)
    (place / "a.txt").write_text("one\ntwo\n")
    whole = folder / "whole.db"
    Journal.create(whole, spec(place, leads=leads)).close()
    assert forked(lambda: drive(whole)) == 0
    expected = ends(whole)
    journal = Journal.open(whole)
    events = journal.last_seq()
    journal.close()
    for n in range(1, events, step):
        path = folder / f"killed{n}.db"
        Journal.create(path, spec(place, leads=leads)).close()
        status = forked(lambda path=path, n=n: drive(path, n))
        forked(lambda path=path, n=n: drive(path, 7))
        again = forked(lambda path=path: drive(path))
        try:
            assert again == 0, f"exit {again}"
            assert ends(path) == expected, (ends(path), expected)
        except AssertionError as error:
            print(f"killed after {n} ({status}): {error}")
        shutil.rmtree(path.with_suffix(".snapshots"), ignore_errors=True)
    print(f"{events} events", file=sys.stderr)


if __name__ == "__main__":
    main()
