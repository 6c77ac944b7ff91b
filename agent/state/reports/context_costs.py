"""How much of the context window the instructions, skills and MCP tools of a run take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...protocol import SKILL, McpServerChanged, Prompted, ToolCalled, ToolFinished
from ...protocol.extensions.headings import INSTRUCTIONS_HEADING, SKILLS_PART

if TYPE_CHECKING:
    from ...journal.journal import Journal

_CHARACTERS_PER_TOKEN = 4
"""A usual ratio for English text. The exact number depends on the model."""


@dataclass(frozen=True, slots=True)
class ContextCost:
    """One text of users or servers that the model gets."""

    what: str
    """Its file, `list of skills`, or `MCP server NAME`."""
    tokens: int
    """About this many tokens."""
    in_each_prompt: bool
    """Sent with each call, in the system prompt or as tools; otherwise a message, which a compaction can remove."""


def context_costs(journal: Journal) -> list[ContextCost]:
    """Return the costs of the run's main conversation, in the order in which they came."""
    found: list[ContextCost] = []
    skills: dict[str, str] = {}
    servers: dict[str, ContextCost] = {}
    for stamped in journal.read_types((Prompted, ToolCalled, ToolFinished, McpServerChanged)):
        match stamped.event:
            case Prompted(kind="system", text=text) if stamped.work is None:
                found += _of_system(text)
            case Prompted(kind="instructions", text=text) if stamped.work is None:
                name = text.partition(":\n")[0].rpartition(" (")[2].removesuffix(")")
                found.append(ContextCost(name, estimated_tokens(text), in_each_prompt=False))
            case Prompted(kind="mcp", text=text) if stamped.work is None:
                name = text.partition(":")[0].removeprefix("[")
                found.append(ContextCost(name, estimated_tokens(text), in_each_prompt=False))
            case ToolCalled(tool="read_file", call_id=call_id, arguments=dict()):
                path = str(cast("dict[str, object]", stamped.event.arguments).get("path", ""))
                if path.startswith(SKILL):
                    skills[call_id] = path
            case ToolFinished(call_id=call_id, ok=True, result=result) if call_id in skills:
                found.append(ContextCost(skills[call_id], estimated_tokens(result), in_each_prompt=False))
            case McpServerChanged(name=name, tokens=tokens):
                servers[name] = ContextCost(f"MCP server {name}", tokens, in_each_prompt=True)
            case _:
                pass
    return [*found, *(cost for cost in servers.values() if cost.tokens)]


def _of_system(text: str) -> list[ContextCost]:
    found: list[ContextCost] = []
    if (listed := SKILLS_PART.search(text)) is not None:
        found.append(ContextCost("list of skills", estimated_tokens(listed[0]), in_each_prompt=True))
    if (given := INSTRUCTIONS_HEADING.search(text)) is not None:
        found.append(ContextCost(given[1], estimated_tokens(text[given.start() :]), in_each_prompt=True))
    return found


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
