"""Find the tools that a project has configured for its files (`project_tools.toml`)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from ...host.plain_files import read_plain
from ...host.program_search import find_program

_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders of a project with programs of its own."""


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that shows that a project uses a tool."""

    file: str
    holding: str = ""


class Tool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the table; the head of `project_tools.toml` describes the fields."""

    name: str
    programs: list[str]
    endings: list[str]
    config: list[Configuration]
    arguments: list[str]
    variables: dict[str, str] = {}
    line: str = ""
    source: str


class ToolUse(NamedTuple):
    """A tool with the files that it looks at."""

    tool: Tool
    folder: str
    """The folder with its configuration, relative to the workspace; `.` for the workspace itself."""
    program: str
    """Absolute path, or the path of the project's own program, relative to the workspace."""
    files: Sequence[str]
    """Relative to the workspace."""
    python: str
    """The interpreter in the project's virtual environment, relative to the workspace. Empty if there is none."""

    @property
    def is_of_project(self) -> bool:
        """Whether the program lies in the workspace."""
        return not self.program.startswith("/")

    def argv(self, seen: Path, cached: Path) -> list[str]:
        """Return its command line. `seen`: the workspace as the command sees it. `cached`: a folder for its cache."""
        words = [str(seen / self.program) if self.is_of_project else self.program]
        paths = [f"./{os.path.relpath(path, self.folder)}" for path in self.files]
        for word in self.tool.arguments:
            if word == "{files}":
                words += paths
            elif word == "{packages}":
                words += dict.fromkeys(os.path.dirname(path) for path in paths)  # noqa: PTH120 - keeps the `./`
            elif "{python}" not in word:
                words.append(word.replace("{cache}", str(cached)))
            elif self.python:
                words.append(word.replace("{python}", str(seen / self.python)))
        return words

    def variables(self, cached: Path) -> dict[str, str]:
        """Return the variables that it gets besides those of commands."""
        return {name: value.replace("{cache}", str(cached)) for name, value in self.tool.variables.items()}


def tools_for(root: Path, paths: Sequence[str], search_path: str) -> list[ToolUse]:
    """Return the tools that the project uses for these files, each with the nearest folder that configures it.

    `search_path`: the PATH of commands, for programs that the project does not have itself.
    """
    found: dict[tuple[str, str], list[str]] = {}
    seen: dict[tuple[str, str], bool] = {}
    for path in paths:
        for tool in project_tools():
            if not path.endswith(tuple(tool.endings)):
                continue
            for folder in folders_above(path):
                if (key := (tool.name, folder)) not in seen:
                    seen[key] = any(_is_there(root / folder, config) for config in tool.config)
                if seen[key]:
                    found.setdefault(key, []).append(path)
                    break
    by_name = {tool.name: tool for tool in project_tools()}
    uses = list[ToolUse]()
    for (name, folder), files in found.items():
        if (program := _program(by_name[name].programs, root, folder, search_path)) is not None:
            python = _own_program("python", root, folder) or ""
            uses.append(ToolUse(by_name[name], folder, program, files, python))
    return uses


def folders_above(path: str) -> Iterator[str]:
    """Yield the folder of a file and those above it, up to the workspace (`.`)."""
    yield from map(str, PurePosixPath(path).parents)


def _is_there(folder: Path, config: Configuration) -> bool:
    try:
        if not config.holding:
            return (folder / config.file).is_file()
        text = read_plain(folder / config.file).decode("utf-8", "replace")
    except OSError:
        return False
    return re.search(rf"(?m)^\s*(?:{config.holding})", text) is not None


def _program(names: Sequence[str], root: Path, folder: str, search_path: str) -> str | None:
    """Return the path of the first program: one of the project, or one of the user. None if there is none."""
    own = (_own_program(name, root, folder) for name in names)
    others = (find_program(name, [root], search_path) for name in names)
    return next((program for program in own if program), None) or next((str(one) for one in others if one), None)


def _own_program(name: str, root: Path, folder: str) -> str | None:
    """Return the path of the project's program, relative to the workspace."""
    for above in (folder, *folders_above(folder)):
        for place in _PROGRAMS:
            program = root / above / place / name
            if program.is_file() and os.access(program, os.X_OK):
                return str(PurePosixPath(above, place, name))
    return None


@cache
def project_tools() -> Sequence[Tool]:
    """Return the rows of the table."""
    rows = msgspec.toml.decode(Path(__file__).with_name("project_tools.toml").read_bytes(), type=dict[str, list[Tool]])
    return rows["tool"]
