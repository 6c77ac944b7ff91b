"""Print recipes and the schema of spec files. Does not import textual."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from rundry.agent import Recipe, RecipeEntry, RecipeParameter, UserError, config_schema, spec_schema

from ..start.find_recipe import recipes_of
from ..text.json_out import print_json
from ..text.show_text import one_line, show
from .option_meanings import option_meanings

if TYPE_CHECKING:
    import click

SchemaKind = Literal["find", "goal", "config", "project"]
SCHEMA_KINDS: tuple[SchemaKind, ...] = get_args(SchemaKind)
_ORIGINS = {"user": "yours", "project": "project", "built-in": "built-in"}


def print_recipes(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print all recipes. Return 0. Raises RundryError."""
    found = recipes_of(flags)
    entries = found.entries()
    hidden = [f"ignored {path}: another recipe has this name" for _, path in found.hidden]
    notes = [*found.notes, *hidden]
    if as_json:
        print_json({"folder": str(found.folder), "recipes": entries, "notes": notes})
        return 0
    width = max(len(one.name) for one in entries)
    for one in entries:
        _say(f"{one.name:<{width}}  {one.kind or '-':<4}  {_ORIGINS[one.origin]:<8}  {one.description or one.problem}")
        if one.parameters:
            _say(f"{'':<{width}}  {'  '.join(_short(parameter) for parameter in one.parameters)}")
    for note in notes:
        _say(f"!  {note}")
    _say(f"your recipes: {found.folder}")
    return 0


def print_recipe(name: str, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print one recipe. Return 0. Raises RundryError, also for a recipe that cannot be used."""
    one = recipes_of(flags).entry(name)
    if one.problem:
        raise UserError(one.problem)
    if as_json:
        print_json(one)
        return 0
    for line in _lines(one):
        _say(line)
    if one.text:
        print(f"\n{show(one.text)}", end="" if one.text.endswith("\n") else "\n")
    return 0


def print_schema(kind: SchemaKind, cli: click.Group) -> int:
    """Print the schema of a kind of file. Return 0. `cli`: has the help of the options."""
    print(show(json.dumps(schema_of_kind(kind, cli), indent=2)))
    return 0


def schema_of_kind(kind: SchemaKind, cli: click.Group) -> Mapping[str, object]:
    """Return the schema of a kind of spec file, or of the config of the user or of a project."""
    return spec_schema(kind) if kind in ("find", "goal") else config_schema(kind, option_meanings(cli))


def _lines(one: RecipeEntry) -> Iterator[str]:
    yield f"{one.name}: {one.description}"
    yield f"kind        {'search' if one.kind == 'find' else 'goal run'}"
    yield f"from        {one.path or 'built in'}"
    for number, parameter in enumerate(one.parameters):
        needed = "required" if parameter.required else "optional" if parameter.default is None else "default "
        default = "" if parameter.default is None else json.dumps(parameter.default)
        about = f"{parameter.name} ({parameter.type}, {needed}{default})  {parameter.help}".rstrip()
        yield f"{'parameters' if not number else '':<11} {about}"
    yield f"run it      {_command(one)}"


def _command(one: RecipeEntry) -> str:
    verb = "find" if one.kind == "find" else "run"
    if one.name == Recipe.REVIEW and one.origin == "built-in":
        return "rundry review"
    if one.origin == "built-in":
        words = [f"{each.name} {each.example}" if each.name.startswith("-") else each.example for each in _needed(one)]
    else:
        words = [f"--set {each.name}={shlex.quote(each.example)}" for each in _needed(one)]
    return " ".join([f"rundry {verb} {one.name}", *words])


def _needed(one: RecipeEntry) -> list[RecipeParameter]:
    return [parameter for parameter in one.parameters if parameter.required]


def _short(parameter: RecipeParameter) -> str:
    """Return `--set path=PATH`, in brackets if it is optional; an option or argument of a built-in one as it is."""
    if parameter.name.startswith("-"):
        text = f"{parameter.name} {parameter.example}"
    elif parameter.name.isupper():
        text = parameter.name
    else:
        text = f"--set {parameter.name}={parameter.example}"
    return text if parameter.required else f"[{text}]"


def _say(line: str) -> None:
    """Print a line. Names, descriptions and paths are foreign text."""
    print(one_line(line))
