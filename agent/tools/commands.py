"""Plan the command line of `run_command` for the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..gate.draft import CommandDraft
from .result import ToolResult, failure

if TYPE_CHECKING:
    from .arguments import RunCommand
    from .context import ToolContext

_LONGEST_COMMAND = 100_000
_MOST_SECONDS = 3_600.0


def plan_command(args: RunCommand, ctx: ToolContext) -> CommandDraft | ToolResult:
    """Plan the command line, with its time-out in seconds."""
    command = args.command.strip("\n")
    if not command.strip():
        return failure("the command is empty", "no command")
    if "\0" in command:
        return failure("the command has a NUL character", "no command")
    if len(command) > _LONGEST_COMMAND:
        return failure(f"the command is {len(command):,} characters long: write a script with write_file and run it")
    timeout = ctx.command_seconds() if args.timeout is None else args.timeout
    if not 0 < timeout <= _MOST_SECONDS:
        return failure(f"timeout is a number of seconds from 1 to {_MOST_SECONDS:g}, not {timeout:g}", "wrong timeout")
    return CommandDraft(tool="run_command", command=command, timeout=timeout, cwd=ctx.workspace.seen)
