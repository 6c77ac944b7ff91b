"""Diagnostics by the real command: also where there are no layers, and switched off."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import edit, finish

ARGV = ("run", "work", "--loop", "goal", "--headless", "--json", "--steps", "4", "--model", "fake", "--gate", "auto")


def run(home: Home, project: Path, *more: str) -> Ran:
    (project / ".venv/bin").mkdir(parents=True)
    shutil.copy(Path(sys.executable).with_name("ruff"), project / ".venv/bin/ruff")
    (project / "ruff.toml").write_text("")
    script = [
        edit("calc/core.py", "return a - b", "return a + c"),
        edit("calc/core.py", "def add(a, b):", "def add(a, b:"),
    ]
    with ScriptedServer(script, then=finish("done")) as server:
        return home.run(*ARGV, "--api-base", server.base_url, *more, cwd=project)


def test_without_layers_a_tool_sees_the_workspace_read_only_where_a_sandbox_holds_it(
    home_without_layers: Home, project: Path
) -> None:
    ran = run(home_without_layers, project)
    found = [one for event in ran.of("files_diagnosed") for one in event["problems"]]
    has_sandbox = ran.of("run_started")[0]["sandbox"] is not None
    assert ("F821 Undefined name `c`" in str(found)) is has_sandbox and "was never closed" in str(found), ran
    assert not (project / ".ruff_cache").exists()


def test_the_option_turns_it_off(home: Home, project: Path) -> None:
    assert not run(home, project, "--diagnostics", "off").of("files_diagnosed")
