"""`/trust` in a real terminal: what it names, and when it applies."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer

HOOK = '[[hooks]]\non = "before-tool"\ncommand = "python3 .rundry/hooks/no_push.py"\n'


def test_trust_says_when_config_applies_and_names_each_file_once(home: Home, project: Path) -> None:
    hooks = project / ".rundry/hooks"
    hooks.mkdir(parents=True)
    (hooks / "no_push.py").write_text("import sys\nsys.exit(2)\n")
    (project / ".rundry.toml").write_text(HOOK)
    with (
        ScriptedServer() as server,
        home.screen("--api-base", server.base_url, "--model", "fake", cwd=project) as screen,
    ):
        screen.wait_for("not trusted yet")
        screen.send("/trust\r")
        shown = screen.wait_for("trusted; config and hooks apply from the next start: .rundry.toml")
    assert shown.count("no_push.py") == 1


def test_trust_says_so_where_a_folder_has_nothing_to_trust(home: Home, project: Path) -> None:
    with (
        ScriptedServer() as server,
        home.screen("--api-base", server.base_url, "--model", "fake", cwd=project) as screen,
    ):
        screen.wait_for("what should be done?")
        screen.send("/trust\r")
        screen.wait_for("this folder has nothing to trust")
