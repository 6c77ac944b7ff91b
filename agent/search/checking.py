"""Run a migration's check for one file, in the sandbox and environment of the commands."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from ..host.file_errors import PathRefused
from ..host.files.file_glob import FileGlob
from ..host.ignored_files import Ignore
from ..step.checks.judged_check import background_suspended, written_in_place
from ..step.checks.layered_check import place_of_check
from ..step.checks.verify import check_finished
from ..step.resources.unit_view import refresh_unit
from ..verdict.checks.check_environment import CheckEnvironment, prepared_environment
from ..verdict.checks.run_check import CheckResult, run_check
from .items.item_keys import file_of, item_key

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace
    from ..protocol import CheckFinished
    from ..state.recorder import Events
    from ..step.resources.run_context import RunContext

FILE = "{file}"


class ChecksUnavailable(Exception):
    """Nothing can run checks now; the message is one line for a person."""


class CheckRunner(Protocol):
    """Runs command lines of checks."""

    async def run(self, ctx: RunContext, line: str, environment: CheckEnvironment) -> CheckResult:
        """Run a command line in the workspace of this context. Raises ChecksUnavailable."""
        ...

    async def close(self) -> None:
        """End everything. May be called twice."""
        ...


class LocalChecks:
    """Runs checks on this machine."""

    async def run(self, ctx: RunContext, line: str, environment: CheckEnvironment) -> CheckResult:
        """Run a command line in the sandbox and the workspace of this context."""
        return await run_check(
            line,
            ctx.workspace,
            env=environment.env,
            timeout=ctx.facts.spec.predicates.timeout,
            sandbox=environment.sandbox,
            access=environment.access,
        )

    async def close(self) -> None:
        """Do nothing: no process lives longer than its check."""


def check_of(command: str, path: str) -> str:
    """Return the command for this file. Its quoted name replaces `{file}`, or is added at the end."""
    name = f"./{path}" if path.startswith("-") else path
    if FILE not in command:
        return f"{command} {shlex.quote(name)}"
    whole, *rest = command.split(FILE)
    for part in rest:
        whole += _quoted(name, quotes_around(whole)) + part
    return whole


async def check(
    ctx: RunContext, command: str, path: str, events: Events, *, checks: CheckRunner, compares: bool = True
) -> CheckFinished:
    """Run the check with its own time-out. The caller keeps the run's deadline. Several can run at the same time.

    `compares`: record what it changes in the workspace itself. False means that the caller does. Raises
    ChecksUnavailable.
    """
    line = check_of(command, path)
    await refresh_unit(ctx, events)
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(place_of_check(ctx, line, events))
        await stack.enter_async_context(background_suspended(ctx, events))
        if compares:
            await stack.enter_async_context(written_in_place(ctx, place, line, events))
        with prepared_environment(ctx.sandbox, ctx.env) as environment:
            result = await checks.run(ctx, line, msgspec.structs.replace(environment, layer=place.access))
        await place.ended()
    return check_finished(ctx, result, place.why_unknown)


def path_of(key: str, root: Path) -> str:
    """Return the file of that key, relative to the workspace if it is inside. Raises ValueError if the key names no
    file.
    """
    file = file_of(key)
    return os.path.relpath(file, root) if file.is_relative_to(root) else str(file)


def why_not_file(path: str, root: Path) -> str | None:
    """Return why the path is not the regular file that it was.

    Returns None if it is. A link in place of a folder counts, too.
    """
    inside = not Path(path).is_absolute()
    here, parts = (root, Path(path).parts) if inside else (Path(path).parent, (Path(path).name,))
    for number, part in enumerate(parts, 1):
        here = here / part
        try:
            mode = here.lstat().st_mode
        except OSError:
            return "the file is gone"
        is_last = number == len(parts)
        if stat.S_ISLNK(mode):
            return "the file is a link now" if is_last else f"the folder {part} is a link now"
        if is_last and not stat.S_ISREG(mode):
            return "it is not a file any more"
    return None


def files_of(globs: Sequence[str], workspace: Workspace) -> tuple[dict[str, str], list[str]]:
    """Return key to path of the files that match these globs, and the globs that match none.

    Ignored files and files that no tool may touch are left out.
    """
    found: dict[str, str] = {}
    wanted = [FileGlob(glob, workspace.root) for glob in globs]
    met: set[str] = set()
    for path, _ in Ignore(workspace.root, workspace.skipped).walk():
        hit = [glob.text for glob in wanted if glob.matches(path)]
        met.update(hit)
        if hit and (key := _key_of(path, workspace)) is not None:
            found.setdefault(key, path)
    return found, [glob for glob in globs if glob not in met]


def unmatched(globs: Sequence[str], workspace: Workspace) -> list[str]:
    """Return the globs that match no file. Stops at the first match of the last one."""
    open_ = {glob: FileGlob(glob, workspace.root) for glob in globs}
    for path, _ in Ignore(workspace.root, workspace.skipped).walk():
        for glob in [text for text, wanted in open_.items() if wanted.matches(path)]:
            del open_[glob]
        if not open_:
            break
    return list(open_)


def no_file_matches(globs: Sequence[str], root: Path) -> str:
    """Return the reason why a migration with these globs cannot begin."""
    return f"no file matches {', '.join(globs)} in {root}; ignored files are left out"


def quotes_around(before: str) -> str:
    """Return the quotes that are open in the shell after this text: `'`, `"`, or none."""
    open_: list[str] = [""]
    at = 0
    while at < len(before):
        char, here = before[at], open_[-1]
        if here == "'":
            if char == "'":
                open_.pop()
        elif char == "\\":
            at += 1
        elif before.startswith("$(", at):
            open_.append("")
            at += 1
        elif char == here and here:
            open_.pop()
        elif char == '"' or (char == "'" and not here):
            open_.append(char)
        elif not here and char == "(":
            open_.append("")
        elif not here and char == ")" and len(open_) > 1:
            open_.pop()
        at += 1
    return open_[-1]


def _quoted(name: str, quotes: str) -> str:
    """Quote the name for its place between these quotes."""
    match quotes:
        case "'":
            return name.replace("'", "'\\''")
        case '"':
            return "".join(f"\\{char}" if char in '"$`\\' else char for char in name)
        case _:
            return shlex.quote(name)


def _key_of(path: str, workspace: Workspace) -> str | None:
    """Return the key, or None if no tool may change the file."""
    key = item_key("file", path, workspace.root)
    try:
        real = file_of(key)
        workspace.refuse(real, path)
    except (ValueError, PathRefused):
        return None
    return key if real.is_file() else None
