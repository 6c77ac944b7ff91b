"""`/skills` and a slash command of a project in a real terminal."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

COMMAND = "---\ndescription: Review one file\n---\nReview $1 and nothing else.\n"


def test_a_command_of_a_project_is_listed_and_sends_its_text_only_once_it_is_trusted(home: Home, project: Path) -> None:
    commands = project / ".rundry/commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text(COMMAND)
    with (
        ScriptedServer([say("It is fine.")]) as server,
        home.screen("--api-base", server.base_url, "--model", "fake", cwd=project) as screen,
    ):
        screen.wait_for("not trusted yet")
        screen.send("/skills\r")
        assert "/review" in screen.wait_for("not trusted yet: /trust")
        screen.press("esc")
        screen.wait_for("what should be done?")
        assert not server.requests
        screen.send("/trust\r")
        screen.wait_for("trusted; used from now on: ")
        screen.send("/review calc/core.py \r")
        screen.wait_for("It is fine.")
        assert "Review calc/core.py and nothing else." in str(server.requests[-1].body)
