"""The MCP servers of a run: which tools are offered, and which changes of them wait for a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ...protocol import ConfigError, McpServerChanged, ToolSpec
from ...protocol.tools.mcp import server_of
from .accepted import Accepted
from .client import McpClient
from .failed import McpFailed
from .tool_listing import INSTRUCTIONS, Listing, McpTool

if TYPE_CHECKING:
    from ...state.recorder import Events
    from .running_call import Caller

MOST_NAMED = 10
"""Tools that a line names one by one."""


class ListChange(msgspec.Struct, frozen=True, kw_only=True):
    """A list of tools that differs from the accepted one."""

    client: McpClient
    listing: Listing
    new: list[McpTool]
    changed: list[McpTool]
    removed: list[str]
    instructions: str = ""
    """The instructions of the server, if they are not the accepted ones."""

    @property
    def text(self) -> str:
        """The change as JSON, for a person."""
        shown: dict[str, object] = {
            "instructions": self.instructions.splitlines(),
            "new": [_shown(tool) for tool in self.new],
            "changed": [_shown(tool) for tool in self.changed],
            "removed": self.removed,
        }
        return json.dumps({key: value for key, value in shown.items() if value}, ensure_ascii=False, indent=2)

    @property
    def title(self) -> str:
        """The change in one line."""
        counts = {"new": len(self.new), "changed": len(self.changed), "gone": len(self.removed)}
        parts = [f"{count} {how}" for how, count in counts.items() if count]
        if not self.new and not self.changed:
            return f"other instructions of the MCP server {self.client.name}"
        parts += ["other instructions"] if self.instructions else []
        return f"other tools of the MCP server {self.client.name}: {', '.join(parts)}"


class McpServers:
    """All servers of a run. Without any, it does nothing."""

    def __init__(
        self,
        clients: Sequence[McpClient],
        accepted: Accepted,
        count: Callable[[Sequence[ToolSpec]], int] | None = None,
    ) -> None:
        """`count`: returns the tokens that tools take in each prompt, or None if they are not counted."""
        self.clients = {client.name: client for client in clients}
        self._accepted, self._count = accepted, count
        self._declined: dict[str, dict[str, str]] = {}
        """What a person or the policy declined of each server in this run: tools and instructions, by their digests."""
        self._kept: dict[str, dict[str, str]] = {}
        """The accepted tools and instructions of each server."""
        self.reviewing = asyncio.Lock()

    async def start(self) -> list[str]:
        """Start all servers at the same time. Returns a line for the person about each."""
        await asyncio.gather(*(client.start() for client in self.clients.values()))
        return [line for client in self.clients.values() for line in self._first_list(client)]

    def _first_list(self, client: McpClient) -> list[str]:
        """Compare the first list with the one that was accepted earlier. Returns lines for the person."""
        if client.state != "ready":
            return [f"MCP server {client.name} does not run: {client.why}"]
        notes: list[str] = []
        try:
            known = self._accepted.of(client.server)
            if known is None:
                known = client.listing.digests
                self._accepted.accept(client.server, known)
                what = "tools and instructions" if client.listing.instructions else "tools"
                first = f"its {what} are accepted, because you use it for the first time"
                notes.append(f"MCP server {client.name}: {first}")
            elif INSTRUCTIONS not in known:  # an older version stored it, which did not read instructions
                known[INSTRUCTIONS] = client.listing.digests[INSTRUCTIONS]
                self._accepted.accept(client.server, known)
        except ConfigError as error:
            known = {}
            notes.append(f"MCP server {client.name}: {error}")
        self._kept[client.name] = known
        self._offer(client, client.listing)
        client.is_changed = self._difference(client, client.listing) is not None
        tools = ", ".join(tool.name for tool in list(client.tools.values())[:MOST_NAMED]) or "none"
        more = f" and {len(client.tools) - MOST_NAMED} more" if len(client.tools) > MOST_NAMED else ""
        rights = {"network": client.server.network, "writes to the workspace": client.may_write}
        held = f" ({', '.join(name for name, is_given in rights.items() if is_given)})" if any(rights.values()) else ""
        cost = self._tokens(client)
        first = f"MCP server {client.name} answers{held}: tools {tools}{more}; about {cost:,} tokens of each prompt"
        return [first, *notes, *(f"MCP server {client.name}: refused {line}" for line in client.listing.refused)]

    def _tokens(self, client: McpClient) -> int:
        """Return the tokens that the offered tools of a server take in each prompt."""
        specs = [tool.spec for tool in client.tools.values()]
        return self._count(specs) if specs and self._count is not None else 0

    def _offer(self, client: McpClient, listing: Listing) -> None:
        """Offer the tools and the instructions that are exactly as they were accepted."""
        kept, now = self._kept.get(client.name, {}), listing.digests[INSTRUCTIONS]
        client.instructions = listing.instructions if kept.get(INSTRUCTIONS, "") == now else ""
        client.tools = {tool.offered: tool for tool in listing.tools if kept.get(tool.name) == tool.digest}

    def _difference(self, client: McpClient, listing: Listing) -> ListChange | None:
        """Return how the list differs from the accepted tools, or None if only in what was declined before."""
        kept, declined = self._kept.get(client.name, {}), self._declined.get(client.name, {})
        now = listing.digests
        others = {name for name, digest in now.items() if digest not in ("", kept.get(name), declined.get(name))}
        if not others:
            return None
        return ListChange(
            client=client,
            listing=listing,
            new=[tool for tool in listing.tools if tool.name in others and tool.name not in kept],
            changed=[tool for tool in listing.tools if tool.name in others and tool.name in kept],
            removed=sorted(name for name in kept if name not in now),
            instructions=listing.instructions if INSTRUCTIONS in others else "",
        )

    def waiting(self) -> list[McpClient]:
        """Return the servers whose list of tools must be compared before a tool of theirs is offered."""
        return [client for client in self.clients.values() if client.is_changed and client.state == "ready"]

    async def change_of(self, client: McpClient) -> ListChange | None:
        """Read the list of a server again; return what a person has to decide, if anything. Raises McpFailed."""
        client.is_changed = False
        listing = await client.list_again()
        found = self._difference(client, listing)
        self._offer(client, listing)
        return found

    def accept(self, change: ListChange) -> str | None:
        """Offer the tools of this list from now on. Returns why it cannot be remembered, or None."""
        self._kept[change.client.name] = change.listing.digests
        self._offer(change.client, change.listing)
        try:
            self._accepted.accept(change.client.server, change.listing.digests)
        except ConfigError as error:
            return str(error)
        return None

    def decline(self, change: ListChange) -> None:
        """Do not offer what is new or changed, and do not ask about it again in this run."""
        declined = self._declined.setdefault(change.client.name, {})
        declined.update({tool.name: tool.digest for tool in (*change.new, *change.changed)})
        if change.instructions:
            declined[INSTRUCTIONS] = change.listing.digests[INSTRUCTIONS]

    def decide_later(self, change: ListChange) -> None:
        """Compare the list again before a tool of its server is offered: nobody decided about it."""
        change.client.is_changed = True

    def specs(self) -> list[ToolSpec]:
        """Return the tools that are offered now."""
        return [tool.spec for client in self._offering() for tool in client.tools.values()]

    def names(self) -> list[str]:
        """Return the names of the tools that are offered now."""
        return [spec.name for spec in self.specs()]

    def instructions(self) -> dict[str, str]:
        """Return the accepted instructions of the servers whose tools are offered now, by their names."""
        return {client.name: client.instructions for client in self._offering() if client.instructions}

    def find(self, name: str) -> McpTool | None:
        """Return the offered tool of this name."""
        return next((client.tools[name] for client in self._offering() if name in client.tools), None)

    def why_not(self, name: str) -> str | None:
        """Return why a tool of a configured server is not offered, or None if no server has this name."""
        client = self.clients.get(server_of(name) or "")
        if client is None:
            return None
        if not client.is_offered:
            return f"the MCP server {client.name} does not run: {client.why}"
        if client.is_changed:
            return f"the MCP server {client.name} changed what it offers, and the person has not accepted it yet"
        return f"the MCP server {client.name} has no tool {name}, or the person did not accept it"

    def _offering(self) -> list[McpClient]:
        return [client for client in self.clients.values() if client.is_offered and not client.is_changed]

    async def call(
        self, tool: McpTool, arguments: dict[str, object], caller: Caller, seconds: float, longest: float
    ) -> dict[str, Any]:
        """Call a tool, if it is still the one that was offered. Raises McpFailed.

        If its server is being started again, this waits for it. `longest`: what progress can extend `seconds` to.
        """
        await self.clients[tool.server].settled()
        if self.find(tool.offered) != tool:
            raise McpFailed(self.why_not(tool.offered) or f"there is no tool {tool.offered}")
        return await self.clients[tool.server].call(tool.name, arguments, caller, seconds, longest)

    def changed(self, client: McpClient, detail: str = "") -> McpServerChanged:
        """Return the event that describes a server now."""
        again = "it runs again" if client.restarts and client.state == "ready" else ""
        asked = [f"it asked for {what}, which was refused" for what in client.refused_requests]
        return McpServerChanged(
            name=client.name,
            state=client.state,
            place=client.server.place,
            detail="; ".join(part for part in (detail or client.why or again, *asked) if part),
            tools=list(client.tools) if client.is_offered else [],
            tokens=self._tokens(client) if client.is_offered else 0,
            refused=client.listing.refused,
            network=client.server.network or client.server.url is not None,
            outputs=[*client.outputs],
            restarts=client.restarts,
            instructions=client.instructions if client.is_offered else "",
            login=client.login,
        )

    def record_changes(self, events: Events) -> None:
        """Record the state of each server whenever it changes, until `close`."""
        for client in self.clients.values():
            client.on_change = lambda client: events.record(self.changed(client))

    async def close(self) -> None:
        """End all servers. Their end is not recorded."""
        for client in self.clients.values():
            client.on_change = None
        await asyncio.gather(*(client.end("the run ended") for client in self.clients.values()))


def no_servers() -> McpServers:
    """Return the servers of a run without any."""
    return McpServers([], Accepted())


def _shown(tool: McpTool) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "claims": tool.claims, "arguments": tool.schema}
