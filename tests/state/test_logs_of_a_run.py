"""The calls and changes of a long run: a checkpoint moves the older ones to the journal, and all read the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.played_events import spec

from rundry.agent import Journal
from rundry.agent.protocol import (
    Event,
    FileChanged,
    JournalError,
    PassFinished,
    PassStarted,
    ProposalDecided,
    ProposalOpened,
    Rewound,
    Stamped,
    StepStarted,
    ToolCalled,
    ToolFinished,
    Undone,
)
from rundry.agent.state.common.person_requests import PersonRequests, next_proposal_id
from rundry.agent.state.facts.change_log import FileEffect, RecordedChange
from rundry.agent.state.facts.checkpoint import facts_of
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.facts.standing_changes import Changes, standing_changes
from rundry.agent.state.view.stored_views import store_view
from rundry.agent.state.view.transcript_entries import Blocks
from rundry.agent.state.view.view_state import ViewState


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.create(tmp_path / "r1.db", spec())
    yield journal
    journal.close()


def edit(number: int) -> list[Event]:
    call, path = f"call_{number}_1", f"{number % 7}.py"
    return [
        StepStarted(number=number),
        ToolCalled(call_id=call, tool="edit_file", arguments={"path": path}),
        FileChanged(path=path, by="model", before=f"b{number}", after=f"a{number}"),
        ToolFinished(call_id=call, tool="edit_file", ok=True, result=f"edited {number}"),
    ]


def played(journal: Journal, facts: RunFacts, first: int, last: int) -> None:
    with journal.transaction():
        stamped = [journal.append(event, step=n) for n in range(first, last + 1) for event in edit(n)]
    for each in stamped:
        facts.apply(each)


def stored(journal: Journal, facts: RunFacts) -> None:
    store_view(journal, facts, ViewState(blocks=Blocks(limit=10)), is_first=True)


def folded(journal: Journal) -> RunFacts:
    facts = RunFacts(journal.spec)
    for stamped in journal.read():
        facts.apply(stamped)
    return facts


def test_what_a_checkpoint_moved_to_the_journal_reads_the_same(journal: Journal):
    facts = RunFacts(journal.spec)
    played(journal, facts, 1, 900)
    stored(journal, facts)
    assert facts.actions.packed == facts.changes.standing.packed == [None] * 3
    played(journal, facts, 901, 1_500)
    whole = folded(journal)
    for found in (facts, facts_of(journal)):
        assert list(found.actions) == list(whole.actions)
        assert found.actions[-700:-690] == whole.actions[-700:-690] and found.actions[333] == whole.actions[333]
        assert found.changes.since(420) == whole.changes.since(420) != []
        assert found.changes.standing[-1_200:] == whole.changes.standing[-1_200:]
        assert found.applied == whole.applied and found.touched() == whole.touched()


@pytest.mark.parametrize(
    "last",
    [[Undone(changes=850)], [Rewound(upto=200, step=50)], [PassFinished(number=1, verdict="reverted")]],
    ids=["undone", "rewound", "reverted"],
)
def test_what_is_taken_back_is_gone_from_stored_parts_too(journal: Journal, last: list[Event]):
    facts = RunFacts(journal.spec)
    played(journal, facts, 1, 30)
    facts.apply(journal.append(PassStarted(number=1)))
    played(journal, facts, 31, 900)
    stored(journal, facts)
    for event in last:
        facts.apply(journal.append(event))
    played(journal, facts, 901, 1_400)
    whole = folded(journal)
    stored(journal, facts)
    for found in (facts, facts_of(journal)):
        assert list(found.actions) == list(whole.actions)
        assert list(found.changes.standing) == list(whole.changes.standing)
    assert list(standing_changes(journal).standing) == list(whole.changes.standing)


def test_a_checkpoint_that_was_rolled_back_loses_no_part(journal: Journal):
    facts = RunFacts(journal.spec)
    played(journal, facts, 1, 900)
    with pytest.raises(ZeroDivisionError), journal.transaction():
        stored(journal, facts)
        raise ZeroDivisionError
    assert list(facts.actions) == list(folded(journal).actions)


def test_a_damaged_part_is_reported_and_never_read_as_something_else(journal: Journal):
    facts = RunFacts(journal.spec)
    played(journal, facts, 1, 900)
    stored(journal, facts)
    journal.write("UPDATE chunks SET body = zeroblob(40) WHERE log = 'actions' AND place = 1")
    assert facts.actions[100].ok
    with pytest.raises(JournalError, match="part 1 of its list of actions"):
        list(facts.actions)


def test_a_command_that_still_runs_is_not_packed_before_all_that_it_changed_is_known():
    changes, journal_place = Changes(), iter(range(1, 10_000))

    def apply(event: Event, work: str | None) -> None:
        changes.apply(Stamped(next(journal_place), 0.0, 1, work, event))

    apply(ProposalOpened(proposal_id="p_c", call_id="c", tool="run_command", command="make"), "item:a")
    apply(ProposalDecided(proposal_id="p_c", decision="approve", by="person"), "item:a")
    apply(FileChanged(path="first", by="command", before=None, after="x"), "item:a")
    for number in range(900):
        apply(FileChanged(path=f"{number}", by="model", before=None, after="y"), None)
    apply(FileChanged(path="second", by="command", before=None, after="z"), "item:a")
    assert not changes.standing.packed
    first = changes.standing[0]
    assert isinstance(first, RecordedChange) and first.files == {
        "first": FileEffect(None, "x"),
        "second": FileEffect(None, "z"),
    }
    apply(ToolFinished(call_id="c", tool="run_command", ok=True, result=""), "item:a")
    apply(FileChanged(path="last", by="model", before=None, after="y"), None)
    assert changes.standing.packed


def test_ids_of_proposals_are_unique_and_forgotten_with_their_calls():
    asking, given = PersonRequests(), list[str]()
    for number in range(50):
        call = f"call_{number}_1"
        for call_id in (call, "", call):
            name = next_proposal_id(call_id, asking.proposal_ids)
            given.append(name)
            asking.apply(Stamped(1, 0.0, 1, None, ProposalOpened(proposal_id=name, call_id=call_id, tool="edit_file")))
        asking.apply(Stamped(1, 0.0, 1, None, ToolFinished(call_id=call, tool="edit_file", ok=True, result="")))
    assert len(set(given)) == len(given) and given[:3] == ["p_call_0_1", "p_x", "p_call_0_1.2"]
    assert asking.proposal_ids == ["p_x.50"]
