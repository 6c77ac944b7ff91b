"""Determine from bash's grammar whether a command line certainly ran a program that exited with 0."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import msgspec

from ...shell.parse_words import UNKNOWN, SimpleCommand, simple_commands

_DEEPEST = 4
_SHELLS = ("sh", "bash", "dash")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_WRITABLE = ("/tmp", "/var/tmp", "/dev", "/proc", "/run")
"""Folders outside the workspace in which a sandboxed command can create programs."""
_QUIET = ("cd", "set")
"""Commands that do not change files."""


class _Interpreter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options that are allowed between an interpreter and its script. Any other may prevent the script from running."""

    name: str
    """Pattern."""
    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    """Options with a value, in the next word or joined to the option."""


class _Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program, or a Python module, whose options can select less, use another configuration, or run nothing."""

    names: list[str] = []
    diverted_by: frozenset[str] = frozenset()
    takes_assignments: bool = False
    """Whether an argument `NAME=value` overrides a variable of the build file."""
    one_dash: bool = False
    """Whether long options begin with one dash, so short options cannot be joined."""


class _Launcher(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options that may be between a launcher and its program. After any other option, the program is unknown."""

    words: list[str]
    """The first words of the command."""
    flags: frozenset[str] = frozenset()
    """Options without a value."""
    valued: frozenset[str] = frozenset()
    """Options with a value, in the next word or after `=`."""
    skip: int = 0
    """Number of words between the options and the program, such as the duration of `timeout`."""
    assigns: bool = False
    """Whether `NAME=value` may precede the program."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `required_commands.toml`."""

    interpreter: list[_Interpreter]
    program: list[_Program]
    launcher: list[_Launcher]
    no_work: frozenset[str]
    """Options with which a program only prints something, or exits with 0 whatever it finds."""
    no_work_alone: frozenset[str]
    """Arguments with the same effect if there is no other argument."""

    def interpreter_of(self, name: str) -> _Interpreter | None:
        """Return the row of the interpreter with this name."""
        return next((row for row in self.interpreter if re.fullmatch(row.name, name)), None)

    def program_of(self, name: str) -> _Program:
        """Return the row of the program with this name; an empty one if it is not listed."""
        return next((row for row in self.program if name in row.names), _Program())

    def launcher_of(self, words: Sequence[str]) -> tuple[_Launcher, int] | None:
        """Return the launcher that a command begins with, and the number of its words."""
        name = PurePosixPath(words[0]).name
        for length in (2, 1):
            first = [name, *words[1:length]]
            found = next((row for row in self.launcher if first in map(str.split, row.words)), None)
            if found is not None and len(words) > length:
                return found, length
        return None


_CLUSTERS_END = "rnWj"
"""Letters of short options that may be joined to a value: letters after them are not options (`-rfE`, `-n4`)."""
_OTHER_FOLDER = ("-C", "--chdir", "--directory", "--project", "--cwd", "--dir")
"""Options of launchers that change the folder in which a program runs."""
_CHANGES_FOLDER = ("cd", "pushd", "popd")


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
    """Return the command of the line because of which `has_run` is true.

    Returns None if its words are not known before it runs. `line`: one for which it is true.
    """
    found = _matching(wanted, simple_commands(line), root, _DEEPEST)
    known = [one for one in found if not any(UNKNOWN in word for word in (*one.given, *one.words))]
    if not known:
        return None
    given = [f"{name}={shlex.quote(value)}" for name, _, value in (one.partition("=") for one in known[-1].given)]
    return " ".join([*given, shlex.join(known[-1].words)])


@cache
def _table() -> _Table:
    return msgspec.toml.decode(Path(__file__).with_name("required_commands.toml").read_bytes(), type=_Table)


def _matching(wanted: SimpleCommand, commands: Sequence[SimpleCommand], root: Path, depth: int) -> list[SimpleCommand]:
    """Return the commands that match `wanted`, in the folder of the workspace and with the variables of the run."""
    if any(_leaves_workspace(one.words, root) for one in commands):
        return []
    return [one for one in commands if one.is_sure and not one.is_with_variables and _matches(wanted, one, root, depth)]


def _leaves_workspace(words: Sequence[str], root: Path) -> bool:
    if words[0] not in _CHANGES_FOLDER:
        return False
    return len(words) != 2 or os.path.normpath(root / words[1]) != os.path.normpath(root)


def _matches(command_wanted: SimpleCommand, command: SimpleCommand, root: Path, depth: int) -> bool:
    wanted, allowed = command_wanted.words, command_wanted.given
    if any(given not in allowed for given in command.given):
        return False
    if any(word.partition("=")[0] in _OTHER_FOLDER and word not in wanted for word in command.words[1:]):
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
    before = _table().interpreter_of(program)
    if before is not None and wanted and PurePosixPath(wanted[0]).name == program:
        return not _reaches_script(words[1:], wanted[1:], before)
    row, unwanted = _table().program_of(program), [word for word in words[1:] if word not in wanted]
    return any(
        _options_in(word, row) & row.diverted_by or (row.takes_assignments and _is_assignment(word))
        for word in unwanted
    )


def _is_assignment(word: str) -> bool:
    return word.partition("=")[0].isidentifier() and "=" in word


def _options_in(word: str, program: _Program) -> set[str]:
    """Return the options that a word can contain, including joined ones (`-xk`, `-kname`, `--keyword=name`)."""
    name = word.partition("=")[0]
    if not word.startswith("-") or word.startswith("--") or program.one_dash:
        return {name}
    ends = next((at for at, letter in enumerate(word[1:], 1) if letter in _CLUSTERS_END), len(word))
    return {name, *(f"-{letter}" for letter in word[1 : ends + 1])}


def _reaches_script(given: Sequence[str], wanted: Sequence[str], before: _Interpreter) -> bool:
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
    found = _table().launcher_of(words)
    if found is None:
        return []
    launcher, length = found
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
    python = _table().interpreter_of("python")
    assert python is not None  # the table has it
    rest = _without_options(words[1:], python.flags, python.valued)
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
    if any(word in _table().no_work and word not in wanted for word in given):
        return False
    if len(given) == 1 and given[0] in _table().no_work_alone and given[0] not in wanted:
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
