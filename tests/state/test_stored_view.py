"""A screen that starts from what the runner stored shows the same as one that folds all events."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from attacks.hostile import filled
from fakes.played_events import spec, started
from sampling import sampled

from rundry.agent import Block, FinderSpec, Journal, Lens, LoopKind, ViewState, load_older, reduce
from rundry.agent.protocol import (
    Event,
    ImproveSpec,
    RunStarted,
    StepStarted,
)
from rundry.agent.protocol.events.base import EventBase
from rundry.agent.state.facts.checkpoint import checkpoint_seq, facts_of, free_memory
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.view import transcript_pages
from rundry.agent.state.view.reduce import show_event
from rundry.agent.state.view.stored_views import store_view, stored_view
from rundry.agent.state.view.transcript_entries import Blocks

KINDS = [kind for kind in EventBase.__subclasses__() if kind is not RunStarted]
WORDS = ("a", "b", "c")
LOOPS: dict[str, Callable[[], dict[str, Any]]] = {
    "goal": dict,
    "chat": lambda: {"loop": LoopKind.CHAT},
    "improve": lambda: {"loop": LoopKind.IMPROVE, "improve": ImproveSpec(score="true")},
    "search": lambda: {"loop": LoopKind.UNTIL_DRY, "finder": FinderSpec(lenses=[Lens(name="a", prompt="look")])},
}


def random_events(pick: random.Random, count: int) -> list[tuple[Event, int | None, str | None]]:
    """Events of all kinds whose texts and names are often the same, so that they are about each other."""
    found: list[tuple[Event, int | None, str | None]] = []
    for number in range(count):
        word = pick.choice(WORDS)
        kind = pick.choice(KINDS)
        event = filled(kind, word, **({"number": number} if kind is StepStarted else {}))
        if hasattr(event, "kind"):
            event = msgspec.structs.replace(event, kind=pick.choice(allowed(kind)))
        found.append((event, pick.choice([None, 1, number]), pick.choice([None, "lens:a", "item:b"])))
    return found


def allowed(kind: type[Event]) -> list[str]:
    """The values that the field `kind` of an event can have; of an open text some."""
    return list(get_args(get_type_hints(kind)["kind"])) or ["task", "say", "hint"]


def shown(state: ViewState) -> dict[str, Any]:
    """All that is shown."""
    found = {
        each.name: getattr(state, each.name) for each in fields(state) if each.name not in ("blocks", "changed_from")
    }
    return found | {"blocks": [as_read(block) for block in state.blocks]}


def as_read(block: Block) -> Block:
    return replace(block, detail=block.whole_detail, packed=b"")


def whole(journal: Journal) -> ViewState:
    state = ViewState()
    for stamped in journal.read():
        reduce(state, stamped)
    return state


def attached(journal: Journal) -> ViewState:
    state = stored_view(journal, limit=20) or ViewState()
    load_older(state, journal)
    assert state.last_seq
    for stamped in journal.read(state.last_seq):
        reduce(state, stamped)
    return state


def kept(journal: Journal, stop: int) -> None:
    """Store what a runner knows after that event."""
    facts = RunFacts(journal.spec)
    state = ViewState(blocks=Blocks(limit=10), finder=facts.finder)
    load_older(state, journal)
    for stamped in journal.read(0, stop):
        facts.apply(stamped)
        free_memory(journal, facts, stamped)
        show_event(state, stamped)
    store_view(journal, facts, state, is_first=True)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("seed", sampled(range(2), 1))
def test_from_any_checkpoint_everything_shown_is_as_in_the_fold_of_all_events(tmp_path: Path, loop: str, seed: int):
    pick = random.Random(seed)
    journal = Journal.create(tmp_path / "r1.db", spec(**LOOPS[loop]()))
    with journal.transaction():
        journal.append(started(**LOOPS[loop]()))
        for event, step, work in random_events(pick, 1_200):
            journal.append(event, step=step, work=work)
    expected = shown(whole(journal))
    assert len(expected["blocks"]) > 2 * transcript_pages.PAGE_BLOCKS
    for stop in (1, journal.last_seq(), *(pick.randrange(2, journal.last_seq()) for _ in range(2))):
        kept(journal, stop)
        found = shown(attached(journal))
        for name, value in expected.items():
            assert found[name] == value, (stop, name)
    journal.close()


def as_stored(facts: RunFacts) -> RunFacts:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=RunFacts)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("seed", sampled(range(2), 1))
def test_from_any_checkpoint_a_runner_knows_what_the_fold_of_all_events_tells(tmp_path: Path, loop: str, seed: int):
    pick = random.Random(seed)
    journal = Journal.create(tmp_path / "r1.db", spec(**LOOPS[loop]()))
    with journal.transaction():
        journal.append(started(**LOOPS[loop]()))
        for event, step, work in random_events(pick, 1_200):
            journal.append(event, step=step, work=work)
    events = journal.read()
    whole_facts = RunFacts(journal.spec)
    for stamped in events:
        whole_facts.apply(stamped)
        free_memory(journal, whole_facts, stamped)
    for stop in (1, len(events), *(pick.randrange(2, len(events)) for _ in range(3))):
        kept(journal, stop)
        assert checkpoint_seq(journal) == stop
        assert as_stored(facts_of(journal)) == as_stored(whole_facts), stop
    journal.close()
