"""Reject commands that the shell cannot parse, or whose program does not exist."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...host.processes.processes import bash
from ...protocol import RunSpec, UserError
from ...sandbox.command_environment import command_env
from ...shell.parse_words import DECIDES_PROGRAMS, UNKNOWN, simple_commands

_SECONDS = 5.0
"""Time limit of each call of the shell, in seconds; after it, the command counts as usable."""
_PLAIN = re.compile(r"[\w./+-]+")
_RUNS_ANOTHER = ("time", "timeout", "nice", "nohup", "command")
"""Programs that run the command in their arguments."""
_UNCLEAR = (
    ".",
    "source",
    "eval",
    "exec",
    "exit",
    "return",
    "alias",
    "export",
    "set",
    "hash",
    "enable",
    "trap",
    "builtin",
)
"""Builtins after which the meaning of a name is unknown."""
_DURATION = re.compile(r"[\d.]+[smhd]?")


def require_usable_commands(spec: RunSpec, env: Mapping[str, str]) -> None:
    """Raise UserError for a check or a score that could never pass: a syntax error, or a program that is missing.

    `env`: the variables of the user. No command is executed.
    """
    for option, command in _given(spec):
        require_usable_command(option, command, Path(spec.home), env)


def require_usable_command(
    option: str, command: str, folder: Path, env: Mapping[str, str], exists: Callable[[Path], bool] = lambda path: False
) -> None:
    """Raise UserError for one command of an option that would run in this folder.

    `exists`: whether a program that is not here will be there when the command runs.
    """
    line = command.replace("{file}", "file")  # it is replaced by one quoted word
    if problem := _syntax_error(line, folder):
        raise UserError(f"{option} {command!r}: the shell cannot read this command: {problem}")
    if missing := _missing_program(line, folder, command_env(env)["PATH"], exists):
        raise UserError(f"{option} {command!r} cannot be started: {missing}")


@dataclass(frozen=True, slots=True)
class UsableChecks:
    """Tells whether a command can be the check of a plan, without running it."""

    folder: Path
    env: Mapping[str, str]
    """Variables of its commands."""

    def problem_of(self, command: str) -> str | None:
        """Return why the command could never pass, or None."""
        try:
            require_usable_command("check", command, self.folder, self.env)
        except UserError as error:
            return str(error)
        return None


def _given(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """Yield each command of the spec with its option."""
    yield from (("--until", command) for command in spec.predicates.until)
    if spec.predicates.confirm_with is not None:
        yield "--confirm-with", spec.predicates.confirm_with
    if spec.predicates.setup is not None:
        yield "--setup", spec.predicates.setup
    if spec.predicates.holdout is not None:
        yield "--holdout", spec.predicates.holdout
    if spec.improve is not None:
        yield "--score", spec.improve.score
    if spec.finder is not None and spec.finder.check is not None:
        yield "--check", spec.finder.check


def _syntax_error(line: str, folder: Path) -> str | None:
    """Return the first syntax error that bash reports, or None."""
    done = _asked(["-O", "extglob", "-n", "-c", line, "bash"], folder, {})
    if done is None or not done.returncode:
        return None  # if bash is missing, the first check reports it
    said = done.stderr.decode(errors="replace").splitlines()
    return said[0].rpartition("-c: ")[2] if said else None


def _missing_program(line: str, folder: Path, path: str, exists: Callable[[Path], bool]) -> str | None:
    """Return why the first program of the line cannot run, if the line cannot exit with 0 without it.

    Later programs are not looked up: an earlier one may install them.
    """
    words = line.split(maxsplit=1)
    first = words[0] if words else ""
    if _PLAIN.fullmatch(first) and first not in _RUNS_ANOTHER and _kind(first, folder, path) == "file":
        return None
    for simple in simple_commands(line):
        if any(DECIDES_PROGRAMS.fullmatch(each.partition("=")[0]) for each in simple.given):
            return None
        name = _launched(simple.words)
        kind = None if name is None else _kind(name, folder, path)
        if name is not None and kind == "":
            if exists(folder / name):
                return None
            return _why_missing(name, folder) if simple.is_sure else None
        if kind != "builtin" or name in _UNCLEAR:
            return None
        if name == "cd":
            folder = folder / "".join(simple.words[1:2])
    return None


def _launched(words: list[str]) -> str | None:
    """Return the name of the program that runs, or None if it cannot be known without running the line."""
    left = list(words)
    while left and left[0] in _RUNS_ANOTHER:
        launcher = left.pop(0)
        if launcher == "timeout" and left and _DURATION.fullmatch(left[0]):
            left.pop(0)
        if left and left[0].startswith("-"):
            return None
    name = left[0] if left else UNKNOWN
    return None if UNKNOWN in name or not name.isprintable() or re.search(r"[*?\[~]", name) else name


def _kind(name: str, folder: Path, path: str) -> str | None:
    """Return what the name is for the shell: `file`, `builtin`, `keyword`, or an empty string if it is unknown.

    Returns None if the shell gave no answer.
    """
    done = _asked(["-c", 'type -t -- "$1"', "bash", name], folder, {"PATH": path}) if folder.is_dir() else None
    return None if done is None else done.stdout.decode(errors="replace").strip()


def _why_missing(name: str, folder: Path) -> str:
    file = folder / name
    if "/" not in name:
        is_here = os.path.lexists(file) and not file.is_dir()
        return f"{name}: command not found. {f'Write ./{name}' if is_here else 'Install it, or correct its name'}"
    if file.is_dir():
        return f"{name}: Is a directory. Name a program"
    if os.path.lexists(file):
        return f"{name}: Permission denied. Make it executable: chmod +x {name}"
    return f"{name}: No such file or directory. Correct the path, which starts at the workspace"


def _asked(words: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes] | None:
    """Run bash with these arguments. Returns None if it could not run, or timed out."""
    argv = [bash(folder), "--noprofile", "--norc", *words]
    where = folder if folder.is_dir() else None
    try:
        return subprocess.run(
            argv, env=dict(env), cwd=where, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
