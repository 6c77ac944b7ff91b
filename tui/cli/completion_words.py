"""The words that each option and argument offers: runs with their task, models, commands, files, fixed values."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem, split_arg_string

from rundry.agent import (
    DIAGNOSTICS,
    EDIT_FORMATS,
    EFFORTS,
    Better,
    GateMode,
    LoopKind,
    RundryError,
    RunLine,
    Verify,
    discover,
    list_runs,
    load_settings,
    title_of,
)

from ..start.find_recipe import recipes_of
from ..start.run_folders import folder_of
from ..text.show_text import one_line
from .help_texts import BARE
from .verbs import VERBS

Words = Callable[[click.Context, str], Sequence[CompletionItem[str]]]

_MOST_RUNS = 50
_ABOUT = 60
"""Number of characters of a task."""
_PATIENCE = 3.0
"""Seconds for which model servers are waited for."""


class _Offered(click.ParamType[str]):
    """A type whose only use is to offer words."""

    name = "offered"

    def __init__(self, words: Words) -> None:
        self._words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Return the words that fit. A config or a folder that cannot be read offers none."""
        del param
        try:
            found = self._words(ctx, incomplete)
        except (RundryError, OSError):
            return []
        return [item for item in found if item.type != "plain" or item.value.startswith(incomplete)]


def offer_words(cli: click.Group) -> None:
    """Give each parameter of each command the words that belong to its name."""
    for command in cli.commands.values():
        for param in command.params:
            words = _OF_COMMAND.get((command.name or "", param.name or "")) or _OF_NAME.get(param.name or "")
            if words is not None:
                param.type = _Offered(words)


def _recipes(flags: Mapping[str, object], *kinds: str) -> Sequence[CompletionItem[str]]:
    found = recipes_of(flags).entries()
    return [CompletionItem(one.name, help=one_line(one.description)[:_ABOUT]) for one in found if one.kind in kinds]


def _of_find(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    """Return the recipes, or files if no recipe fits."""
    found = () if ctx.params.get("words") else _recipes(ctx.params, "find")
    fitting = [item for item in found if item.value.startswith(incomplete)]
    return fitting or _files(ctx, incomplete)


def _of_recipes(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    del incomplete
    return _recipes(ctx.params, "find", "goal") if ctx.params.get("words") else [CompletionItem("show")]


def _values(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    """Return `NAME=` for each parameter of the recipe or file, and the values of a choice.

    click does not parse the arguments in front of an option that has no value yet.
    """
    del incomplete
    recipes = recipes_of(ctx.params)
    known = {one.name: one for one in recipes.entries() if one.origin != "built-in"}
    line = split_arg_string(os.environ.get("RUNDRY_LINE") or os.environ.get("COMP_WORDS", ""))
    named = [known.get(word) or (recipes.of_path(Path(word)) if word.endswith(".toml") else None) for word in line]
    entry = next((one for one in named if one is not None), None)
    found: list[CompletionItem[str]] = []
    for one in entry.parameters if entry is not None else ():
        values = one.example.split("|") if one.type in ("choice", "boolean") else [""]
        found += [CompletionItem(f"{one.name}={value}", help=one_line(one.help)[:_ABOUT]) for value in values]
    return found


def _fixed(values: Iterable[object]) -> Words:
    items = [CompletionItem(str(value)) for value in values]
    return lambda ctx, incomplete: items


def _files(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    del ctx
    return [CompletionItem(incomplete, type="file")]


def _folders(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    del ctx
    return [CompletionItem(incomplete, type="dir")]


def _lines(ctx: click.Context) -> list[RunLine]:
    return [line for line in list_runs(folder_of(ctx.params)) if not line.is_unreadable][:_MOST_RUNS]


def _runs(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    del incomplete
    return [_item(line) for line in _lines(ctx)]


def _item(line: RunLine) -> CompletionItem[str]:
    return CompletionItem(line.run_id, help=one_line(f"{line.reason or line.state}: {title_of(line.task)}")[:_ABOUT])


def _commands(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    del incomplete
    group = ctx.find_root().command
    assert isinstance(group, click.Group)  # the program is one
    return [
        CompletionItem(name, help=command.get_short_help_str(_ABOUT))
        for name, command in group.commands.items()
        if not command.hidden
    ]


def _task(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    """Return the commands while the cursor is before the task, where a command is possible; else recipes."""
    if ctx.params.get("task"):
        return []
    return _commands(ctx, incomplete) if ctx.meta.get(BARE) else _recipes(ctx.params, "goal")


def _of_help(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    return [] if ctx.params.get("words") else _commands(ctx, incomplete)


def _of_ctl(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    del incomplete
    given: Sequence[str] = ctx.params.get("words") or ()
    if given and (given[0] in VERBS or len(given) > 1):
        return []
    verbs = [CompletionItem(name, help=verb.about) for name, verb in VERBS.items()]
    return verbs if given else [*verbs, *(_item(line) for line in _lines(ctx) if line.reason is None)]


def _models(ctx: click.Context, incomplete: str) -> Sequence[CompletionItem[str]]:
    """Return the model of the config, those of earlier runs, and those that answer now."""
    del incomplete
    found = {line.model: "of an earlier run" for line in _lines(ctx) if line.model not in ("", "none")}
    settings = load_settings({"api_base": ctx.params.get("api_base")}, cwd=Path("/"), env=os.environ, trust=False)
    if settings.is_set("model"):
        found[settings.need("model", str)] = "of the config"
    given = settings.get("api_base", str)
    try:
        survey = asyncio.run(asyncio.wait_for(discover(os.environ, addresses=[given] if given else None), _PATIENCE))
    except TimeoutError:
        return [CompletionItem(name, help=about) for name, about in found.items()]
    for key in survey.keys:
        found |= {model.name: key.provider for model in key.models}
    for server in survey.servers:
        found |= {model.name: f"{server.kind} {server.api_base}" for model in server.models}
    return [CompletionItem(name, help=one_line(about)) for name, about in found.items()]


_OF_NAME: Mapping[str, Words] = {
    "run_": _runs,
    "model": _models,
    "escalate": _models,
    "loop": _fixed(kind for kind in LoopKind if kind.traits.is_chosen),
    "gate": _fixed(GateMode),
    "verify": _fixed(Verify),
    "diagnostics": _fixed(DIAGNOSTICS),
    "goal": _fixed(Better),
    "effort": _fixed(EFFORTS),
    "edit_format": _fixed(EDIT_FORMATS),
    "on_ask": _fixed(("refuse", "handoff")),
    "on_stall": _fixed(("handoff", "stop")),
    "set_": _values,
    "recipe": _fixed(("crawl", "migrate", "research")),
    "cwd": _folders,
    "runs_dir": _folders,
    "schema": _files,
    "until_file": _files,
    "until_py": _files,
    "output": _files,
    "target": _files,
}
"""The words for a parameter, by its name."""
_OF_COMMAND: Mapping[tuple[str, str], Words] = {
    ("run", "task"): _task,
    ("find", "words"): _of_find,
    ("recipes", "words"): _of_recipes,
    ("key", "text"): _files,
    ("ctl", "words"): _of_ctl,
    ("help", "words"): _of_help,
    ("config", "what"): _fixed(("keys",)),
    ("demo", "kind"): _fixed(("goal",)),
    ("verify", "command"): _fixed(()),
}
"""The words for a parameter, by the command and the name of the parameter."""
