"""Events are stored without the keys in them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from journal.canaries import CANARY, PEM, PLAIN, SHAPES
from sampling import examples

from rundry.agent.journal.journal import Journal
from rundry.agent.journal.redact import Redactor
from rundry.agent.protocol import (
    CheckFinished,
    Decide,
    FileChanged,
    ProposalOpened,
    RunSpec,
    Said,
    TextArrived,
    ToolCalled,
    ToolFinished,
)


def recorded(journal: Journal) -> bytes:
    raw = sqlite3.connect(journal.path)
    rows = raw.execute("SELECT body FROM events").fetchall()
    raw.close()
    return b"\n".join(body for (body,) in rows)


def test_no_string_of_an_event_is_stored_with_a_key_in_it(journal: Journal) -> None:
    journal.redactor = Redactor([CANARY])
    token = SHAPES[0]
    journal.append(Said(text=f"use {CANARY}"))
    journal.append(ToolCalled(call_id="c1", tool="t", arguments={"a": [{"b": CANARY, CANARY: token}]}))
    journal.append(ToolFinished(call_id="c1", tool="t", ok=True, result=f"{token}\n{PEM}", summary=CANARY))
    journal.append(FileChanged(path=CANARY, by="model", before=None, after=None))
    journal.append(
        CheckFinished(command=CANARY, passed=False, exit_code=1, timed_out=False, failing=None, output=f"\n{token}")
    )
    stored = recorded(journal)
    assert json.dumps(CANARY, ensure_ascii=False)[1:-1].encode() not in stored
    assert token.encode() not in stored
    assert b"MIIEp" not in stored


def test_what_append_gives_back_is_what_was_recorded(journal: Journal) -> None:
    journal.redactor = Redactor([CANARY])
    given_back = journal.append(TextArrived(text=f"see {CANARY}!"))
    assert given_back.event == TextArrived(text=f"see {'*' * len(CANARY)}!")
    assert journal.read() == [given_back]


def test_paths_and_commands_at_the_gate_are_shown_as_they_are_but_for_known_keys(journal: Journal) -> None:
    journal.redactor = Redactor([PLAIN])
    path = "src/sk-1234567890abcdefghijkl/a.py"
    command = f"deploy --as sk-1234567890abcdefghijkl {PLAIN} http://me:pw@host"
    opened = ProposalOpened(proposal_id="p", tool="t", path=path, command=command, diff="+sk-1234567890abcdefghijkl")
    event = journal.append(opened).event
    assert isinstance(event, ProposalOpened)
    assert event.path == path
    assert event.command == command.replace(PLAIN, "*" * len(PLAIN))
    assert event.diff == "+" + "*" * 25


def test_the_task_is_stored_without_the_key_that_stood_in_it(
    tmp_path: Path, make_spec: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-value-0001")
    made = Journal.create(tmp_path / "a.db", make_spec(task="use canary-value-0001 here"))
    assert made.spec.task == "use ***************** here"
    made.append(TextArrived(text="canary-value-0001"))
    made.close()
    assert b"canary-value-0001" not in (tmp_path / "a.db").read_bytes()


def test_a_decision_with_an_edited_text_reaches_the_runner_exactly(journal: Journal) -> None:
    decision = Decide(proposal_id="p", digest="d", verdict="approve", text=f"TOKEN = {SHAPES[0]!r}\n")
    journal.inbox.put(decision)
    assert [c for _, c in journal.inbox.take()] == [decision]


def test_hostile_text_is_redacted_in_linear_time() -> None:
    redact = Redactor([PLAIN])
    began = time.perf_counter()
    for unit in (
        "-----BEGIN PRIVATE KEY-----",
        "sk-",
        "eyJ" + "a" * 20 + ".",
        "://a:",
        "-",
        "-----BEGIN PRIVATE KEY-----A",
        PLAIN[:-1],
    ):
        text = unit * (400_000 // len(unit))
        assert len(redact(text)) == len(text)
    assert time.perf_counter() - began < 5


@settings(max_examples=examples(300), deadline=None)
@given(
    secret=st.text(st.sampled_from('ab-_.8Z/+ ü"'), min_size=6, max_size=14),
    before=st.text(st.sampled_from("x-_k "), max_size=4),
    after=st.text(st.sampled_from("x-_k "), max_size=4),
)
def test_the_quick_look_over_many_events_misses_no_value_and_no_shape(secret: str, before: str, after: str):
    redactor = Redactor([secret])
    kept = [*(shape[:24] for shape in SHAPES), *redactor.values]
    for text in kept:
        encoded = json.dumps(["item_duplicate", "work_started", before + text + after, "set_aside"], ensure_ascii=False)
        assert redactor.may_contain_key(encoded.encode()), text


def test_many_at_once_are_recorded_as_each_alone_would_be(journal: Journal):
    journal.redactor = Redactor([PLAIN])
    said = [Said(text="plain"), Said(text=f"it is {PLAIN}"), Said(text="\ud800 half")]
    alone = [journal.append(one, step=1, work="w") for one in said]
    with journal.transaction():
        first = journal.append(Said(text="before"))
        together = journal.append_all([(one, 1, "w") for one in said])
        last = journal.append(Said(text="after"))
    assert [s.event for s in together] == [s.event for s in alone]
    assert [s.seq for s in (first, *together, last)] == list(range(4, 9))
    assert journal.read(4, 3) == together
    assert PLAIN not in journal.path.read_bytes().decode("latin-1")


def test_many_at_once_are_all_there_or_none(journal: Journal):
    with pytest.raises(RuntimeError), journal.transaction():
        journal.append_all([(Said(text="a"), None, None), (Said(text="b"), None, None)])
        raise RuntimeError
    (kept,) = journal.append_all([(Said(text="c"), None, None)])
    assert journal.read() == [kept]
    assert kept.seq == 1
