"""Find the file that code in an answer without a call was meant for, to name it in the nudge."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...host.file_errors import PathRefused
from ...host.meant_paths import meant_path
from ...host.plain_files import read_plain
from ...protocol import BY_TOOLS

if TYPE_CHECKING:
    from ..resources.run_context import RunContext

_FENCE = re.compile(r"([^\n]*)\n{0,2}^[ \t]*(`{3,}|~{3,})([^\n`]*)\n(.*?)(?:^[ \t]*\2|\Z)", re.MULTILINE | re.DOTALL)
"""The line before a fence, its marks, its language and its code."""
_PATH = re.compile(r"[\w./\\-]*\w\.\w+")
_DEFINITION = (
    r"^[ \t]*(?:(?:export|pub|public|private|static|async|default)\s+)*(?:def|class|function|func|fn|fun)\s+({})\b"
)
_LARGEST = 200_000
"""Bytes of the largest file that is searched for a definition."""
_MOST_FILES = 500
_MOST_NAMES = 20


async def nudge_about_code(ctx: RunContext, text: str) -> str | None:
    """Return the nudge for an answer that holds code and called no tool; None if its file is not certain.

    The file is named next to the code, or it is the only one that has a definition of the code. Files that decide
    whether the goal is met are never named.
    """
    facts, answers = ctx.facts, ctx.facts.answers
    if not facts.spec.predicates.exist or answers.is_automatic or answers.format != BY_TOOLS:
        return None
    if "```" not in text and "~~~" not in text:
        return None
    path = await asyncio.to_thread(_file_of, ctx, text)
    if path is None:
        return None
    return (
        f"You stopped without calling a tool, so the code in your answer was not written to {path}. "
        f"Call `edit_file` with the path {path}, the old lines and the new lines, "
        "or call `write_file` with the path and the whole new content."
    )


def _file_of(ctx: RunContext, text: str) -> str | None:
    fences = list(_FENCE.finditer(text))
    for fence in fences:
        before, language, code = fence[1], fence[3], fence[4]
        for named in _PATH.findall("\n".join((language, code.partition("\n")[0], before))):
            if (path := _editable(ctx, meant_path(ctx.workspace, named))) is not None:
                return path
    pattern = re.compile(_DEFINITION.format(r"\w+"), re.MULTILINE)
    names = list(dict.fromkeys(name for fence in fences for name in pattern.findall(fence[4])))
    found = list(itertools.islice(_defining(ctx, names[:_MOST_NAMES]), 2)) if names else []
    return found[0] if len(found) == 1 else None


def _defining(ctx: RunContext, names: list[str]) -> Iterator[str]:
    """Yield the files that define one of the names."""
    pattern = re.compile(_DEFINITION.format("|".join(map(re.escape, names))), re.MULTILINE)
    for given, _ in itertools.islice(ctx.tools.ignore.walk(), _MOST_FILES):
        path = _editable(ctx, given)
        if path is None:
            continue
        try:
            content = read_plain(ctx.workspace.root / path, _LARGEST).decode("utf-8", "replace")
        except OSError:
            continue
        if pattern.search(content):
            yield path


def _editable(ctx: RunContext, path: str) -> str | None:
    """Return the path of an existing file that the model may be asked to edit."""
    try:
        real = ctx.workspace.resolve(path)
    except PathRefused:
        return None
    relative, scope = ctx.workspace.relative(real), ctx.scope
    if ctx.guard.matches(relative) or (scope is not None and scope.decides_check(relative)):
        return None
    return relative if real.is_file() and ctx.workspace.caution(real) is None else None
