"""What a long run forgets comes back from the journal, and what it packs reads the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.played_events import spec, started

from rundry.agent import Journal
from rundry.agent.protocol import (
    ContextTrimmed,
    ConversationCut,
    Event,
    Prompted,
    ReplyFinished,
    Rewound,
    Said,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)
from rundry.agent.state.facts.action_log import ActionLog
from rundry.agent.state.facts.checkpoint import checkpoint_seq, facts_of, save
from rundry.agent.state.facts.conversation import main_conversation
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.facts.standing_changes import StepPlaces
from rundry.agent.state.facts.tool_actions import Action


def action(number: int) -> Action:
    return Action(f"c{number}", "read_file", {"path": f"{number}.py"}, number, True, "text", None, number)


def test_packed_actions_read_as_they_were_made():
    made = [action(number) for number in range(1_234)]
    log = ActionLog.of(made)
    assert log.packed and list(log) == made and len(log) == len(made)
    assert [log[0], log[399], log[-1]] == [made[0], made[399], made[-1]]
    assert log[-10:] == made[-10:]


def test_an_action_that_has_no_result_yet_is_not_packed():
    made = [action(number) for number in range(900)]
    made[3] = replace(made[3], ok=None)
    log = ActionLog.of(made)
    assert not log.packed
    log.newest[3] = action(3)
    log.append(action(900))
    assert log.packed and log[3] == action(3)


def test_the_place_of_each_step_is_found_and_of_no_other():
    places = StepPlaces()
    for number in (1, 2, 5, 9, 5):
        places.put(number, 10 * number)
    places.put(9, 91)
    assert [places.get(number) for number in (0, 1, 2, 3, 5, 9, 10, None)] == [None, 10, 20, None, 50, 91, None, None]


def step(number: int) -> list[Event]:
    return [
        StepStarted(number=number),
        TextArrived(text=f"I look at {number}"),
        ReplyFinished(finish="tool_calls", calls=1),
        ToolCalled(call_id=f"c{number}", tool="read_file", arguments={"path": "a.py"}),
        ToolFinished(call_id=f"c{number}", tool="read_file", ok=True, result=f"result {number}"),
        StepFinished(number=number),
    ]


def trimmed(upto: int) -> ContextTrimmed:
    return ContextTrimmed(upto=upto, dropped_messages=upto - 2, dropped_tokens=9, window=99)


@pytest.fixture
def journal(tmp_path: Path):
    journal = Journal.create(tmp_path / "r1.db", spec())
    yield journal
    journal.close()


@pytest.mark.parametrize("last", [None, Rewound(upto=12, step=2), ConversationCut(summary="all", kept=1)])
def test_a_conversation_that_forgot_its_dropped_messages_sends_the_same(journal: Journal, last: Event | None):
    facts = RunFacts(journal.spec)
    events: list[Event] = [started(), Prompted(kind="system", text="system"), Said(text="task", kind="task")]
    for number in range(1, 30):
        events += step(number)
    events += [trimmed(40), *step(30), trimmed(44), *step(31)]
    for event in [*events, *([last] if last is not None else [])]:
        facts.apply(journal.append(event))
        if isinstance(event, ContextTrimmed | ConversationCut):
            facts.main.forget_dropped()
    whole = main_conversation(journal, facts.last_seq)
    assert facts.main.is_partial and not whole.is_partial
    if isinstance(last, Rewound):
        facts.conversations[None] = whole
    assert facts.main.current() == whole.current()
    assert len(facts.main.messages) + facts.main.forgotten == len(whole.messages)


def test_a_run_that_went_back_after_a_checkpoint_has_its_forgotten_messages_again(journal: Journal):
    facts = RunFacts(journal.spec)
    events: list[Event] = [started(), Prompted(kind="system", text="system"), Said(text="task", kind="task")]
    for number in range(1, 30):
        events += step(number)
    for event in [*events, trimmed(40)]:
        facts.apply(journal.append(event))
    facts.main.forget_dropped()
    save(journal, facts)
    journal.append(Rewound(upto=12, step=2))
    found = facts_of(journal)
    assert checkpoint_seq(journal) == facts.last_seq == found.last_seq - 1
    assert found.main.current() == main_conversation(journal, found.last_seq).current() != []
