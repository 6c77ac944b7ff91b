"""The store of accepted tools, which several runs change at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rundry.agent.extend.mcp.accepted import Accepted
from rundry.agent.protocol import ConfigError, McpServer

ACCEPT = """
import sys
from pathlib import Path
from rundry.agent.extend.mcp.accepted import Accepted
from rundry.agent.protocol import McpServer
accepted = Accepted(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for name in sys.argv[2:]:
    accepted.accept(McpServer(name=name, command=name), {"tool": name})
"""


def test_runs_that_accept_tools_at_the_same_time_lose_none(tmp_path: Path):
    store = tmp_path / "data" / "mcp.json"
    names = [[f"{half}{number}" for number in range(20)] for half in "ab"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", ACCEPT, str(store), *part], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for part in names
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        process.communicate(timeout=30)
    accepted = Accepted(store)
    servers = [McpServer(name=name, command=name) for part in names for name in part]
    assert [accepted.of(server) for server in servers] == [{"tool": server.name} for server in servers]
    assert accepted.of(McpServer(name="new", command="new")) is None


def test_a_damaged_store_of_accepted_tools_says_how_to_repair_it(tmp_path: Path):
    (tmp_path / "mcp.json").write_text("{oops")
    with pytest.raises(ConfigError, match="delete it, then accept the tools again"):
        Accepted(tmp_path / "mcp.json").of(McpServer(name="a", command="a"))
