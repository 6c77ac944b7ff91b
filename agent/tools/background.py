"""Tools for commands that run on beside the steps, such as a development server (docs/requirements.md 7.6).

They are tools of their own, not a flag of `run_command`: how freely a command runs is no argument that a model sets,
and a small model meets one shape for each thing that it can do. What such a command prints is read with `read_file`
under `output:NAME`.
"""

from __future__ import annotations

import re

import msgspec

from ..gate import CommandDraft
from .arguments import StartCommand
from .context import ToolContext
from .result import ToolResult, failure

MOST = 8
"""At once."""
FOREVER = 1e9
"""Seconds: it ends with the run, not by a time-out."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}")


def plan_start(args: StartCommand, planned: CommandDraft | ToolResult, ctx: ToolContext) -> CommandDraft | ToolResult:
    """The command line, for the gate; `planned` as `run_command` would run it."""
    if not _NAME.fullmatch(args.name):
        return failure(f"`{args.name[:40]}` is no name: use up to 24 letters, digits, - and _", "no name")
    running = ctx.background()
    if args.name in running:
        return failure(f"`{args.name}` runs already: stop_command ends it, or take another name", "runs already")
    if len(running) >= MOST:
        return failure(f"{MOST} commands run in the background already ({', '.join(running)}): stop one", "too many")
    if isinstance(planned, ToolResult):
        return planned
    return msgspec.structs.replace(planned, tool="start_command", timeout=FOREVER)
