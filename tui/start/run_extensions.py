"""The skills and slash commands of the user and of a workspace, as a view offers them. Does not import textual."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from rundry.agent import (
    BadSkill,
    FoundSkill,
    Skill,
    SlashCommand,
    Trust,
    UserError,
    find_commands,
    find_skills,
    load_settings,
    load_skill,
    skill_body,
    trust_scripts,
    unused_notes,
)

from ..keys.lookup import slash_commands


class Extensions:
    """What was found. The files are read when something is first asked for."""

    def __init__(self, workspace: Path, *, trust: bool = False) -> None:
        """`trust`: treat the workspace's as trusted, as `--trust` does."""
        self.workspace, self._trust = workspace, trust

    @cached_property
    def skills(self) -> Sequence[FoundSkill]:
        """All skills, also those that cannot be used."""
        return find_skills(self.workspace, os.environ, trust=self._trust)

    @cached_property
    def commands(self) -> Sequence[SlashCommand]:
        """All slash commands of users, also those that cannot be used."""
        taken = {name for action in slash_commands() for name in (action.slash, action.name)} | {"wheel"}
        return find_commands(self.workspace, os.environ, taken, trust=self._trust)

    @property
    def offered(self) -> list[Skill]:
        """The skills that a run offers to its model."""
        return [one.skill for one in self.skills if one.is_usable]

    @property
    def notes(self) -> list[str]:
        """A line for each reason why something is not used."""
        return [*unused_notes("skill", self.skills), *unused_notes("command", self.commands)]

    def command(self, name: str) -> SlashCommand | None:
        """Return the slash command of this name, or None. Raises UserError if it cannot be used."""
        named = [one for one in self.commands if one.name == name]
        usable = next((one for one in named if one.is_usable), None)
        if usable is None and named:
            why = named[0].problem or "this folder is not trusted yet: read the file, then /trust"
            raise UserError(f"/{name} ({named[0].place}): {why}")
        return usable

    def skill_message(self, argument: str) -> str:
        """Return the message of `/skill NAME [TEXT]`: the instructions, then the text. Raises UserError."""
        self.forget()
        name, _, text = argument.partition(" ")
        found = next((one for one in self.skills if one.skill.name == name and not one.problem), None)
        if found is None:
            names = ", ".join(skill.name for skill in self.offered) or "none"
            raise UserError(f"there is no skill {name!r}; skills: {names}")
        if not found.is_usable:
            raise UserError(f"the skill {name} is not trusted yet: read {found.skill.place}, then /trust")
        try:
            body = skill_body(load_skill(found.skill, self.workspace))
        except BadSkill as error:
            raise UserError(f"the skill {name} is not loaded: {error}") from None
        about = f"Follow the skill `{name}`. Its files are in {found.skill.folder}."
        return "\n\n".join(part for part in (about, body.strip(), text.strip()) if part)

    def trust(self) -> list[str]:
        """Trust the skills, commands and scripts of hooks that are there now, until they change. Returns the places."""
        fresh = Extensions(self.workspace)
        digests = {
            one.skill.place: one.skill.digest
            for one in fresh.skills
            if one.skill.origin == "project" and not one.problem
        }
        digests |= {one.place: one.digest for one in fresh.commands if one.origin == "project" and not one.problem}
        Trust().trust_items(self.workspace, digests)
        hooks = load_settings({}, cwd=self.workspace, env=os.environ, trust=True).hooks
        scripts = trust_scripts(hooks, self.workspace, os.environ)
        self.forget()
        return sorted({*digests, *scripts})

    def command_message(self, text: str) -> str | None:
        """Return the message of `/NAME ARGUMENTS`, or None if there is no such command. Raises UserError."""
        self.forget()
        name, _, argument = text.removeprefix("/").partition(" ")
        command = self.command(name)
        return None if command is None else command.fill(argument.strip())

    def user_commands(self) -> list[tuple[str, str, str]]:
        """Return name, arguments, and description with the origin, of each slash command that can be used."""
        return [
            (one.name, one.argument_hint, f"{one.description} ({one.origin})") for one in self.commands if one.is_usable
        ]

    def forget(self) -> None:
        """Read the files again when something is next asked for."""
        self.__dict__.pop("skills", None)
        self.__dict__.pop("commands", None)
