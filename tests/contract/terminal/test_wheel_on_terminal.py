"""A person drives in a real terminal: a command, a file in $EDITOR, and the wheel back with a note."""

from __future__ import annotations

from pathlib import Path

from fakes.project import CORE
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, say


def test_a_file_is_edited_in_the_persons_editor_and_the_model_hears_of_it(home: Home, project: Path):
    editor = project.parent / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/return a - b/return a + b/" "$1"\n')
    editor.chmod(0o755)
    turns = [Turn(text="I think about it", hold_after=4), say("I see")]
    with ScriptedServer(turns, then=say("I see")) as server:
        options = ["--model", "fake", "--api-base", server.base_url, "--loop", "chat"]
        env = {"EDITOR": str(editor)}
        with home.screen("look at it", *options, cwd=project, env=env) as terminal:
            terminal.wait_for("I think about")
            terminal.send("\x1bw")
            terminal.wait_for("you control")
            terminal.send("/edit calc/core.py\r")
            terminal.wait_for("you: write calc/core.py")
            terminal.wait_for("changed by person")
            assert (project / "calc/core.py").read_text() == CORE.replace("return a - b", "return a + b")
            terminal.send("/edit calc/nothing/there.py\r")
            terminal.wait_for("unchanged")
            terminal.send("/control the sign was wrong\r")
            terminal.wait_for("you returned control to the model")
            told = server.wait_requests(2)[1].text
            terminal.wait_for("the sign was wrong")
            terminal.wait_for("I see")
            assert "the sign was wrong" in told
            assert "+    return a + b" in told
