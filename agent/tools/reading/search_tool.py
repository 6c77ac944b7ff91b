"""Search files for `search`: with ripgrep if it is installed, else with our own program in a separate process."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.file_errors import PathRefused
from ...host.files.temporary import TEMPORARY_FILES
from ...host.program_search import find_program
from ...protocol.text.counts import plural
from ...protocol.text.shorten_text import noted_cut
from ..fit_text import LONGEST_LINE, fitting
from ..tool_result import ToolResult, failure
from .existing_files import SECONDS, did_you_mean

if TYPE_CHECKING:
    from ...host.processes.processes import Finished
    from ..tool_arguments import Search
    from ..tool_context import ToolContext

_GREP = str(Path(__file__).resolve().with_name("grep.py"))
"""The search that runs in the sandbox, by its real path: a link to it in a home folder is hidden there."""
_MOST = 1_000
"""Maximum number of matches that are collected."""
_LEFT_OUT = (".git/", "node_modules/", "__pycache__/", ".venv/", TEMPORARY_FILES)
_HIT = re.compile(r"([^\0]+)\0(\d+):(.*)")


async def search(args: Search, ctx: ToolContext) -> ToolResult:
    """Return matching lines as `path:line: text`, ordered by path. An invalid pattern is searched for as plain text."""
    if not args.pattern:
        return failure("the pattern is empty", "no pattern")
    try:
        real = ctx.workspace.resolve(args.path or ".")
        where = ctx.workspace.relative(real)
    except PathRefused as error:
        return failure(str(error), "refused")
    if not real.exists():
        return failure(f"{args.path} does not exist.{did_you_mean(args.path or '.', ctx)}", "no such path")
    if not (real.is_file() or real.is_dir()):
        return failure(f"{args.path} is not a regular file or a folder", "not a file")
    note = ""
    done = await _run(args.pattern, where, ctx)
    if done.exit_code == 2 and done.output.strip() and b"\0" not in done.output:
        note = "[the pattern is not a valid regular expression: it was searched for as plain text]"
        done = await _run(args.pattern, where, ctx, literal=True)
    if done.timed_out:
        return failure(f"timed out after {ctx.bounded_seconds(SECONDS):g} s: narrow it with path", "timed out")
    if done.error is not None:
        return failure(f"the search could not run: {done.error}")
    return _answer(args, done, note, ctx)


async def _run(pattern: str, where: str, ctx: ToolContext, *, literal: bool = False) -> Finished:
    rg = find_program("rg", [ctx.workspace.seen], ctx.env.get("PATH"))
    if rg is not None:
        return await _ripgrep(rg, pattern, where, ctx, literal=literal)
    return await own_search(re.escape(pattern) if literal else pattern, where, ctx)


async def _ripgrep(rg: Path, pattern: str, where: str, ctx: ToolContext, *, literal: bool) -> Finished:
    options = ["--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--line-number"]
    options += ["--null", "--sort=path", "--hidden", "--no-require-git", "--max-columns=2000", "--max-columns-preview"]
    options += [f"--glob=!{name}" for name in _LEFT_OUT] if where == "." else ["--glob=!.git/"]
    if where != "." and ctx.ignore.ignored(where, is_dir=(ctx.workspace.root / where).is_dir()):
        options.append("--no-ignore")  # the model named an ignored path on purpose
    if literal:
        options.append("--fixed-strings")
    argv = [str(rg), *options, "-e", pattern, "--", "." if where == "." else f"./{where}"]
    seconds = ctx.bounded_seconds(SECONDS)
    return await _sandboxed(argv, ctx, seconds)


async def own_search(pattern: str, where: str, ctx: ToolContext) -> Finished:
    """Run our own search, with the same output as ripgrep."""
    real = ctx.workspace.root / where
    files = [where] if real.is_file() else [path for path, _ in ctx.ignore.walk("" if where == "." else where)]
    plain = [name for name in files if not _has_surrogates(name)]
    order = {"root": str(ctx.workspace.seen), "files": plain, "pattern": pattern, "most": _MOST + 1}
    argv = [sys.executable, "-I", _GREP]
    done = await _sandboxed(argv, ctx, ctx.bounded_seconds(SECONDS), json.dumps(order).encode())
    if done.exit_code in (0, 2, None):
        return done
    return msgspec.structs.replace(done, error=done.output.decode("utf-8", "replace").strip().rpartition("\n")[2])


async def _sandboxed(argv: list[str], ctx: ToolContext, seconds: float, stdin: bytes | None = None) -> Finished:
    """Run a helper program that reads the workspace with the permissions of a command."""
    root = ctx.workspace.root
    return await ctx.sandbox.run_unchecked(
        argv, root, cwd=root, env=ctx.env, timeout=seconds, limit=2_000_000, stdin=stdin
    )


def _has_surrogates(name: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in name)


def _answer(args: Search, done: Finished, note: str, ctx: ToolContext) -> ToolResult:
    hits, hidden = _hits(done.output.decode("utf-8", "replace").split("\n"), ctx)
    notes = [note] if note else []
    if hidden:
        notes.append(f"[{hidden} matches are in files that no tool may read]")
    if not hits:
        return ToolResult(ok=True, text="\n".join([f"no match for `{args.pattern}`", *notes]), summary="no match")
    count = min(fitting(hits, ctx.limit), _MOST)
    if count < len(hits) or done.dropped:
        total = f"{len(hits):,}" if len(hits) <= _MOST and not done.dropped else "many"
        notes.append(f"[{count} of {total} matches; narrow it with path or a longer pattern]")
    return ToolResult(ok=True, text="\n".join([*hits[:count], *notes]), summary=plural(len(hits), "match"))


def _hits(lines: Sequence[str], ctx: ToolContext) -> tuple[list[str], int]:
    """Return the matches that may be shown, and the number of hidden ones."""
    hits: list[str] = []
    hidden = 0
    allowed: dict[str, bool] = {}
    for line in lines:
        found = _HIT.fullmatch(line)
        if found is None:
            continue
        path = found[1].removeprefix("./")
        if path not in allowed:
            allowed[path] = _may_show(path, ctx)
        if allowed[path]:
            hits.append(f"{path}:{found[2]}: {noted_cut(found[3], LONGEST_LINE)}")
        else:
            hidden += 1
    return hits, hidden


def _may_show(path: str, ctx: ToolContext) -> bool:
    try:
        ctx.workspace.resolve(path)
    except PathRefused:
        return False
    return ctx.denial_of("search", path) is None
