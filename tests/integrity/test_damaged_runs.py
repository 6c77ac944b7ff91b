"""`resume`, `check` and `backup` of real runs whose journals were damaged after a kill."""

from __future__ import annotations

import json
import os
import sqlite3
import stat

import pytest
from fakes.killing.killed_journals import Killed
from fakes.project import FIX_ADD, FIX_MEAN, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn


def cut_log(killed: Killed, share: float) -> None:
    os.truncate(killed.log, int(killed.log.stat().st_size * share))


def change(killed: Killed, sql: str) -> None:
    raw = sqlite3.connect(killed.journal)
    raw.execute(sql)
    raw.commit()
    raw.close()


def test_a_lost_end_is_refused_and_continued_only_on_demand_with_its_spend_held(killed: Killed):
    cut_log(killed, 0.6)
    refused = killed.resume(turns=())
    assert refused.exit_code == 2, refused
    assert len(refused.stderr.splitlines()) == 1
    assert "missing from the end" in refused.stderr and "--damaged" in refused.stderr
    checked = killed.home.run("check", killed.run_id, "--json", cwd=killed.project)
    assert checked.exit_code == 1, checked
    found = json.loads(checked.stdout)
    assert {finding["part"] for finding in found["findings"]} == {"end", "spend"}

    again = FIX_ADD  # the model does not know that this edit was applied: it is not applied twice
    ran = killed.resume("--damaged", turns=(again, read("calc/core.py"), FIX_MEAN))
    assert ran.exit_code == 0, ran
    resumed = ran.events[0]
    assert resumed["type"] == "run_resumed" and resumed["missing"] > 0
    assert any("calc/core.py" in note for note in resumed["notes"])
    held = [event for event in ran.of("charged") if event["held_tokens"]]
    assert held and sum(event["held_tokens"] for event in held) > 30_000, "the call that was lost is held at its worst"
    core = (killed.project / "calc/core.py").read_text()
    assert core.count("return a + b") == 1
    assert killed.home.run("check", killed.run_id, cwd=killed.project).exit_code == 0


def test_a_damaged_charge_never_frees_the_budget(killed: Killed):
    whole = killed.copy(killed.home.root / "whole")
    sound = whole.resume(turns=(FIX_MEAN,))
    assert sound.exit_code == 0, sound
    killed.project.joinpath("calc/core.py").write_text(
        killed.project.joinpath("calc/core.py").read_text().replace("len(values)\n", "(len(values) + 1)\n")
    )
    change(
        killed,
        """UPDATE events SET body = CAST('{"type":"charged","tokens_in":1,"tokens_out":1}' AS BLOB)"""
        " WHERE type = 'charged'",
    )
    refused = killed.resume(turns=())
    assert refused.exit_code == 2 and "(charged) does not match its checksum" in refused.stderr, refused
    ran = killed.resume("--damaged", turns=(FIX_MEAN,))
    assert ran.exit_code == 0, ran
    assert ran.events[0]["damaged"]
    spent = ran.outcome["tokens"]["in"] + ran.outcome["tokens"]["out"]
    held = sum(event["held_tokens"] for event in ran.of("charged"))
    whole_in = sound.outcome["tokens"]["in"] + sound.outcome["tokens"]["out"]
    assert spent + held >= whole_in


@pytest.mark.long
def test_a_backup_of_a_live_run_is_one_private_file_that_is_exported_checked_and_resumed(killed: Killed):
    target = killed.home.root / "copy.db"
    made = killed.home.run("backup", killed.run_id, str(target), cwd=killed.project)
    assert made.exit_code == 0, made
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not target.with_name("copy.db-wal").exists()
    again = killed.home.run("backup", killed.run_id, str(target), cwd=killed.project)
    assert again.exit_code == 2 and "exists already" in again.stderr
    exported = [killed.home.run("export", which, cwd=killed.project) for which in (killed.run_id, str(target))]
    assert exported[0].stdout == exported[1].stdout and exported[0].stdout
    assert killed.home.run("check", str(target), cwd=killed.project).exit_code == 0
    with ScriptedServer([FIX_MEAN]) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        ran = killed.home.run("resume", "--trust", str(target), "--headless", "--json", *model, cwd=killed.project)
    assert ran.exit_code == 0, ran


@pytest.mark.long
def test_a_copy_that_sqlite_made_is_accepted_and_one_without_its_log_is_known_to_be_incomplete(killed: Killed):
    source = sqlite3.connect(killed.journal)
    for name, how in (("vacuum.db", "VACUUM INTO"), ("backup.db", "")):
        target = killed.home.root / name
        if how:
            source.execute(f"{how} '{target}'")
        else:
            copy = sqlite3.connect(target)
            source.backup(copy)
            copy.close()
        for _ in range(2):
            ran = killed.home.run("export", str(target), cwd=killed.project)
            assert ran.exit_code == 0 and ran.events[-1]["type"] == "text_arrived", ran
    torn = killed.home.root / "torn.db"
    torn.write_bytes(killed.journal.read_bytes())
    source.close()
    checked = killed.home.run("check", str(torn), cwd=killed.project)
    assert checked.exit_code == 1 and "a copy without torn.db-wal" in checked.stdout, checked
    refused = killed.home.run("resume", "--trust", str(torn), "--headless", cwd=killed.project)
    assert refused.exit_code == 2 and "copied without torn.db-wal" in refused.stderr, refused


def test_check_of_a_run_that_continues_finds_nothing(home: Home, project):
    with ScriptedServer([read("calc/core.py"), Turn(text="I think about it", hold_after=2)]) as server:
        model = ["--model", "fake", "--api-base", server.base_url, "--until", "false"]
        with home.start("run", "fix it", "--headless", "--json", *model, cwd=project) as running:
            started = running.wait_event("run_started")
            running.wait_event("text_arrived", step=2)
            checked = home.run("check", started["run_id"], cwd=project)
            copied = home.run("backup", started["run_id"], str(home.root), cwd=project)
    assert checked.exit_code == 0, checked
    assert copied.exit_code == 0, copied
    copy = home.run("check", str(home.root / f"{started['run_id']}.db"), cwd=project)
    assert copy.exit_code == 0 and "sound" in copy.stdout, copy
    assert home.run("check", "no-such-run", cwd=project).exit_code == 2
