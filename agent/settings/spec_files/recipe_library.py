"""The recipes that can be run by name: built-in ones, the user's own, and those of a trusted project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from ...host.plain_files import read_plain
from ...protocol import Recipe, UserError
from ..default_limits import did_you_mean
from ..search.search_file import search_of
from ..trust import PROJECT_RECIPES, Content, Trust
from ..user_folders import user_folder
from .goal_file import goal_of
from .option_tables import refuse_server
from .parameters import example_of
from .read_spec import SpecText
from .spec_schema import SpecKind
from .toml_values import ParameterTable, ParameterValue

RecipeOrigin = Literal["built-in", "user", "project"]
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*", re.ASCII)
_File = tuple[Path, bytes | None]
"""A file with its content, or None if it cannot be read."""
_MOST = 500
"""Maximum number of files of a folder that are read."""


class _BuiltIn(msgspec.Struct, frozen=True):
    """A recipe that rundry brings along, as the list of recipes shows it."""

    description: str
    parameters: list[tuple[str, str, str, str, bool]]
    """Name, type, example, help, and whether it is required."""


_BUILT_IN: Mapping[Recipe, _BuiltIn] = {
    Recipe.CRAWL: _BuiltIn(
        "Follow every link of a site, without a model.",
        [
            ("URL", "address", "http://localhost:8000/", "Where the crawl starts.", True),
            ("--max-pages", "integer", "N", "Limit of pages.", False),
            ("--rate", "number", "X", "Requests a second.", False),
            ("--include", "glob", "GLOB", "Follow only these addresses.", False),
            ("--exclude", "glob", "GLOB", "Never follow these.", False),
        ],
    ),
    Recipe.MIGRATE: _BuiltIn(
        "Fix every file that fails a check.",
        [
            ("--check", "command", "'ruff check {file}'", "A file is done when this exits with 0.", True),
            ("GLOB", "glob", "'src/**/*.py'", "The files; default: all.", False),
            ("--task", "string", "TEXT", "How to fix them.", False),
            ("--parallel", "integer", "N", "Files at a time in worktrees.", False),
        ],
    ),
    Recipe.RESEARCH: _BuiltIn(
        "Answer a question with lenses, verifiers and a critic.",
        [
            ("--task", "string", "TEXT", "The question.", True),
            ("PATH", "path", "src", "Where to search; default: everywhere.", False),
        ],
    ),
    Recipe.REVIEW: _BuiltIn(
        "Review a diff until there are no new findings (`rundry review`).",
        [
            ("--diff", "range", "main...HEAD", "What to review; default: what changed since HEAD.", False),
            ("--patch", "path", "FILE", "A patch on HEAD instead; - for standard input.", False),
            ("--reviewers", "integer", "N", "Equal reviewers instead of lenses; from 4 on with an estimate.", False),
            ("--fix", "flag", "--until CMD", "Repair what is confirmed, then review again.", False),
        ],
    ),
}


class RecipeParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a recipe, or an option or argument of a built-in one."""

    name: str
    type: str
    example: str
    """What a value looks like."""
    help: str = ""
    default: ParameterValue | None = None
    required: bool = False


class RecipeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A recipe in the list."""

    name: str
    origin: RecipeOrigin
    kind: SpecKind | None = None
    """None means that the file cannot be used."""
    description: str = ""
    parameters: list[RecipeParameter] = []
    path: str = ""
    """Empty for a built-in recipe."""
    problem: str = ""
    """Why it cannot be used."""
    text: str = ""
    """Content of the file."""


class Recipes:
    """The recipes that are available in one workspace."""

    def __init__(self, folder: str | None, workspace: Path, env: Mapping[str, str], *, trust: bool) -> None:
        """`folder`: the user's folder, if the config names one. `trust`: use the project's recipes for this call.

        Raises UserError for a folder that cannot be read.
        """
        self.folder = user_recipes(folder, env)
        self.notes: list[str] = []
        """Notes for the person, one line each."""
        own = _files_of(self.folder)
        project = self._project(workspace, env, trust=trust)
        self._files: list[tuple[str, RecipeOrigin, Path, bytes | None]] = []
        taken = {recipe.value for recipe in Recipe}
        self.hidden: list[tuple[RecipeOrigin, Path]] = []
        """Files whose name is that of a recipe that comes first."""
        places: list[tuple[RecipeOrigin, list[_File]]] = [("user", own), ("project", project)]
        for origin, files in places:
            for path, data in files:
                if path.stem in taken:
                    self.hidden.append((origin, path))
                    continue
                self._files.append((path.stem, origin, path, data))
            taken |= {path.stem for path, _ in files}

    def _project(self, workspace: Path, env: Mapping[str, str], *, trust: bool) -> list[_File]:
        content = Content(workspace)
        found: list[_File] = [
            (workspace / name, data)
            for name, data in sorted(content.files.items())
            if name.startswith(f"{PROJECT_RECIPES}/") and name.endswith(".toml")
        ]
        if found and not (trust or Trust(env=env).trusted(workspace, content)):
            self.notes.append(
                f"ignored {PROJECT_RECIPES}: this folder is not trusted yet "
                "(--trust: for this call, /trust: from now on)"
            )
            return []
        return found

    def names(self) -> list[str]:
        """Return the names of all recipes."""
        return [*(recipe.value for recipe in Recipe), *(name for name, *_ in self._files)]

    def entries(self) -> list[RecipeEntry]:
        """Return all recipes, also those that cannot be used."""
        return [*map(_built_in, Recipe), *(_entry(*one) for one in self._files)]

    def entry(self, name: str) -> RecipeEntry:
        """Return a recipe. Raises UserError for an unknown name."""
        found = next((one for one in self.entries() if one.name == name), None)
        if found is None:
            raise UserError(self.unknown(name))
        return found

    @staticmethod
    def of_path(path: Path) -> RecipeEntry:
        """Return what the list would say about any spec file."""
        return _entry(path.stem, "user", path, None)

    def file(self, name: str) -> tuple[Path, bytes | None, RecipeOrigin] | None:
        """Return path, content and origin of a recipe that is a file, or None if there is no such recipe."""
        return next(((path, data, origin) for own, origin, path, data in self._files if own == name), None)

    def unknown(self, name: str) -> str:
        """Return the message for an unknown name."""
        note = f" ({self.notes[0]})" if self.notes else ""
        return f"there is no recipe {name!r}: {did_you_mean(name, self.names())}{note}"


def is_name(word: str) -> bool:
    """Return whether a word can be the name of a recipe."""
    return _NAME.fullmatch(word) is not None


def user_recipes(folder: str | None, env: Mapping[str, str]) -> Path:
    """Return the folder of the user's own recipes. `folder`: the one that the config names."""
    return user_folder("config", env) / "recipes" if folder is None else Path(folder).expanduser()


def _files_of(folder: Path) -> list[_File]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml")[:_MOST]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}") from None
    found: list[_File] = []
    for path in paths:
        try:
            found.append((path, read_plain(path)))
        except OSError:
            found.append((path, None))  # the entry names the reason
    return found


def _built_in(recipe: Recipe) -> RecipeEntry:
    about = _BUILT_IN[recipe]
    return RecipeEntry(
        name=recipe.value,
        origin="built-in",
        kind="find",
        description=about.description,
        parameters=[
            RecipeParameter(name=name, type=kind, example=example, help=text, required=is_required)
            for name, kind, example, text, is_required in about.parameters
        ],
    )


def _entry(name: str, origin: RecipeOrigin, path: Path, data: bytes | None) -> RecipeEntry:
    """Return a recipe after a check with examples of its values."""
    try:
        spec = SpecText(path, data)
        with spec.located():
            if not is_name(name):
                raise UserError("its name must have small letters, digits, - and _ only: rename it")
            request = goal_of(spec, None, path.parent) if spec.kind == "goal" else search_of(spec, None, path.parent)
            if origin == "project":
                refuse_server(request.options)
    except UserError as error:
        return RecipeEntry(name=name, origin=origin, path=str(path), problem=str(error))
    about = spec.raw.get("description") or spec.raw["task"]
    return RecipeEntry(
        name=name,
        origin=origin,
        kind=spec.kind,
        description=" ".join(str(about).split()),
        parameters=_parameters(spec.parameters()),
        path=str(path),
        text=spec.text,
    )


def _parameters(declared: Mapping[str, ParameterTable]) -> list[RecipeParameter]:
    return [
        RecipeParameter(
            name=name,
            type=one.type,
            example=example_of(one),
            help=" ".join(one.help.split()),
            default=one.default,
            required=one.default is None,
        )
        for name, one in declared.items()
    ]
