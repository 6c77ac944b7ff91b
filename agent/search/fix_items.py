"""Tools and prompts of the model that fixes one file of a migration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..protocol.tools.traits import reading_tools
from ..step.checks.feedback import feedback
from ..step.prompt.system_prompt import instructions
from .lenses import prompts

if TYPE_CHECKING:
    from ..protocol import CheckFinished, RunSpec

TOOLS = (*reading_tools(()), "edit_file", "write_file", "run_command")
_SILENT = "You stopped without calling a tool, so nothing was done. Only the check decides: continue with a tool."
_CONFLICT = (
    "The check passed, but your changes could not be merged with those that others made meanwhile, so they "
    "were dropped:\n{conflicts}\nThe files are now those of the run. Read them, and make your change again."
)


def fixer_tools(hosts: Sequence[str]) -> list[str]:
    """Return the tools of the model that fixes a file. `hosts`: what it may contact."""
    return [*TOOLS, *(name for name in reading_tools(hosts) if name not in TOOLS)]


def fixer_system(spec: RunSpec, check: str) -> str:
    """Return the system prompt for the workspace of this spec."""
    parts = [prompts.fixer_system(spec.task, spec.workspace, check), instructions(spec)]
    return "\n\n".join(part for part in parts if part)


def fixer_prompt(
    path: str,
    person_answer: str | None,
    checked: CheckFinished,
    last_output: str | None,
    *,
    is_silent: bool,
    was_tried: bool,
) -> str:
    """Return the prompt before a step: first the file, then the result of the check.

    `person_answer`: a person's answer to the last result. `last_output`: the check's output that was sent to the model
    last, or None if nothing was sent yet. `is_silent`: the model's last answer called no tool. `was_tried`: there was
    an earlier attempt.
    """
    parts: list[str] = []
    if last_output is None:
        again = " An earlier attempt may have changed it." if was_tried else ""
        parts.append(f"The file: {path}.{again}")
        if person_answer:
            parts.append(f"A person did not accept the last result of the check: {person_answer}")
    elif is_silent:
        parts.append(_SILENT)
    return "\n\n".join([*parts, feedback(checked, last_output)])


def joined_words(conflicts: Sequence[str], prompt: str) -> str:
    """Put the conflicts of the last merge before the prompt."""
    if not conflicts:
        return prompt
    return f"{_CONFLICT.format(conflicts=chr(10).join(conflicts))}\n\n{prompt}"
