"""A proposal is decided by its digest long after its runner ended (docs/requirements.md 5.3, 6.7)."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from fakes.project import CHECK, CORE, FIX_ADD, FIX_BOTH, FIX_MEAN
from fakes.rundry import Home, assert_refused, waiting_proposals
from fakes.server import ScriptedServer
from fakes.wire import text_of

from rundry.agent.journal.claim import holder


def hand_over(home: Home, project: Path, server: ScriptedServer) -> str:
    argv = ["run", "fix it", "--headless", "--on-ask", "handoff", "--gate", "ask", "--until", CHECK]
    ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 5, ran
    (waiting,) = waiting_proposals(home, project)
    named = f"{home.journals()[0].stem} --digest {waiting['digest'][:12]}"
    assert f"`rundry approve {named}`" in ran.stderr and f"`rundry reject {named} --reason" in ran.stderr
    assert f"decide with: rundry approve {named} --headless (or: rundry reject)" in ran.stderr
    return home.journals()[0].stem


def test_an_approval_names_a_digest_writes_those_bytes_and_the_run_continues(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run_id = hand_over(home, project, server)
        (waiting,) = waiting_proposals(home, project)
        assert_refused(home.run("approve", run_id, cwd=project), "--digest", waiting["digest"][:12])
        assert_refused(home.run("approve", run_id, "--digest", "0" * 12, cwd=project), "no open proposal", "Open now")
        assert_refused(
            home.run("approve", run_id, "--digest", waiting["digest"][:5], cwd=project), "at least 6 characters"
        )
        assert core.read_text() == CORE
        again = home.run("approve", run_id, "--digest", waiting["digest"][:12], "--json", cwd=project)
        assert again.exit_code == 5, again
        assert again.of("tool_finished")[0]["ok"] is True
        (told,) = [text_of(m) for m in server.wait_requests(2)[1].messages if m["role"] == "tool"]
        assert "calc/core.py changed" in told
        (second,) = waiting_proposals(home, project)
        done = home.run("approve", run_id, "--digest", second["digest"], "--headless", cwd=project)
    assert done.exit_code == 0, done
    assert waiting_proposals(home, project) == []


def test_a_changed_file_refuses_the_old_digest_and_gives_a_new_one(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run_id = hand_over(home, project, server)
        (waiting,) = waiting_proposals(home, project)
        mine = f"{CORE}\n\nMINE = 1\n"
        core.write_text(mine)
        assert_refused(
            home.run("approve", run_id, "--digest", waiting["digest"], cwd=project), "changed", "new decision"
        )
        assert core.read_text() == mine
        (now,) = waiting_proposals(home, project)
        assert now["digest"] != waiting["digest"]
        home.run("approve", run_id, "--digest", now["digest"], "--headless", cwd=project)
    assert core.read_text() == mine.replace("a - b", "a + b")


def test_a_proposal_whose_bytes_were_changed_in_the_journal_is_never_applied(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run_id = hand_over(home, project, server)
        (waiting,) = waiting_proposals(home, project)
        with closing(sqlite3.connect(home.journals()[0])) as database, database:
            swapped = database.execute(
                "UPDATE blobs SET data = ? WHERE instr(data, 'a + b') > 0", (CORE.replace("a - b", "0").encode(),)
            )
            assert swapped.rowcount >= 1
        ran = home.run("approve", run_id, "--digest", waiting["digest"], "--json", cwd=project)
    assert ran.exit_code != 0, ran
    assert core.read_text() == CORE


def test_a_server_that_is_down_leaves_the_proposal_as_it_was(home: Home, project: Path):
    with ScriptedServer([FIX_ADD]) as server:
        run_id = hand_over(home, project, server)
    before = waiting_proposals(home, project)
    later = home.run("approve", run_id, "--digest", before[0]["digest"], "--headless", cwd=project)
    assert later.exit_code == 75, later
    assert "the decision was not recorded, and you can give it again" in later.stderr
    assert waiting_proposals(home, project) == before
    assert (project / "calc/core.py").read_text() == CORE


def test_a_rejection_after_kill_nine_at_the_gate_reaches_the_model_with_its_reason(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, FIX_BOTH]) as server:
        argv = ["fix it", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("waiting for you")
            holding = holder(home.journals()[0])
            assert holding is not None
            os.kill(holding.pid, signal.SIGKILL)
            terminal.wait_for("The runner is gone")
            terminal.signal(signal.SIGKILL)
            terminal.wait_for_exit()
        (waiting,) = waiting_proposals(home, project)
        run_id = home.journals()[0].stem
        argv = ["reject", run_id, "--digest", waiting["digest"], "--reason", "keep the minus", "--json"]
        ran = home.run(*argv, cwd=project)
        first, *others = [e["by"] for e in ran.of("proposal_decided")]
        assert first == "person", ran
        assert set(others) == {"policy"}, "a screen that was killed is not somebody who can be asked"
        (told,) = [text_of(m) for m in server.wait_requests(2)[1].messages if m["role"] == "tool"]
        assert "keep the minus" in told


def test_without_a_digest_the_terminal_shows_the_proposal_and_asks(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run_id = hand_over(home, project, server)
        (waiting,) = waiting_proposals(home, project)
        with home.screen("approve", run_id, "--headless", cwd=project, columns=80) as terminal:
            terminal.wait_for("[y/N]")
            assert waiting["digest"][:12] in terminal.text()
            assert "return a + b" in terminal.text()
            terminal.send("y\r")
            terminal.wait_for("-> hand-off")
    assert "a + b" in (project / "calc/core.py").read_text()
