"""Goal runs whose check is confirmed in a clean checkout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fakes.project import CHECK
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say
from fakes.wire import text_of

DONE = "grep -q done result.txt"


def run_goal(
    home: Home, project: Path, turns: Sequence[Turn], *argv: str, check: str = CHECK, path: str | None = None
) -> tuple[Ran, list[str]]:
    """The run, and what the model read before each of its calls. `path`: its PATH."""
    with ScriptedServer(turns, then=say("I have no idea.")) as server:
        words = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--until", check, "--steps", "4"]
        env = {} if path is None else {"PATH": path}
        ran = home.run("run", "fix it", "--headless", "--json", *words, *argv, cwd=project, env=env)
        return ran, [text_of(request.messages[-1]) for request in server.requests]


def shell(command: str) -> Turn:
    return call("run_command", command=command)


def confirmation(ran: Ran) -> dict[str, Any]:
    found = ran.outcome["evidence"]["confirmation"]
    assert found is not None, ran
    return found


def make_venv(project: Path) -> Path:
    """A virtual environment with a package and an editable install of the project. Returns its packages' folder."""
    venv = project / ".venv"
    packages = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}")
    (packages / "helper.py").write_text("def right(value):\n    return value == 'done'\n")
    (packages / "project.pth").write_text(f"{project}\n")
    return packages


VENV_CHECK = ".venv/bin/python -c 'import helper, state; assert helper.right(state.VALUE)'"
