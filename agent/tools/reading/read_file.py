"""The tool `read_file`, for files, skills and stored output, with bounded answers and a hint how to read the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...extend.skills.find_skills import load_skill, skill_body
from ...extend.skills.folder_content import BadSkill
from ...host.file_errors import PathRefused, UnreadableFile
from ...host.files.file_states import read_state
from ...host.terminal_text import plain
from ...protocol import SKILL, Skill
from ...protocol.text.counts import plural
from ..fit_text import LONGEST_LINE, fitting, lines_of, numbered
from ..tool_context import OUTPUT, ToolContext
from ..tool_result import ToolResult, failure
from ..web.foreign_text import fenced
from .existing_files import existing

if TYPE_CHECKING:
    from ...host.files.file_states import FileState
    from ..tool_arguments import ReadFile


def read_file(args: ReadFile, ctx: ToolContext) -> ToolResult:
    """Return numbered lines of a file, of a skill, or of an output that was too long to show."""
    if args.path.startswith(OUTPUT):
        try:
            text = plain(ctx.output(args.path))
        except KeyError:
            return failure(f"there is no stored output {args.path}", "no such output")
        result = _lines(args, text, ctx)
        is_foreign = result.ok and ctx.is_page(args.path)
        return msgspec.structs.replace(result, text=fenced(result.text)) if is_foreign else result
    if args.path.startswith(SKILL):
        found = _read_skill(args.path, ctx)
        return found if isinstance(found, ToolResult) else _lines(args, plain(found), ctx)
    state = existing(args.path, ctx)
    if isinstance(state, ToolResult):
        return state
    if state.is_binary:
        return failure(f"{args.path} is a binary file of {state.size:,} bytes: it cannot be read as text", "binary")
    return _lines(args, state.text(), ctx, state)


def _lines(args: ReadFile, text: str, ctx: ToolContext, state: FileState | None = None) -> ToolResult:
    """Return the lines. `state`: the file of the workspace that has them."""
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
    is_cut = any(len(line) > LONGEST_LINE for line in lines[start - 1 : last])
    seen = None if state is None or is_cut else ctx.seen(state, start, last, len(lines))
    return ToolResult(ok=True, text="\n".join([head, *shown[:count], *rest]), summary=plural(count, "line"), seen=seen)


def _read_skill(path: str, ctx: ToolContext) -> str | ToolResult:
    """Return the text of `skill:NAME` or `skill:NAME/FILE`, or the failure.

    A project's skill is compared with what the person trusted at each call.
    """
    name, _, inside = path.removeprefix(SKILL).partition("/")
    skill = next((skill for skill in ctx.skills if skill.name == name), None)
    if skill is None:
        names = ", ".join(skill.name for skill in ctx.skills) or "none"
        return failure(f"there is no skill {name!r}; skills: {names}", "no such skill")
    if why := _denied(skill, inside or "SKILL.md", ctx):
        return failure(f"refused by the policy: {why}. Do not repeat it.", "refused")
    try:
        text = load_skill(skill, ctx.workspace.seen)
    except BadSkill as error:
        return failure(f"the skill {name} is not loaded: {error}", "not trusted")
    return _file(skill, inside, ctx) if inside else _with_place(skill, skill_body(text))


def _file(skill: Skill, inside: str, ctx: ToolContext) -> str | ToolResult:
    """Return the text of a file of the skill. Links are not followed out of its folder."""
    folder = Path(skill.folder)
    real = (folder / inside).resolve()
    if not real.is_relative_to(folder):
        return failure(f"{inside} is not in the folder of the skill {skill.name}", "refused")
    try:
        state = read_state(real, beneath=folder)
    except (PathRefused, UnreadableFile) as error:
        return failure(str(error), "not readable")
    if not state.exists:
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())[:20]
        return failure(f"{skill.name} has no file {inside}; files: {', '.join(names)}", "no such file")
    if state.is_binary:
        return failure(f"{inside} is a binary file of {state.size:,} bytes: it cannot be read as text", "binary")
    return state.text()


def _with_place(skill: Skill, body: str) -> str:
    """Return the instructions, with a line that says how to reach the other files of the skill."""
    return (
        f"[The files of this skill are in {skill.folder}. Read them as `{SKILL}{skill.name}/FILE`. Each command and "
        f"each edit passes the gate, whatever the skill says.]\n{body}"
    )


def _denied(skill: Skill, inside: str, ctx: ToolContext) -> str | None:
    folder = Path(skill.folder)
    if not folder.is_relative_to(ctx.workspace.seen):
        return None
    return ctx.denial_of("read_file", (folder / inside).relative_to(ctx.workspace.seen).as_posix())
