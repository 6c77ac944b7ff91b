"""Find the skills of the user and of a project, in the format of https://agentskills.io/specification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from ...protocol import ConfigError, Origin, Skill
from ...protocol.text.counts import plural
from ...protocol.text.shorten_text import line_cut
from ...settings.trust import Trust
from ...settings.user_folders import user_folder
from .folder_content import SKILL_FILE, BadSkill, read_skill_folder
from .front_matter import BadFrontMatter, one_line_value, split_front_matter

USER_PLACE = ".claude/skills"
"""Skills of the user that other programs read, too: a folder below the home folder."""
PROJECT_PLACES = (".rundry/skills", ".agents/skills", ".claude/skills")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME, _SHOWN_DESCRIPTION, _LONGEST_DESCRIPTION = 64, 1_024, 4_096
"""The specification has 1,024 characters for a description. Published skills have more, which is cut for the model."""
_MOST = 200
"""Skills of one place. Further ones are left out."""
_LONGEST_NOTE = 200

_MOST_REASONS = 3
_HOW_TO_TRUST = "--trust: for this call, /trust: from now on"


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill folder, and whether it can be used."""

    skill: Skill
    trusted: bool
    """A project's skill is trusted by content, a user's always."""
    problem: str = ""
    """Why it cannot be used. Empty means that it can, once it is trusted."""
    license: str = ""
    allowed_tools: str = ""
    """The tools that it names. They give no permission."""

    @property
    def place(self) -> str:
        """The folder as the user knows it."""
        return self.skill.place

    @property
    def is_usable(self) -> bool:
        """Whether a run offers it."""
        return self.trusted and not self.problem


class FoundItem(Protocol):
    """A skill or a slash command."""

    @property
    def place(self) -> str:
        """The folder or file in which it was found."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether the user trusts it."""
        ...

    @property
    def problem(self) -> str:
        """Why it cannot be used."""
        ...


def find_skills(workspace: Path, env: Mapping[str, str], *, trust: bool = False) -> list[FoundSkill]:
    """Return the skills of the user, then those of the project. Unusable ones are included, with the reason.

    `trust`: treat the project's skills as trusted. The first skill of a name counts. Raises ConfigError for a damaged
    trust store.
    """
    root, store = workspace.resolve(), Trust(env=env)
    found: list[FoundSkill] = []
    names: dict[str, str] = {}
    seen: set[str] = set()
    for origin, place, folder in _folders(root, env):
        one = _read(origin, place, folder, root)
        if one.skill.folder in seen:
            continue  # two places lead to the same folder by a link
        seen.add(one.skill.folder)
        if not one.problem and one.skill.name in names:
            one = _unusable(one.skill, f"{names[one.skill.name]} has the same name and is used")
        if not one.problem:
            names[one.skill.name] = one.skill.place
            is_trusted = origin == "user" or trust or store.item_is_trusted(root, place, one.skill.digest)
            one = FoundSkill(one.skill, is_trusted, "", one.license, one.allowed_tools)
        found.append(one)
    return found


def load_skill(skill: Skill, workspace: Path, env: Mapping[str, str] | None = None) -> str:
    """Return the text of a skill's `SKILL.md`. Raises BadSkill if it changed since a person trusted it."""
    text, digest = read_skill_folder(Path(skill.folder))
    if skill.origin == "user" or digest == skill.digest:
        return text
    try:
        if Trust(env=env).item_is_trusted(workspace, skill.place, digest):
            return text
    except ConfigError as error:
        raise BadSkill(str(error)) from None
    raise BadSkill("it changed since the person trusted it: the person has to trust it again (/trust)")


def skill_body(text: str) -> str:
    """Return the instructions without the front matter."""
    try:
        return split_front_matter(text)[1]
    except BadFrontMatter:
        return text


def unused_notes(what: str, found: Sequence[FoundItem]) -> list[str]:
    """Return a line for what is not trusted yet, and a line for each that cannot be used. `what`: `skill`."""
    waiting = [one for one in found if not one.problem and not one.trusted]
    broken = [one for one in found if one.problem]
    notes = (
        [f"ignored {plural(len(waiting), what)} of this folder: not trusted yet ({_HOW_TO_TRUST})"] if waiting else []
    )
    notes += [f"ignored the {what} {one.place}: {one.problem}" for one in broken[:_MOST_REASONS]]
    if len(broken) > _MOST_REASONS:
        notes.append(f"ignored {plural(len(broken) - _MOST_REASONS, f'more {what}')}: `rundry skills` lists them")
    return notes


def _folders(root: Path, env: Mapping[str, str]) -> Iterator[tuple[Origin, str, Path]]:
    """Yield the origin, the name for the user, and the path of each folder that has a `SKILL.md`."""
    for folder in _inside(user_folder("config", env) / "skills"):
        yield "user", str(folder), folder
    if (place := shared_place(env, USER_PLACE, root)) is not None:
        for folder in _inside(place):
            yield "user", str(folder), folder
    for place in PROJECT_PLACES:
        for folder in _inside(root / place):
            yield "project", f"{place}/{folder.name}", folder


def shared_place(env: Mapping[str, str], place: str, root: Path) -> Path | None:
    """Return a folder below the user's home folder, or None if it is part of the workspace, where a model can write."""
    home = env.get("HOME", "")
    found = Path(home) / place
    return None if not home or found.resolve().is_relative_to(root) else found


def _inside(place: Path) -> list[Path]:
    try:
        folders = sorted(path for path in place.iterdir() if (path / SKILL_FILE).is_file())
    except OSError:
        return []
    return folders[:_MOST]


def _read(origin: Origin, place: str, folder: Path, root: Path) -> FoundSkill:
    real = folder.resolve()
    skill = Skill(name=folder.name, description="", origin=origin, folder=str(real), place=place)
    if origin == "project" and not real.is_relative_to(root):
        return _unusable(skill, "it is a link that leads out of the project")
    try:
        text, digest = read_skill_folder(real)
        fields, _ = split_front_matter(text)
        name = one_line_value("name", fields.get("name", ""), _LONGEST_NAME)
        if not _NAME.fullmatch(name):
            return _unusable(skill, f"its name {name!r} is not written in lowercase letters, digits and hyphens")
        if name != folder.name:
            return _unusable(skill, f"its name {name!r} is not the name of its folder")
        description = one_line_value("description", fields.get("description", ""), _LONGEST_DESCRIPTION)
        description = line_cut(description, _SHOWN_DESCRIPTION)
    except (BadSkill, BadFrontMatter) as error:
        return _unusable(skill, str(error))
    made = msgspec.structs.replace(skill, description=description, digest=digest)
    return FoundSkill(made, False, "", _short(fields.get("license", "")), _short(fields.get("allowed-tools", "")))


def _unusable(skill: Skill, why: str) -> FoundSkill:
    return FoundSkill(skill, False, why)


def _short(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_NOTE]
