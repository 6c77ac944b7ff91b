"""The gate in a real terminal, with a real second writer (docs/requirements.md 6; docs/attacks.md A.18, A.19)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.project import CHECK, CORE, FIX_ADD, FIX_BOTH, FIX_MEAN
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import event_type, to_json_line

BOTH = CORE.replace("return a - b", "return a + b").replace("return 2 * a", "return a + a")
HELD = Turn(text="I think about it", hold_after=4)


def on_goal(home: Home, project: Path, server: ScriptedServer, *words: str, **more: object) -> Terminal:
    options = ["--until", CHECK, "--model", "fake", "--api-base", server.base_url]
    return home.screen("fix the failing suite", *options, *words, cwd=project, **more)  # type: ignore[arg-type]


def decided(home: Home) -> list[dict]:
    journal = Journal.open(home.journals()[-1])
    try:
        found = [s for s in journal.read() if event_type(s.event) == "proposal_decided"]
        return [json.loads(to_json_line(s)) for s in found]
    finally:
        journal.close()


def test_one_of_two_hunks_is_written_and_the_model_reads_which_and_why(home: Home, project: Path):
    core = project / "calc/core.py"
    turns = [call("write_file", path="calc/core.py", content=BOTH), FIX_MEAN]
    with ScriptedServer(turns, then=HELD) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("▌ y approve")
        assert "◉ accepted 2" in terminal.text()
        terminal.press("]", "space")
        terminal.wait_for("y approve 1")
        terminal.wait_for("○ skipped 1")
        terminal.press("tab")
        terminal.wait_for('keep as the reason to skip "double"')
        terminal.send("a product reads better")
        terminal.wait_for("a product reads better")
        assert core.read_text() == CORE
        terminal.press("enter")
        terminal.wait_for('skipped: "a product reads better"')
        terminal.press("y")
        told = server.wait_requests(2)[1].text
        assert core.read_text() == CORE.replace("return a - b", "return a + b")
        assert "1 of 2 hunks" in told
        assert "a product reads better" in told
        assert "return a + a" in told.partition("Not applied")[2]
        terminal.wait_for("1 of 2 hunks approved")
    (decision,) = decided(home)[:1]
    assert (decision["decision"], decision["taken"], decision["left"]) == ("part", 1, {"1": "a product reads better"})


def test_keys_typed_ahead_go_to_the_message_and_a_y_after_the_paint_approves(home: Home, project: Path):
    core = project / "calc/core.py"
    turns = [Turn(text="wait for it now", calls=FIX_BOTH.calls, hold_after=2)]
    with ScriptedServer(turns, then=HELD) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("wait")
        terminal.send("y")
        server.release()
        typed = 1
        while "y approve" not in terminal.text():
            terminal.send("y")
            typed += 1
            terminal.wait_for(re.compile(f"› y{{{typed}}}"))
        assert core.read_text() == CORE
        assert decided(home) == []
        terminal.press("f2")
        terminal.wait_for("▌ y approve")
        terminal.send("yyy")
        terminal.wait_for("len(values)")
        terminal.press("f2")
        terminal.wait_for("▌ y approve")
        assert len(decided(home)) == 1, "the ones behind it were for what stood there before"
        assert core.read_text() == CORE.replace("return a - b", "return a + b")
        terminal.press("down", "y")
        terminal.wait_for(re.compile(r"done +check passed"))
        assert "(len(values) + 1)" not in core.read_text()


def test_edits_of_the_person_meanwhile_are_rebased_on_and_shown_as_conflicts(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN], then=HELD) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("▌ y approve")
        core.write_text(f"{CORE}\n\n# mine\n")
        terminal.wait_for(re.compile(r"re-based on your edit of \d\d:\d\d:\d\d"))
        terminal.wait_for("▌ y approve")
        terminal.press("y")
        server.wait_requests(2)
        assert core.read_text() == f"{CORE}\n\n# mine\n".replace("return a - b", "return a + b")
        terminal.wait_for("len(values)")
        terminal.wait_for("▌ y approve")
        theirs = core.read_text().replace("(len(values) + 1)", "(len(values) + 2)")
        core.write_text(theirs)
        terminal.wait_for(re.compile(r"conflict with your edit of \d\d:\d\d:\d\d"))
        terminal.wait_for("m keep mine")
        terminal.press("y")
        terminal.wait_for("conflict with the file")
        terminal.press("m")
        told = server.wait_requests(3)[2].text
        assert core.read_text() == theirs
        assert "(len(values) + 2)" in told


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (40, 120)])
def test_the_models_last_lines_stand_above_a_proposal_of_full_height(
    home: Home, project: Path, rows: int, columns: int
):
    long = "".join(f"line {n}\n" for n in range(90))
    wants = replace(
        call("write_file", path="long.txt", content=long), text="I looked.\n\nThe data must be in the tree."
    )
    with (
        ScriptedServer([wants, FIX_BOTH]) as server,
        on_goal(home, project, server, rows=rows, columns=columns) as terminal,
    ):
        terminal.wait_for("more below")
        above = "\n".join(terminal.screen()[: terminal.find("write long.txt")[0]])
        assert "The data must be in the tree." in above
        assert ("I looked." in above) == (rows >= 30)
        assert "fix the failing suite" not in above.split("\n", 1)[1], "the transcript is hidden"
