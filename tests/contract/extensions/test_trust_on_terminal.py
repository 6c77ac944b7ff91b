"""`/trust` in a real terminal: what it names, and when it applies."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

HOOK = '[[hooks]]\non = "before-tool"\ncommand = "python3 .rundry/hooks/no_push.py"\n'


def test_trust_applies_before_a_run_and_names_each_file_once(home: Home, project: Path) -> None:
    hooks = project / ".rundry/hooks"
    hooks.mkdir(parents=True)
    (hooks / "no_push.py").write_text("import sys\nsys.exit(2)\n")
    (project / ".rundry.toml").write_text(f"budget.steps = 7\n{HOOK}")
    with (
        ScriptedServer([say("It is fine.")]) as server,
        home.screen("--api-base", server.base_url, "--model", "fake", cwd=project) as screen,
    ):
        screen.wait_for("not trusted yet")
        screen.send("/trust\r")
        shown = screen.wait_for("trusted; used from now on: .rundry.toml")
        assert shown.count("no_push.py") == 1
        assert "not trusted yet" not in shown
        screen.send("look\r")
        shown = screen.wait_for("It is fine.")
        assert "not trusted yet" not in shown


def test_trust_during_a_run_says_to_open_it_again(home: Home, project: Path) -> None:
    (project / ".rundry.toml").write_text("budget.steps = 7\n")
    with (
        ScriptedServer([say("It is fine.")]) as server,
        home.screen("--api-base", server.base_url, "--model", "fake", cwd=project) as screen,
    ):
        screen.wait_for("not trusted yet")
        screen.send("look\r")
        screen.wait_for("It is fine.")
        screen.send("/trust\r")
        screen.wait_for("trusted; for this folder's config, leave and open rundry again: .rundry.toml")


def test_trust_says_so_where_a_folder_has_nothing_to_trust(home: Home, project: Path) -> None:
    with (
        ScriptedServer() as server,
        home.screen("--api-base", server.base_url, "--model", "fake", cwd=project) as screen,
    ):
        screen.wait_for("what should be done?")
        screen.send("/trust\r")
        screen.wait_for("this folder has nothing to trust")
