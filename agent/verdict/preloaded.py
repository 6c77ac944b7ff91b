"""Find the files that an interpreter loads before its script: `node --import ./hook.mjs`, `ruby -r./x`, `perl -MX`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple


class _Interpreter(NamedTuple):
    """The options with which an interpreter loads files first."""

    name: str
    """Name of its program."""
    option: str
    """The option, with the value in the same word or in the next one."""
    endings: tuple[str, ...]
    """What may follow the name of a module."""
    separator: str = ""
    """What separates the folders in the name of a module."""
    variable: str = ""
    """The variable with more options."""
    code: tuple[str, ...] = ("-e", "-E")
    """Options with code: then there is no script, and what is loaded may be what the code tests."""


_SCRIPTS = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js")
_INTERPRETERS = (
    _Interpreter(
        r"node|nodejs|bun|deno|tsx|ts-node",
        r"(?:-r|--require|--import|--(?:experimental-)?loader|--preload)(?:=|$)",
        _SCRIPTS,
        variable="NODE_OPTIONS",
        code=("-e", "-p", "--eval", "--print"),
    ),
    _Interpreter(r"ruby[\d.]*", r"-r", ("", ".rb"), variable="RUBYOPT"),
    _Interpreter(r"perl[\d.]*", r"-[Mm]-?", (".pm",), "::", "PERL5OPT"),
    _Interpreter(r"lua[\d.]*|luajit", r"-l", (".lua", "/init.lua"), "."),
    _Interpreter(r"php[\d.]*", r"-d(?:auto_(?:pre|ap)pend_file=)?", ("",), code=()),
    _Interpreter(r"julia", r"(?:-L|--load)(?:=|$)", ("",)),
)
_PREPENDED = re.compile(r"auto_(?:pre|ap)pend_file=")
_SHELL_FILES = ("BASH_ENV", "ENV")


def preloaded(words: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    """Yield the files that may be loaded first, as the line writes them: several for a module.

    `words`: of the command. `given`: assignments before it.
    """
    variables = dict(one.split("=", 1) for one in given if "=" in one)
    yield from (variables[name] for name in _SHELL_FILES if name in variables)
    name = words[0].rpartition("/")[2]
    for one in _INTERPRETERS:
        more = _split(variables.get(one.variable, ""))
        is_started = re.fullmatch(one.name, name) is not None
        if more or (is_started and not {*one.code} & {*words}):
            options = [*more, *(words[1:] if is_started else ())]
            yield from _loaded(one, options)


def _loaded(one: _Interpreter, options: Sequence[str]) -> Iterator[str]:
    folders = ["", *(value for value in _values(r"-I", options) if value)]
    for value in _values(one.option, options):
        if value.startswith("auto_") or one.name.startswith("php"):
            if _PREPENDED.match(value) or "/" in value or value.endswith(".php"):
                yield _PREPENDED.sub("", value)
            continue
        module = value.partition("=")[0]
        if one.endings is _SCRIPTS and not module.startswith((".", "/")):
            continue  # a package
        path = module.replace(one.separator, "/") if one.separator else module
        for folder in folders:
            yield from (str(PurePosixPath(folder, f"{path}{ending}")) for ending in one.endings)


def _values(option: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the values of an option, in the same word or in the next one."""
    for word, following in pairwise([*words, ""]):
        if match := re.match(option, word):
            yield word[match.end() :] or following


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
