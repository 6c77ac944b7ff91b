"""Find checks whose exit code does not show the failure of one of their commands (docs/requirements.md 2.3.1)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from ..shell.words import UNKNOWN, HiddenBy, SimpleCommand, simple_commands

_SETUP = frozenset(
    {"cd", "pushd", "popd", "export", "unset", "set", "source", ".", "echo", "printf", "mkdir", "rm", "true", ":"}
    | {"sleep", "ulimit", "umask", "trap", "alias", "exit", "wait", "cat", "touch", "date", "sync"}
)
"""Commands that prepare or print; a check is not about their exit code."""
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_IGNORES = {"make": re.compile(r"-[a-zA-Z]*i[a-zA-Z]*|--ignore-errors"), "gmake": re.compile(r"-i|--ignore-errors")}
_EXIT_ZERO = "--exit-zero"
"""Option of linters (ruff, flake8, pylint) that makes them exit with 0."""
_WHY: dict[HiddenBy, str] = {
    "pipe": "its exit code is that of the last command in the pipe, not of {0}: begin it with `set -o pipefail;`",
    "or": "`||` hides the exit code of {0}: remove it",
    "sequence": "its exit code is that of its last command, not of {0}: join them with `&&`",
    "background": "`&` hides the exit code of {0}: remove it",
}
_DEEPEST = 3
_LONGEST = 60


def hidden_exit_notes(checks: Iterable[str]) -> list[str]:
    """Return one line for each check that can exit with 0 although one of its commands failed.

    Parses the lines in another process, so it blocks. Never raises.
    """
    return [f"check `{check}`: {why}" for check in dict.fromkeys(checks) if (why := _why(check, 0)) is not None]


def _why(line: str, depth: int) -> str | None:
    """Return why the exit code of the line does not count for all its commands, or None."""
    commands = simple_commands(line)
    for command in commands:
        name = command.words[0].rpartition("/")[2]
        if name in _SETUP:
            continue
        if command.hidden_by is not None:
            return _WHY[command.hidden_by].format(_shown(command))
        if option := _ignoring(name, command):
            return f"`{option}` makes {_shown(command)} exit with 0 after a failure: remove it"
        script = _script(command) if name in _SHELLS and depth < _DEEPEST else ""
        if script and (why := _why(script, depth + 1)) is not None:
            return why
    return None


def _ignoring(name: str, command: SimpleCommand) -> str | None:
    pattern = _IGNORES.get(name)
    for word in command.words[1:]:
        if word == _EXIT_ZERO or (pattern is not None and pattern.fullmatch(word)):
            return word
    return None


def _script(command: SimpleCommand) -> str:
    """Return the script of `bash -c SCRIPT`; empty if it is not known."""
    for option, script in zip(command.words, command.words[1:], strict=False):
        if re.fullmatch(r"-[a-z]*c", option):
            return "" if UNKNOWN in script else script
    return ""


def _shown(command: SimpleCommand) -> str:
    text = " ".join("..." if UNKNOWN in word else shlex.quote(word) for word in command.words)
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"
