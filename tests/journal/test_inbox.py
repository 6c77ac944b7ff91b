from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from rundry.agent.journal.journal import Journal
from rundry.agent.journal.redact import Redactor
from rundry.agent.protocol import Decide, Pause, RunSpec, Say, Shell, Stop

KEY = "canary-0123456789-canary"


def test_commands_are_taken_once_in_the_order_they_were_put(journal: Journal) -> None:
    view = Journal.open(journal.path)
    first, second = view.inbox.put(Say(text="go on")), view.inbox.put(Stop(how="now"))
    assert first < second
    assert journal.inbox.untaken() == [(first, Say(text="go on")), (second, Stop(how="now"))]
    assert journal.inbox.take() == [(first, Say(text="go on")), (second, Stop(how="now"))]
    assert journal.inbox.take() == []
    assert journal.inbox.untaken() == []
    assert view.inbox.put(Pause()) > second
    view.close()


def test_a_command_of_a_newer_version_is_given_as_none(journal: Journal) -> None:
    raw = sqlite3.connect(journal.path)
    raw.execute("INSERT INTO commands(at, body) VALUES (1.0, ?)", (b'{"type":"levitate"}',))
    raw.execute("INSERT INTO commands(at, body) VALUES (1.0, ?)", (b"no \xff json",))
    raw.commit()
    raw.close()
    number = journal.inbox.put(Pause())
    assert journal.inbox.take() == [(number - 2, None), (number - 1, None), (number, Pause())]


def test_commands_that_were_put_in_a_transaction_that_failed_are_not_there(journal: Journal) -> None:
    try:
        with journal.transaction():
            journal.inbox.put(Pause())
            raise KeyError
    except KeyError:
        pass
    assert journal.inbox.take() == []


def test_a_key_in_a_message_is_hidden_before_it_is_stored(journal: Journal) -> None:
    journal.redactor = Redactor([KEY])
    journal.inbox.put(Say(text=f"use {KEY}"))
    assert [command for _, command in journal.inbox.untaken()] == [Say(text="use " + "*" * len(KEY))]


def test_what_must_be_exact_is_exact_until_it_is_taken_and_hidden_after(journal: Journal) -> None:
    journal.redactor = Redactor([KEY])
    shell = Shell(command=f"curl -H {KEY}")
    edited = Decide(proposal_id="p", digest="d", verdict="approve", text=f"KEY={KEY}\n")
    journal.inbox.put(shell)
    journal.inbox.put(edited)
    assert [command for _, command in journal.inbox.take()] == [shell, edited]
    raw = sqlite3.connect(journal.path)
    assert all(KEY.encode() not in body for (body,) in raw.execute("SELECT body FROM commands"))
    raw.close()


def test_views_come_beat_and_go(journal: Journal) -> None:
    now = 1000.0
    journal.now = lambda: now
    assert not journal.views.is_attended()
    journal.views.beat("screen-1")
    journal.views.beat("screen-2")
    now = 1014.0
    assert journal.views.is_attended()
    now = 1016.0
    assert not journal.views.is_attended()
    assert journal.views.is_attended(within=20)
    journal.views.beat("screen-2")
    assert journal.views.is_attended()
    journal.views.detach("screen-2")
    assert not journal.views.is_attended()


def test_who_looks_at_the_run_above_looks_at_its_child(
    journal: Journal, tmp_path: Path, make_spec: Callable[..., RunSpec]
) -> None:
    now, above = 1000.0, Journal.create(tmp_path / "above.db", make_spec("20261121-014233-above"))
    journal.now = above.now = lambda: now
    above.views.beat("screen-1")
    assert not journal.views.is_attended()
    journal.views.include(above.views)
    assert journal.views.is_attended()
    now = 1016.0
    assert not journal.views.is_attended() and journal.views.is_attended(within=20)
    above.close()


def test_a_command_from_another_process_arrives(journal: Journal, child: Callable[..., object]) -> None:
    other = child(
        "import sys\n"
        "from pathlib import Path\n"
        "from rundry.agent.journal.journal import Journal\n"
        "from rundry.agent.protocol import Say\n"
        "j = Journal.open(Path(sys.argv[1]))\n"
        "print(j.inbox.put(Say(text='from afar')), flush=True)\n"
        "sys.stdin.readline()\n"
        "j.close()\n",
        journal.path,
    )
    number = int(other.hear())
    assert journal.changed()
    assert journal.inbox.take() == [(number, Say(text="from afar"))]
    assert other.end() == 0
