"""Words about hooks, the same in each view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shorten_text import first_line, line_cut

if TYPE_CHECKING:
    from ..events.check import HookRan

_LINE = 300
_COMMAND = 60
"""Characters of a hook's command in a line. The whole one is in `hook_ran`."""


def hook_lines(ran: HookRan) -> list[str]:
    """Return what the person should read about a hook that ran; nothing for most of them."""
    name, lines = hook_name(ran), list[str]()
    if ran.result == "failed":
        lines.append(f"{name} failed: {hook_failure(ran)}")
    if ran.result == "refused":
        lines.append(f"{name} refused {hook_subject(ran)}: {ran.reason}")
    return [*lines, f"{name}: {ran.notice}"] if ran.notice else lines


def hook_name(ran: HookRan) -> str:
    """Return the hook with its command, shortened."""
    return f"hook `{line_cut(ran.command, _COMMAND)}`"


def hook_subject(ran: HookRan) -> str:
    """Return the tool or the event that the hook is about, with its file."""
    return f"{ran.tool or ran.on}{f' {ran.path}' if ran.path else ''}"


def hook_failure(ran: HookRan) -> str:
    """Return why a hook failed in one line: its exit code and the last line of its standard error."""
    if ran.exit_code and ran.error_line:
        return f"exit code {ran.exit_code}: {ran.error_line}"
    why = first_line(ran.reason, _LINE)
    return f"{why}: {ran.error_line}" if ran.exit_code is None and ran.error_line else why
