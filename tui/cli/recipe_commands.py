"""The commands `rundry recipes` and `rundry schema`. Imports only click."""

from __future__ import annotations

from typing import cast

import click

from ..text.end_command import guarded
from .option_kinds import Words


def about_recipes(cli: click.Group) -> None:
    """Add these commands to the group."""
    for command in (recipes, schema):
        cli.add_command(command)


@click.command(short_help="List the recipes that can be run by name.")
@click.argument("words", nargs=-1, metavar="[show NAME]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--cwd", metavar="DIR", help="The workspace; default: here.")
@click.option("--trust", is_flag=True, help="Use this folder's .rundry/recipes for this call.")
def recipes(words: tuple[str, ...], as_json: bool, **flags: object) -> None:
    """List the recipes: name, kind, where from, what it does, and its parameters. `show NAME` prints one of them.

    Recipes are built in, or spec files: yours in the folder of recipes (`recipes` in your config), and those of a
    project in .rundry/recipes, once you trust it.

    \b
    rundry find NAME --set path=src
    rundry run NAME --set target=tests/test_x.py
    """  # noqa: D301 - click reads the escape
    if words and (words[0] != "show" or len(words) != 2):
        raise click.UsageError(f"recipes {' '.join(words)}: use `rundry recipes`, or `rundry recipes show NAME`")
    from .print_recipes import print_recipe, print_recipes

    if words:
        guarded(lambda: print_recipe(words[1], flags, as_json=as_json))
    guarded(lambda: print_recipes(flags, as_json=as_json))


@click.command(short_help="Print the JSON Schema of spec and config files.")
@click.argument("kind", type=Words(["find", "goal", "config", "project"]))
@click.pass_context
def schema(ctx: click.Context, kind: str) -> None:
    """Print the JSON Schema with which an editor checks and completes a file.

    find and goal are spec files of searches and of goal runs, config is your config.toml, project a .rundry.toml.
    """
    from .print_recipes import SCHEMA_KINDS, print_schema

    cli = cast("click.Group", ctx.find_root().command)
    guarded(lambda: print_schema(next(known for known in SCHEMA_KINDS if known == kind), cli))
