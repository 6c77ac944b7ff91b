from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rundry.agent.journal.integrity.journal_tail import read_tail
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget as Limits,
    Event,
    JournalError,
    LoopKind,
    RunSpec,
    RunStarted,
    Spent,
    Stamped,
    StepStarted,
    TextArrived,
    Tokens,
    ToolCalled,
    ToolFinished,
    Undone,
    Unknown,
    decode_event,
    encode_event,
    event_type,
    to_json_line,
)


@pytest.mark.parametrize(
    "event", [StepStarted(number=1), Undone(changes=1, step=9), Unknown("later", b'{"type":"later","step":9,"x":[1]}')]
)
def test_a_line_of_json_holds_the_envelope_and_the_event_whose_own_words_win(event: Event) -> None:
    line = to_json_line(Stamped(4, 1.5, 3, "lens a", event))
    envelope = {"seq": 4, "at": 1.5, "step": 3, "work": "lens a"}
    assert json.loads(line) == {**envelope, **json.loads(encode_event(event))}
    assert line.count(b'"step"') == 1


def texts(journal: Journal, after: int = 0) -> list[str]:
    return [s.event.text for s in journal.read(after) if isinstance(s.event, TextArrived)]


def test_events_come_back_as_they_were_appended_in_order(journal: Journal) -> None:
    journal.now = lambda: 1_795_000_000.25
    first = journal.append(StepStarted(number=1), step=1)
    second = journal.append(TextArrived(text="hällo\n"), step=1, work="lens a")
    assert journal.read() == [first, second]
    assert (second.seq, second.at, second.step, second.work) == (2, 1_795_000_000.25, 1, "lens a")
    assert journal.read(after=1) == [second]
    assert journal.read(without=[StepStarted]) == [second]
    assert journal.read(without=[StepStarted, TextArrived]) == []
    assert journal.read(limit=1) == [first]
    assert journal.last_seq() == 2


def test_a_reopened_journal_has_the_spec_and_continues_with_the_next_seq(
    tmp_path: Path, make_spec: Callable[..., RunSpec]
) -> None:
    spec = make_spec(budget=Limits(steps=7, usd=None), loop=LoopKind.NAIVE, extra={"lens": ["a"]})
    path = tmp_path / "deep" / "runs" / "a.db"
    made = Journal.create(path, spec)
    made.append(TextArrived(text="one"))
    made.close()
    again = Journal.open(path)
    assert again.spec == spec
    assert again.append(TextArrived(text="two")).seq == 2
    assert texts(again) == ["one", "two"]
    again.close()


def test_the_use_that_is_recorded_next_to_a_journal_stays_until_another_is_noted(
    tmp_path: Path, make_spec: Callable[..., RunSpec]
) -> None:
    path, spent = tmp_path / "runs" / "a.db", Spent(steps=3, held_tokens=1_000, held_usd=0.5, seconds=9.0)
    made = Journal.create(path, make_spec())
    made.append(StepStarted(number=1))
    made.note_spent(spent)
    made.close()
    again = Journal.open(path)
    again.append(StepStarted(number=2))
    assert (tail := read_tail(path)) is not None and (tail.seq, tail.spent) == (2, spent)
    more = Spent(steps=4, tokens=Tokens(900, 100), usd=0.5, held_tokens=1_000, held_usd=0.125, seconds=11.0)
    again.note_spent(more, with_next=True)
    again.append(StepStarted(number=3))
    assert (tail := read_tail(path)) is not None and (tail.seq, tail.spent.figures) == (3, (4, 2_000, 0.625, 11.0))
    again.close()


def test_a_transaction_is_one_commit_that_others_see_whole(journal: Journal) -> None:
    other = Journal.open(journal.path)
    with journal.transaction():
        journal.append(TextArrived(text="a"))
        journal.append(TextArrived(text="b"), durable=True)
        assert texts(other) == []
        assert texts(journal) == ["a", "b"]
    assert texts(other) == ["a", "b"]
    other.close()


def test_an_exception_undoes_its_transaction_and_no_other(journal: Journal) -> None:
    with journal.transaction():
        journal.append(TextArrived(text="kept"))
        with pytest.raises(ZeroDivisionError), journal.transaction():
            journal.append(TextArrived(text="undone"))
            raise ZeroDivisionError
        journal.append(TextArrived(text="kept too"))
    with pytest.raises(ZeroDivisionError), journal.transaction():
        journal.append(TextArrived(text="undone too"))
        raise ZeroDivisionError
    assert texts(journal) == ["kept", "kept too"]
    assert [s.seq for s in journal.read()] == [1, 2]
    assert journal.append(TextArrived(text="next")).seq == 3


def test_a_transaction_of_one_thread_keeps_the_others_out(journal: Journal) -> None:
    done: list[int] = []
    with journal.transaction():
        journal.append(TextArrived(text="first"))
        other = threading.Thread(target=lambda: done.append(journal.append(TextArrived(text="second")).seq))
        other.start()
        other.join(0.05)
        assert done == []
        journal.append(TextArrived(text="still first"))
    other.join()
    assert texts(journal) == ["first", "still first", "second"]


def test_a_change_is_noticed_once_whoever_made_it(journal: Journal) -> None:
    other = Journal.open(journal.path)
    assert journal.changed()
    assert not journal.changed()
    journal.append(TextArrived(text="own"))
    assert journal.changed()
    assert not journal.changed()
    assert other.changed()
    assert not other.changed()
    other.views.beat("screen")
    assert journal.changed()
    assert not journal.changed()
    other.close()


