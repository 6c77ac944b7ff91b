"""Determine from bash's grammar whether a command line certainly ran a program that exited with 0."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from ...shell.words import UNKNOWN, SimpleCommand, simple_commands
from .diverting import (
    CHANGES_FOLDER,
    CLUSTERS_END,
    DIVERTS,
    INTERPRETERS,
    ONE_DASH,
    OTHER_FOLDER,
    TAKES_ASSIGNMENTS,
    BeforeScript,
)
from .launchers import LAUNCHERS, MODULE_FLAGS, MODULE_VALUED, NO_WORK_ALONE, NO_WORK_OPTIONS

_DEEPEST = 4
_SHELLS = ("sh", "bash", "dash")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_WRITABLE = ("/tmp", "/var/tmp", "/dev", "/proc", "/run")
"""Folders outside the workspace in which a sandboxed command can create programs."""
_QUIET = ("cd", "set")
"""Commands that do not change files."""


def has_run(wanted: SimpleCommand, line: str, root: Path, *, alone: bool = False) -> bool:
    """Return whether a command of the line has the program and arguments of `wanted`, and certainly exited with 0.

    The line as a whole must have exited with 0. `alone`: no other command of the line may have changed a file.
    """
    commands = simple_commands(line)
    matching = _matching(wanted, commands, root, _DEEPEST)
    if not alone:
        return bool(matching)
    return bool(matching) and all(one in matching or one.words[0] in _QUIET for one in commands)


def part_that_ran(wanted: SimpleCommand, line: str, root: Path) -> str | None:
    """Return the command of the line because of which `has_run` is true; None: its words are not known before it runs.

    `line`: one for which it is true.
    """
    found = _matching(wanted, simple_commands(line), root, _DEEPEST)
    known = [one for one in found if not any(UNKNOWN in word for word in (*one.given, *one.words))]
    if not known:
        return None
    given = [f"{name}={shlex.quote(value)}" for name, _, value in (one.partition("=") for one in known[-1].given)]
    return " ".join([*given, shlex.join(known[-1].words)])


def _matching(wanted: SimpleCommand, commands: Sequence[SimpleCommand], root: Path, depth: int) -> list[SimpleCommand]:
    """Return the commands that match `wanted`, in the folder of the workspace and with the variables of the run."""
    if any(_leaves_workspace(one.words, root) for one in commands):
        return []
    return [one for one in commands if one.is_sure and not one.is_with_variables and _matches(wanted, one, root, depth)]


def _leaves_workspace(words: Sequence[str], root: Path) -> bool:
    if words[0] not in CHANGES_FOLDER:
        return False
    return len(words) != 2 or os.path.normpath(root / words[1]) != os.path.normpath(root)


def _matches(command_wanted: SimpleCommand, command: SimpleCommand, root: Path, depth: int) -> bool:
    wanted, allowed = command_wanted.words, command_wanted.given
    if any(given not in allowed for given in command.given):
        return False
    if any(word.partition("=")[0] in OTHER_FOLDER and word not in wanted for word in command.words[1:]):
        return False
    seen = list(_unwrapped_forms(command.words, allowed))
    if any(_is_diverted(words, wanted) for words in seen):
        return False
    for words in seen:
        program = PurePosixPath(words[0]).name
        if program in _SHELLS and len(words) == 3 and words[1] in ("-c", "-ec") and UNKNOWN not in words[2]:
            inner = simple_commands(words[2]) if depth else []
            if _matching(command_wanted, inner, root, depth - 1):
                return True
        if not wanted or (_same_program(words[0], wanted[0], root) and _has_arguments(words[1:], wanted[1:])):
            return True
    return False


def _is_diverted(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the program got an option that is not in `wanted` and that diverts it."""
    program = PurePosixPath(words[0]).name
    before = next((known for pattern, known in INTERPRETERS if re.fullmatch(pattern, program)), None)
    if before is not None and wanted and PurePosixPath(wanted[0]).name == program:
        return not _reaches_script(words[1:], wanted[1:], before)
    options, replaces = DIVERTS.get(program, frozenset[str]()), program in TAKES_ASSIGNMENTS
    unwanted = [word for word in words[1:] if word not in wanted]
    return any(_options_in(word, program) & options or (replaces and _is_assignment(word)) for word in unwanted)


def _is_assignment(word: str) -> bool:
    return word.partition("=")[0].isidentifier() and "=" in word


def _options_in(word: str, program: str) -> set[str]:
    """Return the options that a word can contain, including joined ones (`-xk`, `-kname`, `--keyword=name`)."""
    name = word.partition("=")[0]
    if not word.startswith("-") or word.startswith("--") or program in ONE_DASH:
        return {name}
    ends = next((at for at, letter in enumerate(word[1:], 1) if letter in CLUSTERS_END), len(word))
    return {name, *(f"-{letter}" for letter in word[1 : ends + 1])}


