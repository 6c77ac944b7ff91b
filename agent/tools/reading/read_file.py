"""The tool `read_file`, with bounded answers and a hint how to read the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import SKILL
from ...protocol.text.counts import plural
from ..context import OUTPUT, ToolContext
from ..result import ToolResult, failure
from ..text import fitting, lines_of, numbered, plain
from .files import existing
from .skills import read_skill

if TYPE_CHECKING:
    from ..arguments import ReadFile


def read_file(args: ReadFile, ctx: ToolContext) -> ToolResult:
    """Return numbered lines of a file, of a skill, or of an output that was too long to show."""
    if args.path.startswith(OUTPUT):
        try:
            text = plain(ctx.output(args.path))
        except KeyError:
            return failure(f"there is no stored output {args.path}", "no such output")
        return _lines(args, text, ctx)
    if args.path.startswith(SKILL):
        found = read_skill(args.path, ctx)
        return found if isinstance(found, ToolResult) else _lines(args, plain(found.encode()), ctx)
    state = existing(args.path, ctx)
    if isinstance(state, ToolResult):
        return state
    if state.is_binary:
        return failure(f"{args.path} is a binary file of {state.size:,} bytes: it cannot be read as text", "binary")
    result = _lines(args, state.text(), ctx)
    if result.ok:
        ctx.note_read(state)
    return result


def _lines(args: ReadFile, text: str, ctx: ToolContext) -> ToolResult:
    lines = lines_of(text)
    if not lines:
        return ToolResult(ok=True, text=f"{args.path} is empty", summary="empty")
    start = max(1, args.start_line or 1)
    end = len(lines) if args.end_line is None else min(args.end_line, len(lines))
    if start > len(lines):
        return failure(f"{args.path} has {len(lines)} lines: there is no line {start}", "past the end")
    if end < start:
        return failure(f"end_line {args.end_line} is before start_line {start}", "wrong range")
    shown = numbered(lines[start - 1 : end], start)
    count = fitting(shown, ctx.limit)
    last = start + count - 1
    head = f"{args.path}, lines {start} to {last} of {len(lines)}:" if count < len(lines) else f"{args.path}:"
    rest = [f"[continue with start_line={last + 1}]"] if last < end else []
    return ToolResult(ok=True, text="\n".join([head, *shown[:count], *rest]), summary=plural(count, "line"))
