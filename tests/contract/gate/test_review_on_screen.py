"""A proposal that a hand-off left open is decided on the screen (docs/requirements.md 5.3, 6.7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.project import CHECK, CORE, FIX_ADD, FIX_MEAN
from fakes.rundry import Home, waiting_proposals
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, calls
from fakes.wire import text_of

ADDED = CORE.replace("return a - b", "return a + b")
FIXED = ADDED.replace("(len(values) + 1)", "len(values)")


def hand_over(home: Home, project: Path, server: ScriptedServer) -> str:
    argv = ["run", "fix it", "--headless", "--on-ask", "handoff", "--gate", "ask", "--until", CHECK]
    ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 5, ran
    return home.journals()[0].stem


@pytest.mark.parametrize("verb", ["watch", "resume"])
def test_y_approves_the_kept_proposal_and_the_run_continues_to_its_end(home: Home, project: Path, verb: str):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run_id = hand_over(home, project, server)
        with home.screen(verb, run_id, cwd=project, rows=24, columns=80) as terminal:
            terminal.wait_for("▌ y approve")
            assert "return a + b" in terminal.text()
            assert core.read_text() == CORE
            terminal.press("y")
            terminal.wait_for("len(values)")
            assert core.read_text() == ADDED
            terminal.wait_for("▌ y approve")
            terminal.press("y")
            terminal.wait_for("done")
    assert core.read_text() == FIXED
    assert waiting_proposals(home, project) == []


def test_n_rejects_the_kept_proposal_and_the_model_reads_it(home: Home, project: Path):
    with ScriptedServer([FIX_ADD], then=Turn(text="I think about it", hold_after=4)) as server:
        run_id = hand_over(home, project, server)
        with home.screen("watch", run_id, cwd=project, rows=24, columns=80) as terminal:
            terminal.wait_for("▌ y approve")
            terminal.press("n")
            (told,) = [text_of(m) for m in server.wait_requests(2)[1].messages if m["role"] == "tool"]
            assert "rejected by the person" in told
    assert (project / "calc/core.py").read_text() == CORE


def test_a_file_that_changed_since_is_shown_with_the_change_before_anything_is_written(home: Home, project: Path):
    core, mine = project / "calc/core.py", f"{CORE}\n\nMINE = 1\n"
    with ScriptedServer([FIX_ADD], then=Turn(text="I think about it", hold_after=4)) as server:
        run_id = hand_over(home, project, server)
        (old,) = waiting_proposals(home, project)
        core.write_text(mine)
        with home.screen("watch", run_id, cwd=project) as terminal:
            terminal.wait_for("▌ y approve")
            terminal.press("y")
            terminal.wait_for("your edit of")
            assert core.read_text() == mine
            terminal.wait_for("▌ y approve")
            (now,) = waiting_proposals(home, project)
            assert now["digest"] != old["digest"]
            terminal.press("y")
            server.wait_requests(2)
    assert core.read_text() == mine.replace("a - b", "a + b")


def test_several_kept_proposals_are_decided_one_after_the_other(home: Home, project: Path):
    both = calls(FIX_ADD.calls[0], Call("write_file", {"path": "NEW.md", "content": "news\n"}))
    with ScriptedServer([both], then=Turn(text="I think about it", hold_after=4)) as server:
        run_id = hand_over(home, project, server)
        assert len(waiting_proposals(home, project)) == 2
        with home.screen("watch", run_id, cwd=project) as terminal:
            terminal.wait_for("▌ y approve")
            terminal.press("y")
            terminal.wait_for("news")
            terminal.wait_for("▌ y approve")
            terminal.press("y")
            told = [text_of(m) for m in server.wait_requests(2)[1].messages if m["role"] == "tool"]
    assert len(told) == 2 and all("not" not in text.partition("\n")[0] for text in told), told
    assert (project / "calc/core.py").read_text() == ADDED
    assert (project / "NEW.md").read_text() == "news\n"


def test_a_server_that_is_down_leaves_the_proposal_at_the_gate_and_y_works_later(home: Home, project: Path):
    with ScriptedServer([FIX_ADD]) as server:
        run_id, port = hand_over(home, project, server), server.port
    before = waiting_proposals(home, project)
    with home.screen("watch", run_id, cwd=project) as terminal:
        terminal.wait_for("▌ y approve")
        terminal.press("y")
        terminal.wait_for("no model server")
        assert waiting_proposals(home, project) == before
        with ScriptedServer([FIX_MEAN], port=port) as server:
            terminal.press("y")
            terminal.wait_for("len(values)")
            assert (project / "calc/core.py").read_text() == ADDED
