"""Plan the command lines of `run_command` and `start_command` for the gate.

`start_command` (docs/requirements.md 7.6) is a tool of its own and not a flag of `run_command`: how freely a command
runs is not an argument for the model to set, and a small model gets one form for each action. The model reads the
output of a background command with `read_file` under `output:NAME`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from ..gate.draft import CommandDraft
from .tool_arguments import RunCommand, StartCommand
from .tool_result import ToolResult, failure

if TYPE_CHECKING:
    from .tool_context import ToolContext

_LONGEST_COMMAND = 100_000
_MOST_SECONDS = 3_600.0

_MOST_IN_BACKGROUND = 8
"""Background commands at the same time."""
_FOREVER = 1e9
"""Time-out in seconds that is never reached: the command ends with the run."""
_BACKGROUND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}")


def plan_command(args: RunCommand, ctx: ToolContext) -> CommandDraft | ToolResult:
    """Plan the command line, with its time-out in seconds."""
    command = args.command.strip("\n")
    if not command.strip():
        return failure("the command is empty", "no command")
    if "\0" in command:
        return failure("the command has a NUL character", "no command")
    if len(command) > _LONGEST_COMMAND:
        return failure(f"the command is {len(command):,} characters long: write a script with write_file and run it")
    timeout = ctx.time_limits.command_seconds if args.timeout is None else args.timeout
    if not 0 < timeout <= _MOST_SECONDS:
        return failure(f"timeout is a number of seconds from 1 to {_MOST_SECONDS:g}, not {timeout:g}", "wrong timeout")
    return CommandDraft(tool="run_command", command=command, timeout=timeout, cwd=ctx.workspace.seen)


def plan_start(args: StartCommand, ctx: ToolContext) -> CommandDraft | ToolResult:
    """Plan a command that runs in the background, such as a development server."""
    planned = plan_command(RunCommand(args.command), ctx)
    if not _BACKGROUND_NAME.fullmatch(args.name):
        return failure(f"`{args.name[:40]}` is not a valid name: use up to 24 letters, digits, - and _", "no name")
    running = ctx.background.names()
    if args.name in running:
        return failure(f"`{args.name}` is already running: use stop_command or another name", "runs already")
    if len(running) >= _MOST_IN_BACKGROUND:
        return failure(
            f"{_MOST_IN_BACKGROUND} commands already run in the background ({', '.join(running)}): stop one", "too many"
        )
    if isinstance(planned, ToolResult):
        return planned
    return msgspec.structs.replace(planned, tool="start_command", timeout=_FOREVER)
