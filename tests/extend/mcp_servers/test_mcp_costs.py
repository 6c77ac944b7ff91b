"""What the tools of MCP servers cost of the context (docs/how-to/mcp.md)."""

from __future__ import annotations

from fakes.turns import call, finish

from rundry.agent import McpServer, context_costs
from rundry.agent.journal.journal import Journal

from .conftest import Run, server

END = [call("read_file", path="calc/core.py"), finish("done", "calc/core.py")]


async def test_the_costs_of_a_run_name_each_server_whose_tools_are_in_each_prompt(drive: Run):
    run = drive([server(), McpServer(name="gone", command="/nonexistent/server")], END)
    await run.run()
    told = {event["name"]: event["tokens"] for event in run.events if event["type"] == "mcp_server_changed"}
    journal = Journal.open_for_reading(run.path)
    costs = [cost for cost in context_costs(journal) if cost.what.startswith("MCP server")]
    journal.close()
    assert told["h"] > 0
    assert [(cost.what, cost.tokens, cost.in_each_prompt) for cost in costs] == [("MCP server h", told["h"], True)]
