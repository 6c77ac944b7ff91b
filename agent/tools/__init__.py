"""The model's tools: their arguments, the drafts that they plan, and their results."""

from .arguments import (
    AskPerson,
    Edit,
    EditFile,
    FetchUrl,
    Finish,
    ListFiles,
    ReadFile,
    RunCommand,
    Search,
    StartCommand,
    UpdatePlan,
    WriteFile,
)
from .commands import plan_command
from .context import ToolContext
from .editing import plan_edit, plan_write
from .execution import carry_out, draft_of, plan_again, read
from .mcp_call import McpCall, parse_call
from .parse import Parsed, parse_arguments
from .reading.fetching import Fetched, Fetcher
from .result import ToolResult, Touched
from .tool import Tool
from .tool_table import TOOLS, tool_specs

__all__ = [
    "TOOLS",
    "AskPerson",
    "Edit",
    "EditFile",
    "FetchUrl",
    "Fetched",
    "Fetcher",
    "Finish",
    "ListFiles",
    "McpCall",
    "Parsed",
    "ReadFile",
    "RunCommand",
    "Search",
    "StartCommand",
    "Tool",
    "ToolContext",
    "ToolResult",
    "Touched",
    "UpdatePlan",
    "WriteFile",
    "carry_out",
    "draft_of",
    "parse_arguments",
    "parse_call",
    "plan_again",
    "plan_command",
    "plan_edit",
    "plan_write",
    "read",
    "tool_specs",
]
