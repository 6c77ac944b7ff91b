"""`rundry fork`: another run from the same past (docs/requirements.md 9.9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.project import CHECK, CORE, FIX_ADD, FIX_MEAN, read
from fakes.rundry import Home, assert_refused
from fakes.server import ScriptedServer
from fakes.turns import Turn, call

from rundry.agent.journal.journal import Journal
from rundry.agent.state.facts.run_facts import fold


def first_run(home: Home, project: Path, server: ScriptedServer) -> str:
    """Three steps: it reads, it changes a file, it runs a command that makes another one; then its steps are used."""
    argv = ["run", "fix the suite", "--headless", "--gate", "auto", "--until", CHECK, "--steps", "3"]
    ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 3, ran
    return home.journals()[0].stem


def forked(home: Home, project: Path, *words: str) -> dict[str, object]:
    ran = home.run("fork", *words, "--json", cwd=project)
    assert ran.exit_code == 0, ran
    return json.loads(ran.stdout)


TURNS = [read("calc/core.py", "First I read."), FIX_ADD, call("run_command", command="echo x > made")]


def test_a_fork_continues_from_a_step_with_its_conversation_and_its_spend(home: Home, project: Path):
    with ScriptedServer([*TURNS, Turn(text="so far"), FIX_ADD, FIX_MEAN], then=Turn(text="Hm.")) as server:
        run_id = first_run(home, project, server)
        before = home.journals()[0].read_bytes()
        told = forked(home, project, run_id, "--at", "1")
        assert (told["forked_from"], told["step"], told["steps"]) == (run_id, 1, 3)
        assert "a + b" in (project / "calc/core.py").read_text(), "the workspace is not changed"
        assert home.journals()[0].read_bytes() == before, "and neither is the run"
        new = home.runs / f"{told['run_id']}.db"
        journal = Journal.open(new)
        facts = fold(journal.spec, journal.read())
        journal.close()
        assert (facts.step, facts.files_changed) == (1, [])
        assert facts.spent.steps == 1
        (project / "calc/core.py").write_text(CORE)
        seen = len(server.requests)
        argv = ["resume", str(told["run_id"]), "--headless", "--json", "--steps", "5", "--hint", "now mend it"]
        ran = home.run(*argv, cwd=project)
        assert ran.exit_code == 0, ran
        heard = server.requests[seen].text
        assert "First I read." in heard
        assert "forked from another one, after its step 1" in heard
        assert "now mend it" in heard
        assert "echo x > made" not in heard
        assert ran.outcome["steps"] == 3
    listed = {
        line["run_id"]: line["forked_from"] for line in json.loads(home.run("runs", "--json", cwd=project).stdout)
    }
    assert listed == {run_id: None, told["run_id"]: run_id}
    assert f"fork of {run_id}" in home.run("runs", cwd=project).stdout


def test_files_come_back_only_where_it_is_asked_and_nobody_else_changed_them(home: Home, project: Path):
    with ScriptedServer(TURNS) as server:
        run_id = first_run(home, project, server)
    core = project / "calc/core.py"
    mended = core.read_text()
    assert mended != CORE
    assert (project / "made").exists()
    told = forked(home, project, run_id, "--at", "2", "--files")
    assert told["restored"] == ["made"]
    assert not (project / "made").exists()
    assert core.read_text() == mended
    core.write_text(mended + "# mine\n")
    ran = home.run("fork", run_id, "--at", "0", "--files", cwd=project)
    assert ran.exit_code == 1, ran
    assert "left unchanged: calc/core.py" in ran.stdout
    assert "rundry resume" in ran.stdout.splitlines()[-1]
    assert core.read_text().endswith("# mine\n")


def test_a_fork_of_the_end_undoes_the_edits_and_the_command_of_the_first_run(home: Home, project: Path):
    with ScriptedServer(TURNS) as server:
        first_run(home, project, server)
    told = forked(home, project)
    assert told["step"] == 3
    undone = home.run("ctl", str(told["run_id"]), "undo", "2", cwd=project)
    assert undone.exit_code == 0, undone
    assert (project / "calc/core.py").read_text() == CORE
    assert not (project / "made").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nosuch",), "no run 'nosuch'"),
        (("--at", "9"), "that step has not ended; the newest step is 1"),
        (("--at", "-1"), "--at"),
        (("--at", "x"), "--at"),
    ],
)
def test_what_cannot_be_forked_is_one_line_and_makes_no_run(
    home: Home, project: Path, words: tuple[str, ...], said: str
):
    with ScriptedServer([read("calc/core.py")]) as server:
        argv = ["run", "look", "--headless", "--until", CHECK, "--steps", "1", "--model", "fake"]
        home.run(*argv, "--api-base", server.base_url, cwd=project)
    assert_refused(home.run("fork", *words, cwd=project), said)
    assert len(home.journals()) == 1
