"""Attacks on rundry's own folders in a workspace (the home folder), in each sandbox that this machine has."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.sandbox import Sandbox

ATTACKS = (
    "cat .local/state/rundry/runs/one.db",
    "echo x > .local/state/rundry/runs/one.db",
    "echo x > .local/state/rundry/runs/one.db-journal",
    "rm -rf .local",
    "mv .local away; echo x > away/state/rundry/runs/one.db",
    "mv .local/state away; cat away/rundry/runs/one.db",
    "mkdir -p away && mv .local/state/rundry away/",
    "ln .local/state/rundry/runs/one.db one; cat one",
    "ln -s .local/state/rundry/runs/one.db one; echo x > one; cat one",
    "chmod 777 .local/state/rundry/runs; truncate -s 0 .local/state/rundry/runs/one.db",
)


@pytest.fixture(params=["bubblewrap", "landlock"])
async def sandbox(request, tmp_path):
    runs = tmp_path / "home/.local/state/rundry/runs"
    runs.mkdir(parents=True)
    found = await Sandbox.detect(kinds=[request.param], hide_rules=HideRules(own=(runs,)))
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def said_by(sandbox: Sandbox, line: str, ws: Path) -> str:
    done = await sandbox.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=30)
    return done.output.decode("utf-8", "replace")


@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_command_reads_or_changes_a_journal_in_its_workspace(sandbox: Sandbox, tmp_path: Path, attack: str):
    home = tmp_path / "home"
    journal = home / ".local/state/rundry/runs/one.db"
    journal.write_text("hush-canary")
    said = await said_by(sandbox, attack, home)
    said += await said_by(sandbox, "cat one away/rundry/runs/one.db away/state/rundry/runs/one.db", home)
    assert "hush" not in said
    assert journal.read_text() == "hush-canary" and list(journal.parent.iterdir()) == [journal]


async def test_what_rundry_writes_into_its_journal_during_a_command_stays(sandbox: Sandbox, tmp_path: Path):
    home = tmp_path / "home"
    journal = sqlite3.connect(home / ".local/state/rundry/runs/one.db", isolation_level=None)
    journal.execute("pragma journal_mode = wal")
    journal.execute("create table t(x)")
    (home / "sub").mkdir()
    line = "touch sub/up; while [ ! -e sub/go ]; do sleep 0.02; done; touch sub/made"
    running = asyncio.create_task(said_by(sandbox, line, home))
    while not (home / "sub/up").exists():
        assert not running.done()
        await asyncio.sleep(0.01)
    journal.execute("insert into t values (1)")
    (home / "sub/go").touch()
    await running
    journal.execute("insert into t values (2)")
    journal.close()
    with sqlite3.connect(home / ".local/state/rundry/runs/one.db") as found:
        assert found.execute("select x from t").fetchall() == [(1,), (2,)]
    assert (home / "sub/made").exists()
