"""`/mcp` shows the MCP servers of a run (docs/how-to/mcp.md)."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.screens import Stage
from painted import shows

from rundry.agent import McpServerChanged

READY = McpServerChanged(
    name="time", state="ready", place="mcp-server-time", tools=["get_current_time", "convert_time"], tokens=412
)
DOCS = McpServerChanged(
    name="wiki",
    state="ready",
    place="https://wiki.example.org/mcp",
    login="stored",
    instructions="Search first.\nThen read.",
)
SHUT = McpServerChanged(name="shut", state="failed", place="https://shut.example.org/mcp", login="wanted")
GONE = McpServerChanged(name="gone", state="failed", place="no-such-server", detail="it could not be started")
AGAIN = McpServerChanged(
    name="docs", state="starting", detail="it ended with exit code 3; started again (2 of 3)", restarts=2
)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_the_dialog_shows_each_server_with_its_state_tools_and_cost(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(started(), READY, GONE, AGAIN)
        await stage.caught_up(pilot)
        await press(pilot, *"/mcp", "enter")
        await shows(pilot, "MCP servers")
        text = stage.text()
        for words in (
            "time   ready   2 tools, 412 tokens of each prompt",
            "get_current_time, convert_time",
            "gone   failed",
            "it could not be started",
            "docs   starting   started again 2 times",
        ):
            assert words in text, text


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_the_dialog_shows_logins_and_instructions(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(started(), DOCS, SHUT)
        await stage.caught_up(pilot)
        await press(pilot, *"/mcp", "enter")
        await shows(pilot, "MCP servers")
        text = stage.text()
        for words in (
            "a login is stored",
            "its instructions for the model:",
            "    Search first.",
            "    Then read.",
            "it wants a login: run `rundry mcp login shut`",
        ):
            assert words in text, text


async def test_a_run_without_servers_says_how_to_add_one():
    stage = Stage()
    async with stage.app.run_test(size=(120, 40)) as pilot:
        stage.play(started())
        await stage.caught_up(pilot)
        await press(pilot, *"/mcp", "enter")
        await shows(pilot, "this run has no MCP servers")
