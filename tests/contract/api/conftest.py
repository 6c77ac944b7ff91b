"""A program of the user: in this process, or as a script in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.project import CHECK
from fakes.rundry import Home
from fakes.server import ScriptedServer


@pytest.fixture
def home(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """The empty home, which is also that of this process."""
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)
    yield home


class Program:
    """Starts scripts, with the options of a run of the scripted server in `OPTIONS`."""

    def __init__(self, home: Home, project: Path, server: ScriptedServer) -> None:
        self.home, self.options = home, options_of(project, server)

    def start(self, body: str) -> subprocess.Popen[str]:
        """Start a script that has the options as `OPTIONS`."""
        text = f"import rundry\nOPTIONS = {self.options!r}\n{body}\n"
        return subprocess.Popen(
            [sys.executable, "-X", "dev", "-c", text],
            env=self.home.env,
            cwd=self.home.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def options_of(project: Path, server: ScriptedServer) -> dict[str, Any]:
    return {"folder": str(project), "model": "fake", "api_base": server.base_url, "until": CHECK}
