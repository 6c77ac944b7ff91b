"""The options that let a next run pass, apart from those that accept a change of what decides the check."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...journal.encoding import recorded_text
from ...protocol import LookFirst
from ...protocol.text.path_text import quoted_path
from ...shell.line_parser import parse_line
from .run_scope import scope_option
from .source_names import in_dependencies, installers

if TYPE_CHECKING:
    from .scope import Scope

_OPTION = "-m"


@dataclass(frozen=True, slots=True)
class NextOptions:
    """The options of one proposal, in the order in which they were added."""

    help: list[str] = field(default_factory=list[str])
    """They accept what a task can ask for: a new report, an installed package."""
    look_first: list[LookFirst] = field(default_factory=list[LookFirst])
    """They accept what could make any check pass: a changed test, a setting, a setup that may do anything."""

    def add_setup(self, command: str) -> None:
        """Add a command of the run as `--setup`. If it is not one that only installs or builds, look at it first."""
        option = f"--setup {shlex.quote(command)}"
        if _only_installs(command):
            self.help.append(option)
        else:
            self.look_first.append(LookFirst(option, f"what `{recorded_text(command)}` makes"))

    def add_scope(self, scope: Scope, path: str, *, new: bool, change: str, decides: bool = False) -> None:
        """Add a file as `--scope`. `new`: it did not exist at the start; `change`: `changed`, `new`.

        `decides`: its change decides the check, although a run may change such files.
        """
        option, kind = scope_option(path), scope.decides_as(path, new=new) or ("file" if decides else "")
        if kind:
            self.look_first.append(LookFirst(option, f"the {change} {kind} {quoted_path(recorded_text(path))}"))
        else:
            self.help.append(option)


def _only_installs(command: str) -> bool:
    """Return whether each command of a line is a package manager or a build tool, and nothing else is in the line."""
    line = parse_line(command)
    if line.doubts or line.parse_error or line.writes or not line.parts:
        return False
    return all(_program(part.texts) in installers() for part in line.parts)


def _program(words: list[str]) -> str:
    """Return the program that a plain command starts: `pip` of `python3 -m pip` and `.venv/bin/pip`.

    Empty means another one.
    """
    folder, _, name = words[0].rpartition("/") if words else ("", "", "")
    if folder and not in_dependencies(words[0]):
        return ""  # a file of the workspace
    is_module = name.startswith(("python", "pypy")) and words[1:2] == [_OPTION] and len(words) > 2
    return words[2] if is_module else name
