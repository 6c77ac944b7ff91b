"""Find the spec file or the recipe that a command line names, and make a goal run from one. Does not import textual."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from rundry.agent import (
    GoalRequest,
    ModelSpec,
    Recipes,
    RunSpec,
    SearchRequest,
    UserError,
    given_values,
    is_name,
    load_settings,
    read_finder,
    read_goal,
)

from .folders import workspace_of
from .start import Setup

_ENDING = ".toml"


def recipes_of(flags: Mapping[str, object]) -> Recipes:
    """Return the recipes that are available in the workspace. Raises UserError."""
    settings = load_settings({}, cwd=Path("/"), env=os.environ, trust=False)
    folder = settings.get("recipes", str)
    return Recipes(folder, workspace_of(flags), os.environ, trust=bool(flags.get("trust")))


def set_values(flags: Mapping[str, object]) -> dict[str, str]:
    """Return the values of `--set` by the name of the parameter. Raises UserError."""
    return given_values([str(pair) for pair in cast("Sequence[object]", flags.get("set_") or ())])


def search_of_word(word: str, flags: Mapping[str, object]) -> SearchRequest:
    """Return the search of a spec file or a recipe. Raises UserError."""
    given, workspace = set_values(flags), workspace_of(flags)
    path, data, origin = _file(word, flags)
    return read_finder(path, given, workspace=workspace, data=data, of_project=origin == "project", word=word)


def goal_of_word(words: Sequence[str], flags: Mapping[str, object], *, by_name: bool) -> GoalRequest | None:
    """Return the goal run of a spec file or a recipe; None: the words are a task. Raises UserError.

    `by_name`: a single word that names a recipe is one, also without `--set`.
    """
    word = words[0] if len(words) == 1 else ""
    is_file = word.endswith(_ENDING) and not any(map(str.isspace, word))
    if flags.get("set_"):
        if not (is_file or is_name(word)):
            raise UserError("--set fills the parameters of a spec file or a recipe: name one, rundry run FILE.toml")
    elif not is_file and not (by_name and is_name(word) and _is_recipe(word, flags)):
        return None
    given, workspace = set_values(flags), workspace_of(flags)
    path, data, origin = _file(word, flags)
    return read_goal(path, given, workspace=workspace, data=data, of_project=origin == "project", word=word)


def is_spec(word: str, flags: Mapping[str, object]) -> bool:
    """Return whether the word names a spec file or a recipe from a file. Raises UserError."""
    return word.endswith(_ENDING) or (is_name(word) and _is_recipe(word, flags))


def _is_recipe(word: str, flags: Mapping[str, object]) -> bool:
    return recipes_of(flags).file(word) is not None


def _file(word: str, flags: Mapping[str, object]) -> tuple[Path, bytes | None, str]:
    """Return the path, the content if it was read already, and the origin: `user`, `project` or nothing."""
    if not is_name(word):
        return Path(word), None, ""
    recipes = recipes_of(flags)
    if (found := recipes.file(word)) is not None:
        return found
    if flags.get("set_") or not Path(word).exists():
        raise UserError(recipes.unknown(word))
    return Path(word), None, ""


class GoalSetup(Setup):
    """The options of a goal run that a spec file describes."""

    def __init__(
        self, wanted: GoalRequest, flags: Mapping[str, object], *, headless: bool, prints_answer: bool
    ) -> None:
        """Combine the flags with the file. A flag takes precedence. Raises UserError."""
        self.wanted = wanted
        self._gate_is_flag = flags.get("gate") is not None
        given = {name: value for name, value in flags.items() if value not in (None, False, ())}
        super().__init__({**wanted.options, **given}, headless=headless, prints_answer=prints_answer)

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        """Return the spec. Only a flag of the command line allows commands without a sandbox, not a file."""
        spec = super()._spec(task, model)
        gate = spec.gate if self._gate_is_flag else msgspec.structs.replace(spec.gate, unsandboxed_ok=False)
        return msgspec.structs.replace(spec, gate=gate, tools=self.wanted.tools, file=self.wanted.source)
