"""Runs with MCP servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import make_project
from fakes.turns import Turn

from rundry.agent.protocol import GateMode, McpServer

HOSTILE = Path(__file__).with_name("hostile_server.py")
MINE = str(os.getpid())
"""Tells the servers of this process from those of others that run the tests at the same time."""
Run = Callable[..., Driven]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def server(how: str = "honest", name: str = "h", **more: Any) -> McpServer:
    """The hostile server, which misbehaves in one way."""
    options: dict[str, Any] = {"timeout": 5.0, **more}
    return McpServer(name=name, command=sys.executable, args=[str(HOSTILE), how, MINE], **options)


def time_server(**more: Any) -> McpServer:
    """A server that nobody here wrote."""
    return McpServer(name="time", command=str(Path(sys.executable).with_name("mcp-server-time")), **more)


@pytest.fixture
def drive(tmp_path: Path, project: Path) -> Run:
    """Make a run with these servers and turns of the model. Its accepted tools are kept below `tmp_path`."""
    (tmp_path / "runs").mkdir()

    def make(servers: Sequence[McpServer], turns: Sequence[Turn], **more: Any) -> Driven:
        driven = Driven(
            tmp_path / "runs", project, ScriptedModel(turns), mcp=list(servers), **{"gate": GateMode.ASK, **more}
        )
        driven.env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), **ENV}
        driven.env["XDG_STATE_HOME"] = str(tmp_path / "state")
        return driven

    return make


ENV = {"MY_TOKEN": "s3cret-of-the-user", "OPENAI_API_KEY": "sk-0123456789abcdef", "OTHER_SECRET": "not-for-servers"}
"""What the user's environment holds."""


def results(driven: Driven) -> list[dict[str, Any]]:
    """The results of the calls so far."""
    return [event for event in driven.events if event["type"] == "tool_finished"]
