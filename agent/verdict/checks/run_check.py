"""Run a check, a command whose exit code 0 means that the goal is met (docs/requirements.md 2.3.1, 2.3.2)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.terminal_text import plain
from ...sandbox.command_access import NO_ACCESS, Access, programs_of_user
from ..counting.count_tests import count_tests, failing_of
from ..counting.counted import Counted

if TYPE_CHECKING:
    from ...host.processes.processes import Finished
    from ...host.workspace_paths import Workspace
    from ...sandbox.sandbox import Sandbox

OUTPUT_CHARACTERS = 8_000
"""Characters of a check's output that are sent to the model."""
_HEAD_SHARE = 4
"""A quarter is taken from the beginning: runners print the verdict at the end."""
_BASH_SAYS = re.compile(r"^(?:bash|/\S*/bash|environment): ")
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run of a check; the fields of `CheckFinished`."""

    command: str
    passed: bool
    exit_code: int | None
    """None means that it timed out or did not start."""
    timed_out: bool
    failing: int | None
    """Number of failing tests, if the output counts them."""
    counted: Counted | None = None
    """The counts of the whole output, before it is shortened."""
    output: str
    """Head and tail, without terminal sequences."""
    seconds: float
    error: str | None
    """Why it could not be started, on one line."""


async def run_check(
    command: str,
    workspace: Workspace,
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - a whole tree of processes has to end
    sandbox: Sandbox,
    access: Access = NO_ACCESS,
    shown_as: Path | None = None,
    on_output: Callable[[bytes], None] | None = None,
) -> CheckResult:
    """Run the check with `bash --noprofile --norc -c` in the sandbox; `timeout` in seconds. Never raises OSError.

    `access`: its permissions; what it names by absolute paths it can read, too. `shown_as`: the path that the output
    shows instead of that of the workspace, if this is a copy. `on_output` gets the output while the check runs.
    """
    root = workspace.root
    access = msgspec.structs.replace(access, readable=programs_of_user(command, workspace.seen))
    finished = await sandbox.run(command, root, access, cwd=root, env=env, timeout=timeout, on_output=on_output)
    whole = plain(finished.full)
    if shown_as is not None and shown_as != workspace.seen:
        whole = whole.replace(str(workspace.seen), str(shown_as))
    counted = await asyncio.to_thread(count_tests, whole)
    failing = failing_of(counted)
    need = sandbox.refused(finished, workspace.root) if failing is None else None
    output = head_and_tail(whole, OUTPUT_CHARACTERS)
    if need is not None:
        output = f"{output.rstrip()}\n[the sandbox of the check refused: {need.what}]\n"
    return CheckResult(
        command=command,
        passed=finished.exit_code == 0,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        failing=failing,
        counted=counted,
        output=output,
        seconds=finished.seconds,
        error=None if finished.timed_out else finished.error or _not_started(finished, whole),
    )


def not_run(command: str, why: str) -> CheckResult:
    """Return the result of a check that could not be started. `why`: one line."""
    return CheckResult(
        command=command,
        passed=False,
        exit_code=None,
        timed_out=False,
        failing=None,
        output="",
        seconds=0.0,
        error=why,
    )


def head_and_tail(text: str, limit: int) -> str:
    """Return at most about `limit` characters: whole lines of both ends, with a note on what is
    left out between them.
    """
    if len(text) <= limit:
        return text
    head = _whole_lines(text[: limit // _HEAD_SHARE], from_start=True)
    tail = _whole_lines(text[-(limit - limit // _HEAD_SHARE) :], from_start=False)
    dropped = text[len(head) : len(text) - len(tail)]
    lines = dropped.count("\n")
    return f"{head.rstrip()}\n[... {lines:,} lines, {len(dropped):,} characters left out ...]\n{tail}"


def _whole_lines(piece: str, *, from_start: bool) -> str:
    """Drop the line that was cut, unless little else is left."""
    at = piece.rfind("\n") if from_start else piece.find("\n")
    whole = piece[: at + 1] if from_start else piece[at + 1 :]
    return whole if at >= 0 and len(whole) >= len(piece) // 2 else piece


def _not_started(finished: Finished, output: str) -> str | None:
    """Return why the command did not start: the shell ran but only reported that there is no such command."""
    lines = [line for line in output.splitlines() if line.strip()]
    if finished.exit_code not in (_NOT_FOUND, _NOT_EXECUTABLE) or not lines:
        return None
    if len(lines) > 3 or not all(_BASH_SAYS.match(line) for line in lines):
        return None
    return _BASH_SAYS.sub("", lines[-1])
