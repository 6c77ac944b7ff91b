"""Read a skill, or a file of it, by `read_file` with a path that begins with `skill:`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...config.skills.find_skills import load_skill, skill_body
from ...config.skills.folder_content import BadSkill
from ...protocol import SKILL, Skill
from ...workspace.errors import PathRefused, UnreadableFile
from ...workspace.files.states import read_state
from ..result import ToolResult, failure

if TYPE_CHECKING:
    from ..context import ToolContext

_READ_BY = "read_file"


def read_skill(path: str, ctx: ToolContext) -> str | ToolResult:
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
    return ctx.denial_of(_READ_BY, (folder / inside).relative_to(ctx.workspace.seen).as_posix())
