"""A long paste after it was sent: folded in the transcript, and not in the title."""

from __future__ import annotations

import json
from pathlib import Path

from contract.terminal.goals import of
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

PASTE = "\n".join(f"    value_{n} = compute({n});" for n in range(200))


def test_a_paste_of_200_lines_stays_folded_and_the_title_is_the_first_sentence(home: Home, project: Path):
    with (
        ScriptedServer([say("I see it.")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("Try")
        terminal.send("Why is this slow? Look at each line.")
        terminal.press("ctrl+j")
        terminal.paste(PASTE)
        terminal.wait_for("[paste 1: 200 lines]")
        terminal.press("enter")
        screen = terminal.wait_for("I see it.")
        assert "value_199" in server.requests[0].text, "the model reads all of it"
        head = screen.splitlines()[0]
        assert "Why is this slow?" in head and "value_" not in head and "Look at" not in head
        assert "⋯ 195 more lines" in screen and "value_2 " in screen and "value_199" in screen
        assert "value_100" not in screen
        terminal.press("ctrl+o")
        terminal.wait_for(lambda lines: not any("more lines" in line for line in lines))
        terminal.wait_for("value_190")
        terminal.press("ctrl+o")
        terminal.wait_for("⋯ 195 more lines")
        terminal.press("ctrl+c", "ctrl+c")
        terminal.wait_for_exit()
    assert json.dumps(PASTE)[1:-1] in json.dumps(of(home, "run_started", "said"))
    listed = home.run("runs", cwd=project).stdout
    assert "Why is this slow?" in listed and "value_" not in listed
