"""Tools for commands that run in the background, such as a development server (docs/requirements.md 7.6).

They are separate tools, not a flag of `run_command`: how freely a command runs is not an argument for the model to
set, and a small model gets one form for each action. The model reads the output of such a command with `read_file`
under `output:NAME`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .arguments import RunCommand, StartCommand
from .commands import plan_command
from .result import ToolResult, failure

if TYPE_CHECKING:
    from ..gate.draft import CommandDraft
    from .context import ToolContext

MOST = 8
"""Background commands at the same time."""
FOREVER = 1e9
"""Time-out in seconds that is never reached: the command ends with the run."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}")


def plan_start(args: StartCommand, ctx: ToolContext) -> CommandDraft | ToolResult:
    """Plan a background command for the gate."""
    planned = plan_command(RunCommand(args.command), ctx)
    if not _NAME.fullmatch(args.name):
        return failure(f"`{args.name[:40]}` is not a valid name: use up to 24 letters, digits, - and _", "no name")
    running = ctx.background()
    if args.name in running:
        return failure(f"`{args.name}` is already running: use stop_command or another name", "runs already")
    if len(running) >= MOST:
        return failure(f"{MOST} commands already run in the background ({', '.join(running)}): stop one", "too many")
    if isinstance(planned, ToolResult):
        return planned
    return msgspec.structs.replace(planned, tool="start_command", timeout=FOREVER)
