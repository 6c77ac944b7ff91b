"""Damage of what stands next to the events: the spec, the items of a search, the commands of views."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from fakes.rundry import Home

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Say, UserError
from rundry.agent.run.start.damaged_journal import require_undamaged
from rundry.agent.state.reports.journal_check import check_journal

WORKER = 'import json, sys; json.load(sys.stdin); print(json.dumps({"items": [{"kind": "value", "value": "b"}]}))'
SPEC = f'task = "t"\n[[seed]]\nkind = "value"\nvalue = "a"\n[worker]\ncommand = ["{sys.executable}", "worker.py"]\n'
CHANGE_SPEC = """UPDATE meta SET value = replace(value, '"task":"t"', '"task":"u"') WHERE key = 'spec'"""
CHANGE_COMMAND = "UPDATE commands SET body = CAST(replace(CAST(body AS TEXT), 'again', 'agaim') AS BLOB)"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a search that has ended, with a command that no runner took."""
    root = tmp_path_factory.mktemp("searched")
    home, place = Home(root), root / "place"
    place.mkdir()
    (place / "worker.py").write_text(WORKER)
    (place / "search.toml").write_text(SPEC)
    ran = home.run("find", "search.toml", "--trust", "--headless", "--model", "none", cwd=place)
    assert ran.exit_code == 0, ran
    (path,) = home.journals()
    journal = Journal.open(path)
    journal.inbox.put(Say(text="look again"))
    journal.close()
    return path


def copied(journal: Path, folder: Path) -> Path:
    shutil.copy(journal.with_name(journal.name + ".tail"), folder)
    return Path(shutil.copy(journal, folder))


@pytest.mark.parametrize(
    ("change", "part", "said"),
    [
        ("UPDATE frontier SET key = 'c' WHERE key = 'b'", "search", "items do not match"),
        ("UPDATE frontier SET state = 'queued' WHERE key = 'b'", "search", "items do not match"),
        ("UPDATE frontier SET attempts = 1 WHERE key = 'b'", "search", "items do not match"),
        ("DELETE FROM frontier WHERE key = 'b'", "search", "items do not match"),
        ("UPDATE frontier_tally SET done = done - 1", "search", "counts"),
        ("UPDATE frontier_tally SET tail = head", "search", "queue"),
        ("UPDATE frontier_sum SET digest = digest + 1", "search", "items do not match"),
        (CHANGE_SPEC, "spec", "spec"),
        (CHANGE_COMMAND, "inbox", "command 1"),
    ],
)
def test_a_change_next_to_the_events_is_found_and_not_resumed(
    searched: Path, tmp_path: Path, change: str, part: str, said: str
):
    path = copied(searched, tmp_path)
    assert check_journal(path).findings == []
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute(change).rowcount == 1
        raw.commit()
    (finding,) = check_journal(path).findings
    assert finding.part == part and said in finding.text
    journal = Journal.open(path)
    with pytest.raises(UserError, match=said):
        require_undamaged(journal)
    journal.close()


def test_the_command_that_was_damaged_is_not_obeyed(searched: Path, tmp_path: Path):
    path = copied(searched, tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE commands SET at = at + 1")
        raw.commit()
    journal = Journal.open(path)
    assert journal.inbox.take() == [(1, None)]
    journal.close()


def test_a_journal_of_an_earlier_version_has_no_checksums_there_and_is_accepted(searched: Path, tmp_path: Path):
    path = copied(searched, tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(
            "DROP TABLE frontier_sum; ALTER TABLE commands DROP COLUMN digest; DELETE FROM meta WHERE key = 'digest'"
        )
    journal = Journal.open(path)
    journal.inbox.put(Say(text="and again"))
    require_undamaged(journal)
    assert [type(command) for _, command in journal.inbox.take()] == [Say, Say]
    journal.close()
