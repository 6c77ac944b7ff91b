"""Answers of several files, split hunks and rules for a session, in a real terminal (docs/requirements.md 6.3)."""

from __future__ import annotations

from pathlib import Path

from contract.gate.test_gate_on_terminal import HELD, decided, on_goal
from fakes.project import CORE
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, call, calls

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import RuleAdded, RuleRemoved

NAMES = ("one.py", "two.py")


def test_all_files_of_an_answer_are_approved_with_one_key_except_the_one_that_changed(home: Home, project: Path):
    core, mine = project / "calc/core.py", CORE.replace("return a - b", "return b - a")
    new = [Call("write_file", {"path": name, "content": f"name = {name!r}\n"}) for name in NAMES]
    edit = Call(
        "edit_file", {"path": "calc/core.py", "edits": [{"old_text": "return a - b", "new_text": "return a + b"}]}
    )
    with ScriptedServer([calls(*new, edit)], then=HELD) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("Y approve all 3")
        terminal.press("Y")
        terminal.wait_for("Y again approves 3 files: one.py, two.py, calc/core.py")
        core.write_text(mine)
        terminal.press("esc", "<")
        terminal.wait_for("conflict with your edit")
        terminal.wait_for("m keep mine")
        terminal.press("Y")
        terminal.wait_for("Y again approves 2 files: one.py, two.py")
        terminal.wait_for("calc/core.py is in conflict, so it stays")
        terminal.press("Y")
        terminal.wait_gone("Y again")
        terminal.wait_for(lambda lines: (project / "two.py").exists())
        assert (project / "one.py").read_text() == "name = 'one.py'\n"
        assert (project / "two.py").read_text() == "name = 'two.py'\n"
        assert core.read_text() == mine
    assert [(each["decision"], each["by"]) for each in decided(home)[:2]] == [("approve", "person")] * 2


def test_a_row_of_a_split_hunk_is_written_and_the_journal_says_how_it_was_split(home: Home, project: Path):
    core = project / "calc/core.py"
    new = CORE.replace("return a - b", "total = a + b\n    return total")
    turns = [call("write_file", path="calc/core.py", content=new)]
    with ScriptedServer(turns, then=HELD) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("▌ y approve")
        terminal.press("s")
        terminal.wait_for("◉ accepted 2")
        terminal.press("]", "space")
        terminal.wait_for("y approve 1")
        terminal.press("y")
        told = server.wait_requests(2)[1].text
        assert core.read_text() == CORE.replace("return a - b", "total = a + b")
        assert "accepted 1 of 2 hunks" in told
        terminal.wait_for("1 of 2 hunks approved")
    (decision,) = decided(home)[:1]
    assert (decision["taken"], decision["cuts"]) == (1, {"0": [1]})


def test_a_command_allowed_for_the_session_passes_until_it_is_revoked_also_after_a_resume(home: Home, project: Path):
    run = call("run_command", command="echo one")
    with ScriptedServer([run, run], then=HELD) as server, on_goal(home, project, server, "--gate", "ask") as terminal:
        terminal.wait_for("Needs approval: echo")
        terminal.wait_for("y approve")
        terminal.press("a")
        terminal.wait_for("a again allows `echo one` for this session")
        terminal.press("a")
        server.wait_requests(3)
        terminal.wait_for("ask, 1 allowed")
    run_id = home.journals()[0].stem
    with ScriptedServer([run, run], then=HELD) as server:
        at = ["--model", "fake", "--api-base", server.base_url]
        with home.screen("resume", run_id, *at, cwd=project) as terminal:
            server.wait_requests(2)
            terminal.wait_for("ask, 1 allowed")
            terminal.send("/allowed")
            terminal.press("enter")
            terminal.wait_for("Allowed for this session")
            terminal.press("enter")
            terminal.wait_for("revoked: echo one needs approval again")
            terminal.press("esc")
            terminal.wait_gone("1 allowed")
            terminal.wait_for(lambda _: rules(home) == [RuleAdded, RuleRemoved])


def test_a_prefix_is_allowed_for_each_part_of_a_pipe_and_later_lines_of_these_programs_pass(home: Home, project: Path):
    lines = ["ls -l calc | head -2", "ls -a | head -1", "ls calc | wc -l"]
    turns = [call("run_command", command=line) for line in lines]
    with ScriptedServer(turns, then=HELD) as server, on_goal(home, project, server, "--gate", "ask") as terminal:
        terminal.wait_for("Needs approval: ls, head")
        terminal.wait_for("y approve")
        terminal.press("a")
        terminal.wait_for("a again allows `ls -l calc`, `head -2` for this session")
        terminal.wait_for("p allows all arguments: `ls`, `head`")
        terminal.press("p")
        terminal.wait_for("ask, 2 allowed")
        terminal.wait_for("Needs approval: wc")  # the second line passed, of the third one only this part waits
        terminal.wait_for("y approve")
        terminal.press("A")
        terminal.wait_for("always would write into .rundry.toml: allow run_command: wc -l")
        terminal.press("p")
        server.wait_requests(4)
    assert 'command = "wc"' in (project / ".rundry.toml").read_text()


def test_a_protected_file_is_shown_before_the_other_files_of_its_answer(home: Home, project: Path):
    files = [Call("write_file", {"path": name, "content": "x = 1\n"}) for name in ("one.py", ".envrc")]
    with ScriptedServer([calls(*files)], then=HELD) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("write .envrc")
        terminal.wait_for("< 2 of 2 files")
        terminal.press(">")
        terminal.wait_for("write one.py")
        assert not (project / "one.py").exists()


def rules(home: Home) -> list[type[object]]:
    """The events of the newest run about rules for the session."""
    journal = Journal.open(home.journals()[0])
    try:
        return [type(s.event) for s in journal.read() if isinstance(s.event, RuleAdded | RuleRemoved)]
    finally:
        journal.close()