def test_blobs_are_exact_and_stored_once(journal: Journal) -> None:
    data = bytes(range(256)) * 1000 + b"sk-proj-AAAAAAAAAAAAAAAAAAAAAAAA1"
    sha = journal.blobs.keep(data)
    assert journal.blobs.keep(data) == sha
    assert journal.blobs.load(sha) == data
    assert journal.blobs.load(journal.blobs.keep(b"")) == b""
    with pytest.raises(KeyError):
        journal.blobs.load("0" * 64)


def test_what_an_older_version_does_not_know_is_kept_as_it_is(journal: Journal) -> None:
    raw = b'{"type":"thing_of_2030","text":"hello"}'
    journal.append(Unknown("thing_of_2030", raw))
    assert journal.read()[0].event == Unknown("thing_of_2030", raw)


@pytest.mark.parametrize("raw", [b'{"type":"thing_of_2030","te', b"\xff", b""])
def test_a_damaged_event_is_not_taken_for_one_that_an_older_version_does_not_know(journal: Journal, raw: bytes) -> None:
    journal.append(StepStarted(number=1))
    journal.append(Unknown("thing_of_2030", raw))
    assert [event_type(stamped.event) for stamped in journal.read()] == ["step_started", "damaged"]


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("woken", b'{"type":"woken","by":"satellite","slept":3.0}'),
        ("prompted", b'{"type":"prompted","kind":"of_2030","text":"hello"}'),
        ("work_started", b'{"type":"work_started","kind":"oracle","about":"x"}'),
        ("rule_added", b'{"type":"rule_added","rule":{"verdict":"perhaps","path":"x"}}'),
    ],
)
def test_an_event_with_a_value_that_this_version_does_not_know_is_kept_and_the_others_are_read(
    journal: Journal, name: str, raw: bytes
) -> None:
    journal.append(StepStarted(number=1))
    journal.append(Unknown(name, raw))
    journal.append(StepStarted(number=2))
    events = [stamped.event for stamped in journal.read()]
    assert events == [StepStarted(number=1), Unknown(name, raw), StepStarted(number=2)]
    assert [encode_event(event) for event in events][1] == raw


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"prompted","kind":"instructions","text":"x"}',
        b'{"type":"prompted","kind":"wheel","text":"x"}',
        b'{"type":"fault","kind":"rate-limit","text":"429"}',
        b'{"type":"model_switched","model":"m","by":"escalate"}',
        b'{"type":"file_changed","path":"a","by":"background","before":null,"after":null}',
        b'{"type":"stall_detected","kind":"same-error","signature":"x","response":"handoff"}',
        b'{"type":"pass_finished","number":1}',
        b'{"type":"finding_judged","key":"k","verdict":"confirmed","by":"none"}',
        b'{"type":"guard_approved","path":"t.py","kind":"absent"}',
        b'{"type":"sleeping","seconds":1.0,"asked":1.0,"why":"x"}',
    ],
)
def test_events_as_the_first_versions_wrote_them_are_known(raw: bytes) -> None:
    name = msgspec.json.decode(raw)["type"]
    assert not isinstance(decode_event(name, raw), Unknown)


def test_an_event_that_json_cannot_hold_is_recorded_as_near_as_can_be(journal: Journal) -> None:
    said = journal.append(TextArrived(text="caf\udce9 \ud83d\ude00"))
    assert said.event == TextArrived(text="caf\ufffd \U0001f600")
    called = journal.append(ToolCalled(call_id="c", tool="t", arguments={"n": [10**30], "name\udcff": True}))
    assert called.event == ToolCalled(call_id="c", tool="t", arguments={"n": [str(10**30)], "name\ufffd": True})
    assert [s.event for s in journal.read()] == [said.event, called.event]


def test_meta_values_are_stored_and_replaced(journal: Journal) -> None:
    assert journal.meta("tree") is None
    journal.set_meta("tree", "a")
    journal.set_meta("tree", "b")
    assert journal.meta("tree") == "b"


def test_a_journal_is_for_its_owner_only_whatever_the_umask(tmp_path: Path, make_spec: Callable[..., RunSpec]) -> None:
    for umask in (0o000, 0o777):
        path = tmp_path / f"runs-{umask:o}" / "a.db"
        before = os.umask(umask)
        try:
            made = Journal.create(path, make_spec())
            made.append(TextArrived(text="x"))
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        made.close()


def test_a_journal_is_never_written_over(journal: Journal, make_spec: Callable[..., RunSpec]) -> None:
    journal.append(TextArrived(text="precious"))
    with pytest.raises(JournalError, match="exists already"):
        Journal.create(journal.path, make_spec())
    assert texts(journal) == ["precious"]


def test_an_unusable_runs_folder_is_refused_and_names_the_fix(
    tmp_path: Path, make_spec: Callable[..., RunSpec]
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(JournalError, match=r"no journal can be created in .*file.* --runs-dir"):
        Journal.create(tmp_path / "file" / "a.db", make_spec())


def test_landmarks_are_the_events_that_lists_need(journal: Journal) -> None:
    journal.append(StepStarted(number=1))
    for number in range(50):
        journal.append(TextArrived(text=str(number)))
    journal.append(ToolFinished(call_id="c", tool="t", ok=True, result="r"))
    journal.append(StepStarted(number=2))
    assert [stamped.event for stamped in journal.landmarks()] == [StepStarted(number=1), StepStarted(number=2)]


def test_a_closed_journal_can_be_closed_again_and_names_itself_when_it_is_used(journal: Journal) -> None:
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match=r"\.db"):
        journal.append(
            RunStarted(
                run_id="r", loop=LoopKind.GOAL, task="", workspace="/", model="m", budget=Limits(), journal="/x.db"
            )
        )
