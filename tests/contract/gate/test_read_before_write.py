"""A model replaces only what it has seen, with the real program (docs/decisions/0043, 3)."""

from __future__ import annotations

from pathlib import Path

from contract.gate.test_changes_on_terminal import FIXED
from contract.gate.test_gate_on_terminal import HELD, on_goal
from fakes.project import CORE
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, say

MINE = f"{CORE}# the user's own line\n"
READ = call("read_file", path="calc/core.py")
WRITE = call("write_file", path="calc/core.py", content=FIXED)


def test_in_auto_uncommitted_lines_are_shown_first_and_written_over_by_the_next_call(home: Home, project: Path):
    core = project / "calc/core.py"
    core.write_text(MINE)
    with ScriptedServer([WRITE, WRITE], then=say("Done.")) as server:
        at = ["--model", "fake", "--api-base", server.base_url, "--headless", "--gate", "auto"]
        ran = home.run("run", "go", "--until", "python3 -m unittest -q", *at, cwd=project)
        refused = server.wait_requests(2)[1].text
    assert "you have not read calc/core.py, and git does not have its lines" in refused, ran.stdout
    assert "| # the user's own line" in refused
    assert core.read_text() == FIXED, ran.stdout


def test_what_was_read_before_the_program_was_closed_is_still_read_after_a_resume(home: Home, project: Path):
    (project / "calc/core.py").write_text(MINE)
    with ScriptedServer([READ], then=HELD) as server, on_goal(home, project, server):
        server.wait_requests(2)
    with ScriptedServer([WRITE], then=HELD) as server:
        at = ["--model", "fake", "--api-base", server.base_url]
        with home.screen("resume", home.journals()[0].stem, *at, cwd=project) as terminal:
            terminal.wait_for("write calc/core.py")
            terminal.wait_for("y approve")


def test_what_the_user_writes_while_the_program_is_closed_is_not_written_over_after_a_resume(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([READ], then=HELD) as server, on_goal(home, project, server):
        server.wait_requests(2)
    core.write_text(MINE)
    with ScriptedServer([WRITE], then=HELD) as server:
        at = ["--model", "fake", "--api-base", server.base_url]
        with home.screen("resume", home.journals()[0].stem, *at, cwd=project):
            assert "calc/core.py was changed since you read it" in server.wait_requests(2)[1].text
    assert core.read_text() == MINE
