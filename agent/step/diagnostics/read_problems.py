"""Read the problems in what a tool printed, and leave out those that were there before."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...host.terminal_text import plain
from ...protocol import Problem
from ...protocol.text.shorten_text import end_cut
from .project_tools import folders_above

if TYPE_CHECKING:
    from .project_tools import ToolUse

LONGEST_MESSAGE = 300
_ERROR = 2
"""How severe a problem is for eslint if it is not a warning."""
_FIXABLE = re.compile(r"^(\w+ )?\[\*\] ")
"""How ruff marks what it could fix."""
_NUMBER = re.compile(r"\b(line|lines) \d+")
ProblemKey = tuple[str, str, str]
"""A problem without its line: the file, the tool and the message."""


class FileVersions(NamedTuple):
    """A changed file."""

    before: bytes | None
    """Its content before the run changed it first. None means that there was no file."""
    now: bytes


class ReadOutput(NamedTuple):
    """What a tool printed."""

    problems: list[Problem]
    """Those in the files that it was asked about."""
    is_understood: bool
    """Whether it printed problems at all, also of other files."""


def read_problems(use: ToolUse, output: bytes, seen: Path) -> ReadOutput:
    """Read the output of a tool. `seen`: the workspace as the tool saw it."""
    found = list(_of_eslint(output) if not use.tool.line else _of_lines(use.tool.line, output))
    wanted, problems = frozenset(use.files), list[Problem]()
    for path, line, message in found:
        if (file := _file(path, use.folder, wanted, seen)) is not None:
            message = end_cut(_FIXABLE.sub(r"\1", " ".join(message.split())), LONGEST_MESSAGE)
            problems.append(Problem(path=file, line=line, message=message, tool=use.tool.name))
    return ReadOutput(list(dict.fromkeys(problems)), bool(found))


def _of_lines(pattern: str, output: bytes) -> Iterable[tuple[str, int, str]]:
    expression = re.compile(pattern)
    for line in plain(output).splitlines():
        if (match := expression.fullmatch(line.rstrip())) is not None:
            yield match["path"], int(match["line"]), match["message"].strip(" :")


class _EslintMessage(msgspec.Struct):
    message: str
    severity: int
    line: int = 0
    rule: str | None = msgspec.field(name="ruleId", default=None)


class _EslintFile(msgspec.Struct):
    path: str = msgspec.field(name="filePath")
    messages: list[_EslintMessage]


def _of_eslint(output: bytes) -> Iterable[tuple[str, int, str]]:
    start = output.find(b"[{")
    try:
        files = msgspec.json.decode(output[start:].strip() if start >= 0 else b"[]", type=list[_EslintFile])
    except msgspec.DecodeError:
        return
    for file in files:
        for one in file.messages:
            if one.severity >= _ERROR:
                yield file.path, one.line, plain(one.message.encode()) + (f" ({one.rule})" if one.rule else "")


def _file(path: str, folder: str, wanted: Collection[str], seen: Path) -> str | None:
    """Return the file that a tool means. It may name it from a folder above the one in which it was started."""
    if path.startswith("/"):
        return relative if (relative := os.path.relpath(path, seen)) in wanted else None
    above = (folder, *folders_above(folder))
    names = (os.path.normpath(PurePosixPath(one, path)) for one in above)
    return next((name for name in names if name in wanted), None)


def key_of(problem: Problem) -> ProblemKey:
    """Return what two problems have in common if they differ in lines alone."""
    return problem.path, problem.tool, _NUMBER.sub(r"\1", problem.message)


def new_problems(
    now: Sequence[Problem], before: Counter[ProblemKey] | None, changed: Mapping[str, FileVersions]
) -> list[Problem]:
    """Return the problems that were not there before, in the order in which they were found.

    `before`: the earlier ones, with their number. None means that they are not known: then a problem is new in a new
    file and on a line that the run changed.
    """
    lines = {path: changed_lines(versions) for path, versions in changed.items()}

    def is_on_changed(problem: Problem) -> bool:
        on = lines.get(problem.path)
        return on is None or problem.line in on

    if before is None:
        return [problem for problem in now if is_on_changed(problem)]
    left, new = Counter(before), list[Problem]()
    for problem in sorted(now, key=is_on_changed):  # of equal ones, those on unchanged lines are the old ones
        if left[key_of(problem)] > 0:
            left[key_of(problem)] -= 1
        else:
            new.append(problem)
    return [problem for problem in now if problem in new]


def changed_lines(versions: FileVersions) -> frozenset[int] | None:
    """Return the numbers of the lines that differ from before. None means all, because there was no file."""
    if versions.before is None:
        return None
    old, new = versions.before.splitlines(), versions.now.splitlines()
    matcher: difflib.SequenceMatcher[Any] = difflib.SequenceMatcher(None, old, new, autojunk=False)
    numbers = set[int]()
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind != "equal":
            numbers.update(range(start + 1, end + 1))
    return frozenset(numbers)
