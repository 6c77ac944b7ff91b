"""`/mcp` shows the MCP servers of a run (docs/how-to/mcp.md)."""

from __future__ import annotations

import pytest
from fakes.played_events import started
from fakes.pressing import press
from fakes.screens import Stage
from painted import shows, until

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


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_a_run_without_servers_says_how_to_add_one_and_the_box_is_empty(size: tuple[int, int]):
    stage = Stage()
    async with stage.app.run_test(size=size) as pilot:
        stage.play(started())
        await stage.caught_up(pilot)
        await press(pilot, *"/mcp", "enter")
        await shows(pilot, "no MCP servers: `rundry mcp add` adds one")
        assert stage.screen.message.box.text == ""


async def test_a_command_stays_in_the_box_only_if_it_can_be_corrected():
    stage = Stage()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        stage.play(started())
        await stage.caught_up(pilot)
        for command, kept in (("/parent", ""), ("/child", ""), ("/child 9", "/child 9"), ("/mpc", "/mpc")):
            stage.screen.message.box.text = command
            await press(pilot, "enter")
            await until(pilot, lambda: stage.screen.message.box.text == kept)  # noqa: B023
            stage.screen.message.box.text = ""
