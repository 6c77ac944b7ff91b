"""The results of tool calls: of one call at the gate, and of all calls of a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ...protocol import ToolCall
from ...tools.parse import Parsed
from ...tools.tool_result import ToolResult

if TYPE_CHECKING:
    from ...protocol.tools.traits import EndingTool


class Endings(Protocol):
    """Accepts and records the calls that end works. Each gets the name of the work, the tool and its arguments."""

    def refuse_ending(self, work: str | None, tool: str, arguments: dict[str, Any]) -> str | None:
        """Return why the call does not end the work, as text for the model, or None if it does."""
        ...

    def record_ending(self, work: str | None, tool: str, arguments: dict[str, Any]) -> None:
        """Record the content of the call, in the commit of its result."""
        ...


@dataclass(slots=True)
class CallResults:
    """The results of a step's tool calls, and what follows from them."""

    work: str | None = None
    endings: Endings | None = None
    results: list[tuple[ToolCall, Parsed, ToolResult]] = field(
        default_factory=list[tuple[ToolCall, Parsed, ToolResult]]
    )
    ended_with: EndingTool | None = None
    """The tool that ended the work: an accepted `finish` or `report`, or None if none did."""
    ending: dict[str, Any] | None = None
    """Its arguments."""
    places: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """For calls that change a file, if the answer changes several: the number of the file, and how many there are."""
    children: int = 0
    """How many child runs the answer starts."""
    rejected: set[str] = field(default_factory=set[str])
    """Calls that a person rejected."""
    handoff: str | None = None
    """Why someone has to decide."""
    has_waited: bool = False
    """Whether the model waited for something so long that doing the same again is not a stall."""
    left_open: set[str] = field(default_factory=set[str])
    """Calls without a result yet, because their proposals stay open."""


@dataclass(slots=True)
class GateResult:
    """The result of one call at the gate."""

    result: ToolResult | None
    """The result of the call, or None if its proposal stays open."""
    handoff: str | None = None
    """Why someone has to decide."""
    is_rejected: bool = False
    """Whether a person rejected it."""
