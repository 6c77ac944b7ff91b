"""`rundry skills`: the skills and slash commands that are found here. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...border.json_out import print_json
from ...run.extensions import Extensions
from ...setup.connected import skill_data, state_words
from ...setup.folders import workspace_of
from ...text import one_line

if TYPE_CHECKING:
    from rundry.agent import FoundSkill, SlashCommand

_WIDTH = 24


def print_skills(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print one entry for each skill and each slash command. Return 0."""
    found = Extensions(workspace_of(flags))
    if as_json:
        print_json({"skills": [skill_data(one) for one in found.skills], "commands": list(found.commands)})
        return 0
    if not found.skills and not found.commands:
        print("no skills and no slash commands: docs/how-to/skills-and-commands.md says where they go")
    rows = [*map(skill_line, found.skills), *map(command_line, found.commands)]
    if rows:
        print("\n".join(rows))
    return 0


def skill_line(one: FoundSkill) -> str:
    """Return one line about a skill. Its texts are foreign."""
    about = one_line(one.skill.description)
    more = f"  (names the tools {one_line(one.allowed_tools)}: this gives no permission)" if one.allowed_tools else ""
    return _line(f"skill {one.skill.name}", one.skill.origin, state_words(one.trusted, one.problem), about + more)


def command_line(one: SlashCommand) -> str:
    """Return one line about a slash command. Its texts are foreign."""
    name = f"/{one.name} {one.argument_hint}".strip()
    return _line(name, one.origin, state_words(one.trusted, one.problem), one_line(one.description))


def _line(name: str, origin: str, state: str, about: str) -> str:
    return f"{one_line(name):<{_WIDTH}}  {origin:<7}  {one_line(state)}{'  ' if about else ''}{about}"
