"""Whether a command line surely ran a program that exited with 0, by bash's grammar and not by its text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from ..shell_words import DECIDES_PROGRAMS, UNKNOWN, Simple, simple_commands
from .launchers import IDLE, IDLE_ALONE, LAUNCHERS, MODULE_FLAGS, MODULE_VALUED

_DEEPEST = 4
_SHELLS = ("sh", "bash", "dash")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_WRITABLE = ("/tmp", "/var/tmp", "/dev", "/proc", "/run")
"""Where a command in the sandbox can put a program of its own."""
_DECIDES_WORK = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
_QUIET = ("cd", "set")
"""Commands that change no file."""


def has_run(wanted: Sequence[str], line: str, root: Path, *, alone: bool = False) -> bool:
    """The program and all arguments of `wanted`, in their order, stand in a command that surely exited with 0.

    The line itself has exited with 0. `alone`: no other command of the line may have changed a file.
    """
    commands = simple_commands(line)
    matching = [one for one in commands if one.is_sure and _is_it(wanted, one, root, _DEEPEST)]
    if not alone:
        return bool(matching)
    return bool(matching) and all(one in matching or one.words[0] in _QUIET for one in commands)


def _is_it(wanted: Sequence[str], command: Simple, root: Path, depth: int) -> bool:
    if any(_decides(given) for given in command.given):
        return False
    for words in _seen_through(command.words):
        program = PurePosixPath(words[0]).name
        if program in _SHELLS and len(words) == 3 and words[1] in ("-c", "-ec") and UNKNOWN not in words[2]:
            inner = simple_commands(words[2]) if depth else []
            if any(one.is_sure and _is_it(wanted, one, root, depth - 1) for one in inner):
                return True
        if not wanted or (_same_program(words[0], wanted[0], root) and _has_arguments(words[1:], wanted[1:])):
            return True
    return False


def _decides(given: str) -> bool:
    name = given.partition("=")[0]
    return bool(DECIDES_PROGRAMS.fullmatch(name)) or not name.isidentifier() or name in _DECIDES_WORK


def _seen_through(words: list[str]) -> Iterator[list[str]]:
    """The command as it is written, and the commands behind its launchers."""
    for _ in range(_DEEPEST):
        yield words
        behind = _behind_python(words) if _PYTHON.fullmatch(PurePosixPath(words[0]).name) else _behind(words)
        if not behind:
            return
        words = behind


def _behind(words: list[str]) -> list[str]:
    """The words behind a launcher; empty: it is none, or it is not understood."""
    name = PurePosixPath(words[0]).name
    if name in _SHELLS and len(words) > 1 and not words[1].startswith("-"):
        return words[1:]  # a script
    length = next((n for n in (2, 1) if (name, *words[1:n]) in LAUNCHERS and len(words) > n), 0)
    if not length:
        return []
    launcher = LAUNCHERS[(name, *words[1:length])]
    rest = words[length:]
    if name == "coverage" and "-m" in rest:
        return _behind_python(["python", *[word for word in rest if word not in launcher.flags]])
    rest = _without_options(rest, launcher.flags, launcher.valued)
    while launcher.assigns and rest and "=" in rest[0]:
        if _decides(rest[0]):
            return []
        rest = rest[1:]
    if any(word.startswith("-") for word in rest[: launcher.skip]):
        return []
    rest = rest[launcher.skip :]
    return rest if rest and not rest[0].startswith("-") else []


def _behind_python(words: list[str]) -> list[str]:
    """`python -m pytest` is pytest; `python check.py` is check.py."""
    rest = _without_options(words[1:], MODULE_FLAGS, MODULE_VALUED)
    if rest[:1] == ["-m"]:
        return rest[1:]
    return rest if rest and not rest[0].startswith("-") else []


def _without_options(words: list[str], flags: frozenset[str], valued: frozenset[str]) -> list[str]:
    """From the first word on that is not one of these options. What is not known stays in front."""
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
    """A path counts as the bare name only where no command in the sandbox could have put a program."""
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
    """All in their order; before the first one, only options and their values: `npm run test` is not `npm test`.

    An option with which the program does not do its work has to be wanted itself.
    """
    if any(word in IDLE and word not in wanted for word in given):
        return False
    if len(given) == 1 and given[0] in IDLE_ALONE and given[0] not in wanted:
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
