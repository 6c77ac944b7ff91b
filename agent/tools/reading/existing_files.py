"""Find files of the project for the tool `list_files`, and the file that a path of the model means."""

from __future__ import annotations

import difflib
import fnmatch
import itertools
import time
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ...host.file_errors import PathRefused, UnreadableFile
from ...host.files.file_states import FileState, read_state
from ...host.files.git_patterns import git_spec
from ...protocol.text.counts import plural
from ..fit_text import fitting
from ..tool_result import ToolResult, failure

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from ..tool_arguments import ListFiles
    from ..tool_context import ToolContext

_MOST_FILES = 400
_WALKED = 200_000
"""Maximum number of files that one call looks at."""
SECONDS = 20.0
"""Time-out of a read in seconds."""


def existing(path: str, ctx: ToolContext) -> FileState | ToolResult:
    """Return the file as it is now, or an error with similar names."""
    try:
        real = ctx.workspace.resolve(path)
        if real.is_dir():
            return failure(f"{path} is a folder, not a file: list_files shows what is in it", "a folder")
        state = read_state(real, beneath=ctx.workspace.root)
    except (PathRefused, UnreadableFile) as error:
        return failure(str(error), "refused" if isinstance(error, PathRefused) else "not readable")
    if not state.exists:
        return failure(f"{path} does not exist.{did_you_mean(path, ctx)}", "no such file")
    return state


def did_you_mean(path: str, ctx: ToolContext) -> str:
    """Suggest files of the same or a similar name."""
    known = [found for found, _ in itertools.islice(ctx.ignore.walk(), 20_000)]
    name = PurePosixPath(path).name
    near = [found for found in known if PurePosixPath(found).name == name][:3]
    near = near or difflib.get_close_matches(path, known[:3_000], n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else " Use list_files to see the files."


def list_files(args: ListFiles, ctx: ToolContext) -> ToolResult:
    """List paths below the project or a folder, in order, without ignored ones."""
    below = args.path if args.path not in (None, "", "/") else "."
    try:
        real = ctx.workspace.resolve(below)
        folder = ctx.workspace.relative(real)
    except PathRefused as error:
        return failure(str(error), "refused")
    if real.is_file():
        return ToolResult(ok=True, text=f"{folder} is a file, not a folder: use read_file", summary="a file")
    if not real.is_dir():
        return failure(f"{below} does not exist.{did_you_mean(below, ctx)}", "no such folder")
    found, complete = _found(folder, args.pattern, ctx)
    if not found:
        what = f"no file in {below} matches `{args.pattern}`" if args.pattern else f"{below} has no files"
        return ToolResult(ok=True, text=f"{what} (ignored files are not listed)", summary="no files")
    count = min(_MOST_FILES, fitting(found, ctx.limit))
    total = f"{len(found):,}" if complete else f"more than {len(found):,}"
    rest = [f"[{count} of {total} files; narrow it with path or pattern]"] if count < len(found) else []
    return ToolResult(ok=True, text="\n".join([*found[:count], *rest]), summary=plural(len(found), "file"))


def _found(folder: str, pattern: str | None, ctx: ToolContext) -> tuple[list[str], bool]:
    """Return paths relative to the project, and whether the list is complete."""
    start = "" if folder == "." else folder
    end = time.monotonic() + ctx.bounded_seconds(SECONDS)
    found: list[str] = []
    for count, (path, entry) in enumerate(ctx.ignore.walk(start)):
        if count >= _WALKED or time.monotonic() > end:
            return found, False
        shown = path.encode("utf-8", "replace").decode()
        if pattern is None or _fits(pattern, path, start):
            found.append(shown + (" -> (link)" if entry.is_symlink() else ""))
    return found, True


def _fits(pattern: str, path: str, start: str) -> bool:
    """Match the glob against the path from the project or from the listed folder, or the name alone."""
    inside = path.removeprefix(f"{start}/")
    if "/" not in pattern:
        return fnmatch.fnmatchcase(PurePosixPath(path).name, pattern)
    spec = _glob(pattern)
    return spec.match_file(path) or spec.match_file(inside)


@lru_cache(maxsize=64)
def _glob(pattern: str) -> GitIgnoreSpec:
    return git_spec([pattern.lstrip("!")])
