"""Start the MCP servers of a run, and record their state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...extend.mcp.accepted import Accepted
from ...extend.mcp.connect import client_of
from ...extend.mcp.mcp_servers import McpServers
from ...models.remote_model import RemoteModel
from ...protocol import FILE_FORMATS, RunSpec, ToolSpec
from ...step.resources.live_places import live_places
from .variables_of_run import key_names

if TYPE_CHECKING:
    from ...step.resources.run_context import RunContext
    from .inputs import Inputs


async def with_servers(inputs: Inputs, ctx: RunContext) -> tuple[RunContext, list[str]]:
    """Start the servers of the run's spec. Returns the context that offers their tools, and notes for the person.

    A server that does not work is reported, and the run begins without it.
    """
    spec, changes, env = inputs.journal.spec, inputs.order.changes, inputs.process.env
    if not spec.mcp:
        return ctx, []
    if not uses_servers(spec):
        return ctx, [f"{spec.loop.a_run} offers no tools of MCP servers"]
    model = ctx.models.of_run
    if isinstance(model, RemoteModel):
        await model.encoding_loaded()
    keys = key_names(spec.model, changes.model or inputs.facts.model_spec, spec.web_search)
    live = await asyncio.to_thread(live_places, ctx.workspace, ctx.layers, spec.gate.sandbox.live, ctx.gate, ctx.guard)
    clients = [client_of(server, ctx.sandbox, ctx.workspace.seen, env, keys, live) for server in spec.mcp]

    for client in clients:
        if client.missing:
            inputs.tell(f"MCP server {client.name} may not start: {client.missing}")

    def count(specs: Sequence[ToolSpec]) -> int:
        return ctx.models.current.count([], specs) - ctx.models.current.count([], ())

    servers = McpServers(clients, Accepted(env=env), count)
    try:
        notes = await servers.start()
    except BaseException:
        await servers.close()
        raise
    servers.record_changes(ctx.events)
    return replace(ctx, tools=replace(ctx.tools, mcp=servers)), notes


def uses_servers(spec: RunSpec) -> bool:
    """Return whether the run has a conversation of its own, with tools."""
    return spec.finder is None and not spec.loop.traits.has_children and spec.edit_format not in FILE_FORMATS


def record_servers(ctx: RunContext) -> None:
    """Record the state of each server after the run began or resumed."""
    servers = ctx.tools.mcp
    for client in servers.clients.values():
        ctx.events.record(servers.changed(client))