def _reaches_script(given: Sequence[str], wanted: Sequence[str], before: BeforeScript) -> bool:
    """Return whether there are only known options between the interpreter and the wanted script or module."""
    script = next((_plain(word) for word in wanted if not word.startswith("-")), None)
    if script is None:
        return True
    others = [word for word in given if word not in wanted or _plain(word) == script]
    rest = _without_options(others, before.flags, before.valued)
    return bool(rest) and _plain(rest[0]) == script


def _unwrapped_forms(words: list[str], allowed: Sequence[str]) -> Iterator[list[str]]:
    """Yield the command as it is written, and the commands after its launchers. `allowed`: assignments of these."""
    for _ in range(_DEEPEST):
        yield words
        is_python = _PYTHON.fullmatch(PurePosixPath(words[0]).name)
        behind = _after_python(words) if is_python else _after_launcher(words, allowed)
        if not behind:
            return
        words = behind


def _after_launcher(words: list[str], allowed: Sequence[str]) -> list[str]:
    """Return the words after a launcher; empty if there is no launcher, or it has unknown options."""
    name = PurePosixPath(words[0]).name
    if name in _SHELLS and len(words) > 1 and not words[1].startswith("-"):
        return words[1:]  # a script
    length = next((n for n in (2, 1) if (name, *words[1:n]) in LAUNCHERS and len(words) > n), 0)
    if not length:
        return []
    launcher = LAUNCHERS[(name, *words[1:length])]
    rest = words[length:]
    if name == "coverage" and "-m" in rest:
        return _after_python(["python", *[word for word in rest if word not in launcher.flags]])
    rest = _without_options(rest, launcher.flags, launcher.valued)
    while launcher.assigns and rest and "=" in rest[0]:
        if rest[0] not in allowed:
            return []
        rest = rest[1:]
    if any(word.startswith("-") for word in rest[: launcher.skip]):
        return []
    rest = rest[launcher.skip :]
    return rest if rest and not rest[0].startswith("-") else []


def _after_python(words: list[str]) -> list[str]:
    """Return the words after Python: pytest for `python -m pytest`, check.py for `python check.py`."""
    rest = _without_options(words[1:], MODULE_FLAGS, MODULE_VALUED)
    if rest[:1] == ["-m"]:
        return rest[1:]
    return rest if rest and not rest[0].startswith("-") else []


def _without_options(words: list[str], flags: frozenset[str], valued: frozenset[str]) -> list[str]:
    """Return the words from the first one that is not one of these options."""
    at = 0
    while at < len(words):
        word = words[at]
        name, joined, _ = word.partition("=")
        if word == "--":
            return words[at + 1 :]
        if word in flags or (joined and name in valued) or (word[:2] in valued and len(word) > 2 and word[1] != "-"):
            at += 1
        elif word in valued:
            at += 2
        else:
            break
    return words[at:]


def _same_program(word: str, wanted: str, root: Path) -> bool:
    """Return whether the programs are the same. A path matches a bare name only if no command can write there."""
    if UNKNOWN in word:
        return False
    if word == wanted:
        return True
    if "/" in wanted or "." in wanted:
        return os.path.normpath(word) == os.path.normpath(wanted)
    path = os.path.normpath(word)
    is_elsewhere = path.startswith("/") and not any(
        path == place or path.startswith(f"{place}/") for place in (*_WRITABLE, os.path.normpath(root))
    )
    return is_elsewhere and PurePosixPath(path).name == wanted


def _has_arguments(given: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether `given` has all arguments of `wanted` in order, with only options and values before the first.

    So `npm run test` does not match `npm test`. An option that prevents the work must itself be in `wanted`.
    """
    if any(word in NO_WORK_OPTIONS and word not in wanted for word in given):
        return False
    if len(given) == 1 and given[0] in NO_WORK_ALONE and given[0] not in wanted:
        return False
    plain = [_plain(word) for word in given]
    first = next((_plain(word) for word in wanted if not word.startswith("-")), None)
    if first is not None:
        before = plain[: plain.index(first)] if first in plain else plain
        if any(not word.startswith("-") and not before[max(0, i - 1)].startswith("-") for i, word in enumerate(before)):
            return False
    rest = iter(plain)
    return all(any(word == _plain(one) for word in rest) for one in wanted)


def _plain(word: str) -> str:
    return os.path.normpath(word) if word and not word.startswith("-") and "://" not in word else word
