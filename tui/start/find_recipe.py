"""Find the spec file or the recipe that a command line names, and make a goal run from one. Does not import textual."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from rundry.agent import (
    FileTrust,
    GoalRequest,
    ModelSpec,
    Recipes,
    RunSpec,
    SearchRequest,
    Settings,
    UserError,
    file_trust,
    given_values,
    is_name,
    load_settings,
    read_finder,
    read_goal,
    read_spec,
)

from .new_run import Setup
from .run_folders import workspace_of

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
    path, data, of_project, trust = _file(word, flags)
    wanted = read_finder(path, given, workspace=workspace, data=data, of_project=of_project, word=word, trust=trust)
    return msgspec.structs.replace(wanted, is_own=trust.is_own)


def goal_of_word(words: Sequence[str], flags: Mapping[str, object], *, by_name: bool) -> GoalRequest | None:
    """Return the goal run of a spec file or a recipe, or None if the words are a task. Raises UserError.

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
    path, data, of_project, trust = _file(word, flags)
    wanted = read_goal(path, given, workspace=workspace, data=data, of_project=of_project, word=word, trust=trust)
    return msgspec.structs.replace(wanted, is_own=trust.is_own)


def is_spec(word: str, flags: Mapping[str, object]) -> bool:
    """Return whether the word names a spec file or a recipe from a file. Raises UserError."""
    return word.endswith(_ENDING) or (is_name(word) and _is_recipe(word, flags))


def _is_recipe(word: str, flags: Mapping[str, object]) -> bool:
    return recipes_of(flags).file(word) is not None


def _file(word: str, flags: Mapping[str, object]) -> tuple[Path, bytes | None, bool, FileTrust]:
    """Return path, content, whether it is a recipe of a project, and the trust in it, or None if it cannot be read."""
    if is_name(word):
        recipes = recipes_of(flags)
        if (found := recipes.file(word)) is not None:  # a project's recipes are listed only if they are trusted
            path, data, origin = found
            return path, data, origin == "project", FileTrust(is_own=origin == "user", is_trusted=True)
        if flags.get("set_") or not Path(word).exists():
            raise UserError(recipes.unknown(word))
    path = Path(word)
    try:
        data = read_spec(path)
    except OSError:
        return path, None, False, FileTrust(is_own=False, is_trusted=False)  # the reader says why
    return path, data, False, file_trust(path, data, os.environ, trust=bool(flags.get("trust")))


def without_key(settings: Settings, wanted: GoalRequest | SearchRequest, flags: Mapping[str, object]) -> Settings:
    """Return the settings; a server that a file named which is not the user's own gets no key (11.4)."""
    is_of_file = "api_base" in wanted.options and flags.get("api_base") == wanted.options["api_base"]
    return settings.with_server_of_file() if is_of_file and not wanted.is_own else settings


class GoalSetup(Setup):
    """The options of a goal run that a spec file describes."""

    def __init__(
        self, wanted: GoalRequest, flags: Mapping[str, object], *, headless: bool, prints_answer: bool
    ) -> None:
        """Combine the flags with the file. A flag takes precedence. Raises UserError."""
        if flags.get("plan"):
            raise UserError("--plan: a spec file says what decides; leave --plan out, or type the task")
        self.wanted = wanted
        self._gate_is_flag = flags.get("gate") is not None
        given = {name: value for name, value in flags.items() if value not in (None, False, ())}
        super().__init__({**wanted.options, **given}, headless=headless, prints_answer=prints_answer)

    def _load(self) -> Settings:
        return without_key(super()._load(), self.wanted, self._flags)

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        """Return the spec. Only a flag of the command line allows commands without a sandbox, not a file."""
        spec = super()._spec(task, model)
        gate = spec.gate if self._gate_is_flag else msgspec.structs.replace(spec.gate, unsandboxed_ok=False)
        return msgspec.structs.replace(spec, gate=gate, tools=self.wanted.tools, file=self.wanted.source)
