"""Find the slash commands that users write as Markdown files, and fill in their arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...protocol import Origin, UserError
from ...protocol.text.shorten_text import line_cut
from ...settings.trust import Trust
from ...settings.user_folders import user_folder
from .find_skills import shared_place
from .folder_content import BadSkill, read_text, text_digest
from .front_matter import BadFrontMatter, one_line_value, split_front_matter

PROJECT_COMMANDS = (".rundry/commands", ".claude/commands")
USER_COMMANDS = ".claude/commands"
"""Commands of the user that other programs read, too: a folder below the home folder."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MOST = 200
_SHOWN_DESCRIPTION, _LONGEST_DESCRIPTION, _LONGEST_HINT = 200, 4_096, 80
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
_FIRST_LINE = 80
"""Characters of the first line, which describes a command without a description."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A text with a name, which `/NAME ARGUMENTS` sends as a message."""

    name: str
    description: str
    argument_hint: str
    origin: Origin
    place: str
    """Its file: relative to the workspace, or absolute."""
    text: str
    digest: str = ""
    trusted: bool = False
    problem: str = ""
    """Why it cannot be used. Empty means that it can, once it is trusted."""

    @property
    def is_usable(self) -> bool:
        """Whether it can be sent."""
        return self.trusted and not self.problem

    def fill(self, arguments: str) -> str:
        """Return the text with its arguments. Nothing in it is executed.

        `$ARGUMENTS` is all that was typed after the name, `$1` to `$9` are its words, in which quotes count. Arguments
        for which the text has no place are added at its end. Raises UserError for an open quote.
        """
        if not _PLACEHOLDER.search(self.text):
            return f"{self.text.rstrip()}\n\n{arguments}".rstrip() if arguments else self.text.rstrip()
        try:
            words = shlex.split(arguments) if re.search(r"\$[1-9](?!\d)", self.text) else []
        except ValueError:
            raise UserError(f"/{self.name}: a quote is not closed in {arguments!r}") from None

        def given(found: re.Match[str]) -> str:
            if found[1] == "ARGUMENTS":
                return arguments
            at = int(found[1]) - 1
            return words[at] if at < len(words) else ""

        return _PLACEHOLDER.sub(given, self.text).rstrip()


def find_commands(
    workspace: Path, env: Mapping[str, str], built_in: Collection[str], *, trust: bool = False
) -> list[SlashCommand]:
    """Return the commands of the user, then those of the project. Unusable ones are included, with the reason.

    `built_in`: names that are taken. `trust`: treat the project's commands as trusted. Raises ConfigError for a damaged
    trust store.
    """
    root, store = workspace.resolve(), Trust(env=env)
    found: list[SlashCommand] = []
    names: dict[str, str] = {}
    for origin, place, path in _files(root, env):
        one = _read(origin, place, path, root, built_in)
        if not one.problem and one.name in names:
            one = _unusable(one.name, origin, place, f"{names[one.name]} has the same name and is used")
        if not one.problem:
            names[one.name] = place
        found.append(
            SlashCommand(
                one.name,
                one.description,
                one.argument_hint,
                origin,
                place,
                one.text,
                one.digest,
                origin == "user" or trust or store.item_is_trusted(root, place, one.digest),
                one.problem,
            )
        )
    return found


def _files(root: Path, env: Mapping[str, str]) -> Iterator[tuple[Origin, str, Path]]:
    for path in _markdown(user_folder("config", env) / "commands"):
        yield "user", str(path), path
    if (place := shared_place(env, USER_COMMANDS, root)) is not None:
        for path in _markdown(place):
            yield "user", str(path), path
    for place in PROJECT_COMMANDS:
        for path in _markdown(root / place):
            yield "project", f"{place}/{path.name}", path


def _markdown(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".md")[:_MOST]
    except OSError:
        return []


def _read(origin: Origin, place: str, path: Path, root: Path, built_in: Collection[str]) -> SlashCommand:
    name = path.stem
    if not _NAME.fullmatch(name):
        return _unusable(name, origin, place, "its name is not written in lowercase letters, digits, - and _")
    if name in built_in or name.replace("-", "_") in built_in:
        return _unusable(name, origin, place, f"/{name} is a command of rundry: rename the file")
    if origin == "project" and not path.resolve().is_relative_to(root):
        return _unusable(name, origin, place, "it is a link that leads out of the project")
    try:
        text, data = read_text(path)
        fields, body = split_front_matter(text)
        if not body.strip():
            return _unusable(name, origin, place, "it has no text")
        about = fields.get("description", "") or body.strip().partition("\n")[0].lstrip("# ")[:_FIRST_LINE]
        description = line_cut(one_line_value("description", about, _LONGEST_DESCRIPTION), _SHOWN_DESCRIPTION)
        hint = fields.get("argument-hint", "")
        hint = one_line_value("argument-hint", hint, _LONGEST_HINT) if hint else ""
    except (BadSkill, BadFrontMatter) as error:
        return _unusable(name, origin, place, str(error))
    return SlashCommand(name, description, hint, origin, place, body, text_digest(data))


def _unusable(name: str, origin: Origin, place: str, why: str) -> SlashCommand:
    return SlashCommand(name, "", "", origin, place, "", problem=why)
