"""Make the task of a run from the words of the command line and from standard input."""

from __future__ import annotations

import re
import select
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rundry.agent import UserError

from ..text.output_kind import Output
from .help_texts import BARE

if TYPE_CHECKING:
    from ..start.find_recipe import GoalSetup

PATIENCE = 3.0
"""Seconds to wait for the first byte of piped input when the command line has a task already."""


def task_of(words: Sequence[str], commands: Collection[str], *, adds_input: bool) -> str | None:
    """Return the task, or None. Raises UserError.

    `-` reads the task from standard input. `adds_input`: piped input is added to the task, or is the task without one.
    """
    if len(words) > 1:
        raise UserError(_unquoted(words, commands))
    task = words[0] if words else None
    if task == "-" or (task is None and adds_input and not _is_terminal()):
        return _read_input().strip()
    if task is None or not adds_input or _is_terminal():
        return task
    text = _piped_input().strip("\n")
    return f"{task}\n\n<stdin>\n{text}\n</stdin>" if text.strip() else task


def goal_of(words: Sequence[str], flags: Mapping[str, object], output: Output | None) -> GoalSetup | None:
    """Return the goal run of a spec file or recipe, or None if the words are a task. Raises UserError."""
    word = words[0] if len(words) == 1 else ""
    by_name = not click.get_current_context().meta.get(BARE)
    if not flags.get("set_") and not word.endswith(".toml") and not (by_name and re.fullmatch(r"[a-z0-9_-]+", word)):
        return None  # so that a usual task imports nothing more
    from ..start.find_recipe import GoalSetup, goal_of_word

    wanted = goal_of_word(words, flags, by_name=by_name)
    if wanted is None:
        return None
    return GoalSetup(wanted, flags, headless=output is not None, prints_answer=output is Output.ANSWER)


def _is_terminal() -> bool:
    return sys.stdin is None or sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - closed with <&-


def _piped_input() -> str:
    """Read all input; none if nothing arrives: a parent that keeps its pipe open must not hang the command."""
    ready, _, _ = select.select([sys.stdin], [], [], PATIENCE)
    if not ready:
        from ..text.show_text import show

        print(show(f"rundry: no input within {PATIENCE:.0f} s, so only TASK is used: add </dev/null"), file=sys.stderr)
        return ""
    return _read_input()


def _read_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UserError(f"the text on standard input is not UTF-8: byte {error.start + 1} is 0x{byte:02x}") from error


def _unquoted(words: Sequence[str], commands: Collection[str]) -> str:
    from .mistyped import near_command

    near = near_command(words[0], commands)
    meant = f"; or did you mean `rundry {near}`?" if near else ""
    return f"the task is {len(words)} words: put it in quotes, rundry {shlex.quote(' '.join(words))}{meant}"
