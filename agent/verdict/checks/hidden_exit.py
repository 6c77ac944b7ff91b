"""Find checks whose exit code does not show the failure of one of their commands (docs/requirements.md 2.3.1)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from ...protocol.text.shorten_text import end_cut
from ...shell.parse_words import UNKNOWN, HiddenBy, SimpleCommand, simple_commands
from .build_files import makefiles
from .executed_files import nested_lines, without_wrappers

_SETUP = frozenset(
    {"cd", "pushd", "popd", "export", "unset", "set", "source", ".", "echo", "printf", "mkdir", "rm", "true", ":"}
    | {"sleep", "ulimit", "umask", "trap", "alias", "exit", "wait", "cat", "touch", "date", "sync", "eval", "shopt"}
    | {"local", "declare", "readonly", "return", "break", "continue", "shift", "false"}
)
"""Commands that prepare or print; a check is not about their exit code."""
_ASKING = frozenset(
    {"test", "[", "grep", "egrep", "fgrep", "rg", "ag", "ack", "git", "diff", "cmp", "find", "which", "command", "type"}
    | {"pgrep", "ls", "stat", "nc", "curl", "wget", "read", "kill"}
)
"""Commands whose failure is an answer, so that `!` or `if` uses it."""
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_IGNORING = {
    "make": "-[a-zA-Z]*i[a-zA-Z]*|--ignore-e[a-z-]*",
    "gmake": "-[a-zA-Z]*i[a-zA-Z]*|--ignore-e[a-z-]*",
    "mvn": r"-fn|--fail-never|-Dmaven\.test\.failure\.ignore(?:=true)?",
    "golangci-lint": "--issues-exit-code=0",
    "": "--exit-zero",  # linters: ruff, flake8, pylint, bandit
}
"""Options with which a program exits with 0 after a failure; those of the empty name belong to any program."""
_SKIPPING = {
    "make": "-[a-zA-Z]*[nt][a-zA-Z]*|--(?:dry-run|just-print|recon|touch)",
    "gmake": "-[a-zA-Z]*[nt][a-zA-Z]*|--(?:dry-run|just-print|recon|touch)",
    "mvn": r"-DskipTests(?:=true)?|-Dmaven\.test\.skip(?:=true)?",
    "pytest": "--co|--collect-only|--setup-plan",
    "cargo": "--no-run",
    "jest": "--listTests|--showConfig",
    "mocha": "--dry-run",
    "tox": "--notest",
    "ctest": "-N|--show-only.*",
}
"""Options with which a program does not run the tests at all."""
_MAKE_VALUED = re.compile(r"-[a-zA-Z]*[CfIjloW]")
"""Options of make that the next or the same word gives a value."""
_IGNORES_ALL = re.compile(r"^\.IGNORE[ \t]*:", re.MULTILINE)
_WHY: dict[HiddenBy, str] = {
    "pipe": "its exit code is that of the last command in the pipe, not of {0}: begin it with `set -o pipefail;`",
    "or": "`||` hides the exit code of {0}: remove it",
    "sequence": "its exit code is that of its last command, not of {0}: join them with `&&`",
    "background": "`&` hides the exit code of {0}: remove it",
    "not": "`!` makes it pass when {0} fails: remove it",
    "condition": "`if` hides the exit code of {0}: end the other branch with `exit 1`",
    "loop": "its exit code is that of the last round, not of each {0}: add `|| exit 1` to it",
}
_DEEPEST = 3
_LONGEST = 60


def hidden_exit_notes(checks: Iterable[str], root: Path | None = None) -> list[str]:
    """Return one line for each check that can exit with 0 although one of its commands failed.

    Follows scripts, Makefiles and package scripts in the workspace `root`. Parses the lines in another process, so it
    blocks. Never raises.
    """
    notes: list[str] = []
    for check in dict.fromkeys(checks):
        if (why := _why(check, PurePosixPath("."), root, 0)) is not None:
            notes.append(f"check `{check}`: {why}")
    return notes


def _why(line: str, folder: PurePosixPath, root: Path | None, depth: int) -> str | None:
    """Return why the exit code of the line does not count for all its commands, or None."""
    for command in simple_commands(line):
        words = without_wrappers(command.words)
        if not words:
            continue
        name = words[0].rpartition("/")[2]
        if name == "cd" and len(words) > 1 and UNKNOWN not in words[1]:
            folder = folder / words[1]
        if name not in _SETUP and not (name in _ASKING and command.hidden_by in ("not", "condition")):
            if command.hidden_by is not None:
                return _WHY[command.hidden_by].format(_shown(command))
            if why := _by_option(name, words, command):
                return why
        if depth >= _DEEPEST:
            continue
        for inner, where in _inner(name, words, folder, root):
            if (why := _why(inner, where, root, depth + 1)) is not None:
                return why if name in _SHELLS or name == "eval" else f"what `{name}` runs: {why}"
    return None


def _by_option(name: str, words: Sequence[str], command: SimpleCommand) -> str | None:
    """Return why an option of the command hides its failures, or None."""
    tool = words[2] if re.fullmatch(r"python[\d.]*|py", name) and words[1:2] == ["-m"] and len(words) > 2 else name
    flags = [word for one in command.given if one.startswith("MAKEFLAGS=") for word in one[10:].split()]
    for word in [*words[1:], *(word if word.startswith("-") else f"-{word}" for word in flags)]:
        if word == "--":
            break
        if tool in ("make", "gmake") and _MAKE_VALUED.match(word):
            continue
        if re.fullmatch(_IGNORING[""], word) or (tool in _IGNORING and re.fullmatch(_IGNORING[tool], word)):
            return f"`{word}` makes {_shown(command)} exit with 0 after a failure: remove it"
        if tool in _SKIPPING and re.fullmatch(_SKIPPING[tool], word):
            return f"`{word}` makes {_shown(command)} run no test: remove it"
    return None


def _inner(
    name: str, words: Sequence[str], folder: PurePosixPath, root: Path | None
) -> Iterator[tuple[str, PurePosixPath]]:
    """Yield the scripts that the command runs, with the folder in which they run."""
    options = "\n".join(_shell_options(words[1:])) if name in _SHELLS else ""
    for nested in nested_lines(words, folder, root or Path("/nonexistent")):
        text = nested.texts[0]
        if UNKNOWN not in text:
            yield f"{options}\n{text}" if options else _with_shebang(text), nested.folder
    for text, where in makefiles(words, folder, root) if root is not None else ():
        if _IGNORES_ALL.search(text):
            yield "make -i", where


def _shell_options(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the `set` commands that stand for the options of `bash -e -o pipefail -c ...`."""
    for word, after in pairwise([*arguments, ""]):
        if not word.startswith("-"):
            continue
        if re.fullmatch(r"-[a-z]*e[a-z]*", word) or after == "errexit":
            yield "set -e"
        if after == "pipefail":
            yield "set -o pipefail"


def _with_shebang(text: str) -> str:
    first, _, rest = text.partition("\n")
    found = re.match(r"#!\s*\S*sh\s+-(\w+)", first)
    return f"set -{found[1]}\n{rest}" if found else text


def _shown(command: SimpleCommand) -> str:
    text = " ".join("..." if UNKNOWN in word else shlex.quote(word) for word in command.words)
    return f"`{end_cut(text, _LONGEST)}`"
