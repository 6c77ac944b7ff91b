"""Find out which changed files can no longer be parsed: Python, JSON and TOML. Nothing of them is executed.

Python's compiler, which can crash on deep nesting, runs in a process of its own (`parse_process.py`). It waits for the
files of later steps: to start it takes longer than to parse most files.
"""

from __future__ import annotations

import asyncio
import fnmatch
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from ...host.plain_files import read_plain
from ...host.terminal_text import plain
from ...protocol import Problem
from ...protocol.text.shorten_text import end_cut
from ...shell.helper_process import HelperProcess, ParseFailed
from . import parse_process
from .project_tools import folders_above
from .read_problems import LONGEST_MESSAGE, FileVersions

_ENDINGS = (".py", ".pyi", ".json", ".toml")
_WITH_COMMENTS = ("tsconfig*.json", "jsconfig*.json", ".eslintrc.json", "devcontainer.json", "deno.json", "*rc.json")
"""Names of JSON files in which their program allows comments."""
_VERSION = re.compile(r"(\d+)\.(\d+)")
_PYTHON_OF = {
    "pyproject.toml": re.compile(r"(?m)^\s*requires-python\s*=\s*[\"'][^\"']*?(?:>=|~=|==)\s*(\d+\.\d+)"),
    ".python-version": re.compile(r"^\s*(\d+\.\d+)"),
    ".venv/pyvenv.cfg": re.compile(r"(?m)^version(?:_info)?\s*=\s*(\d+\.\d+)"),
}
"""Files that name the Python of a project."""
_MOST_KEPT = 200_000
"""Characters of files after which the process is ended, because it keeps the memory that they took."""


class Parsed(msgspec.Struct):
    """A file that the process could not parse."""

    path: str
    line: int
    message: str


async def parse_problems(root: Path, changed: Mapping[str, FileVersions], seconds: float) -> list[Problem]:
    """Return one problem for each changed file that cannot be parsed and could be before the run, or is new."""
    sent = [
        [path, None if one.before is None else one.before.decode("latin-1"), one.now.decode("latin-1")]
        for path, one in changed.items()
        if path.endswith(_ENDINGS) and not _may_differ(root, path)
    ]
    if not sent:
        return []
    try:
        async with asyncio.timeout(seconds):
            answer = await asyncio.to_thread(_parsed, msgspec.json.encode(sent).decode(), seconds)
        found = msgspec.json.decode(answer, type=list[Parsed])
    except (ParseFailed, TimeoutError, msgspec.DecodeError):  # it crashed on the file, or was too slow
        return []
    return [
        Problem(path=one.path, line=one.line, message=_shown(one.message), tool=_language(one.path)) for one in found
    ]


def _parsed(sent: str, seconds: float) -> bytes:
    """Return the answer of the process. Raises ParseFailed; the thread does not outlive the time that is left."""
    try:
        return _PARSER.ask(sent, seconds)
    finally:
        if len(sent) > _MOST_KEPT:
            _PARSER.reset()


def _shown(message: str) -> str:
    return end_cut(" ".join(plain(message.encode("utf-8", "replace")).split()), LONGEST_MESSAGE)


def _language(path: str) -> str:
    if path.endswith((".json", ".toml")):
        return path.rpartition(".")[2].upper()
    return f"Python {sys.version_info.major}.{sys.version_info.minor}"


def _may_differ(root: Path, path: str) -> bool:
    """Return whether the file may follow other rules than those of the parser here."""
    name = PurePosixPath(path).name
    if path.endswith(".json"):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in _WITH_COMMENTS) or "/.vscode/" in f"/{path}"
    return path.endswith((".py", ".pyi")) and ("{" in path or _is_newer(root, path))


def _is_newer(root: Path, path: str) -> bool:
    """Return whether the project has a newer Python than the one that parses here, whose syntax it could not know."""
    for folder in folders_above(path):
        for name, expression in _PYTHON_OF.items():
            try:
                match = expression.search(read_plain(root / folder / name).decode("utf-8", "replace"))
            except OSError:
                continue
            version = _VERSION.match(match[1]) if match is not None else None
            if version is not None and (int(version[1]), int(version[2])) > sys.version_info[:2]:
                return True
    return False


_PARSER = HelperProcess(parse_process.__name__)
