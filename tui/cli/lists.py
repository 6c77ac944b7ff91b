"""Print the results of `rundry runs`, `models` and `doctor`. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rundry.agent import (
    FREE,
    KeyMissing,
    ModelLine,
    as_tree,
    discover,
    held_words,
    list_runs,
    load_settings,
    newest_as_of_now,
    plural,
    short,
    title_of,
)

from ..start.machine_checkup import check_up
from ..start.new_run import Setup
from ..start.run_folders import folder_of, workspace_of
from ..start.survey import NO_MODEL, survey_lines
from ..text.json_out import print_json
from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line
from ..text.wrap_lines import terminal_width, wrapped
from .config import MISTAKES, setting_lines, settings_as_data

_LABEL = 11
"""Columns of the label at the start of a line of `rundry doctor`."""
_ABOUT = 60
"""Maximum number of characters of a task in the list of runs."""


def print_runs(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print one line for each run, the newest first. Return 0."""
    found = list_runs(folder_of(flags))
    if flags.get("cwd"):
        here = str(workspace_of(flags))
        found = [run for run in found if run.workspace == here]
    found = newest_as_of_now(found)
    if as_json:
        print_json(found)
        return 0
    if not found:
        _say("no runs yet")
    for depth, run in as_tree(found):
        ended = "void" if run.is_void else "ended" if run.is_ended_chat else run.reason or run.state
        grade = "" if run.grade in ("", "none") else run.grade.replace("_", " ")
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started))
        fork = f"fork of {run.forked_from}  " if run.forked_from else ""
        verified = f"{run.verified.value} in a clean checkout  " if run.verified is not None else ""
        tries = f"{plural(run.restarts + 1, 'try')}  " if run.restarts else ""
        branch = f"{'   ' * (depth - 1)}└─ " if depth else ""
        held = f"{held_words(run.held)}  " if run.held.cut_calls else ""
        staged = f"{plural(run.staged, 'file')} staged  " if run.staged else ""
        void = f"{run.why_void}  " if run.is_void else ""
        facts = void + staged + verified + held + tries + fork
        about = cells_cut(branch + one_line(run.error or facts + title_of(run.task)), _ABOUT)
        _say(f"{run.run_id}  {started}  {run.loop:<9} {ended:<12} {grade:<8} {plural(run.steps, 'step'):>9}  {about}")
    return 0


def _say(line: str = "", hang: int = 0) -> None:
    """Print a line. Names of models, servers and folders, and values of a project's config, are foreign text.

    `hang`: on a terminal, blanks before the rest of a line that is wider than it.
    """
    for row in wrapped(one_line(line), terminal_width() if hang else None, hang):
        print(row)


def print_models(flags: Mapping[str, object], *, as_json: bool, whole: bool = False) -> int:
    """Print the models that can be reached; `whole`: also what each other provider needs. Return the exit code."""
    given = load_settings({"api_base": flags.get("api_base")}, cwd=Path("/"), env={}, trust=False)
    asked = given.get("api_base", str) if given.is_set("api_base") else None
    survey = asyncio.run(discover(os.environ, addresses=[asked] if asked else None))
    if as_json:
        print_json(survey)
        return 0
    for key in survey.keys:
        _say(f"{key.provider}  (key from {key.variable})")
        _print_models(key.models)
    for server in survey.servers:
        _say(f"{one_line(server.kind)}  {one_line(server.api_base)}")
        _print_models(server.models)
    if not (survey.keys or survey.servers):
        for line in (*survey_lines(survey), NO_MODEL):
            _say(line, hang=_LABEL)
    _print_missing(survey.missing, whole=whole)
    return 0


def _print_missing(missing: Sequence[KeyMissing], *, whole: bool) -> None:
    if not missing:
        return
    if not whole:
        _say(f"{len(missing)} more providers need a key: rundry models --all lists them")
        return
    for about, direct in (("need a key", True), ("need a key and go through litellm", False)):
        rows = [row for row in missing if row.direct is direct]
        if rows:
            _say(f"{len(rows)} providers {about}")
        for row in rows:
            _say(f"  {row.provider:<26} {', and '.join(' or '.join(group) for group in row.needs)}")


def _print_models(models: Sequence[ModelLine]) -> None:
    for model in models:
        context = f"{short(model.context)} tokens" if model.context else "?"
        price = model.price
        cost = "price unknown" if price is None else f"{price.input * 1e6:.2f}/{price.output * 1e6:.2f} USD per million"
        _say(f"  {one_line(model.name):<56} {context:>12}   {'free' if price == FREE else cost}")


def print_doctor(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print what is set up, the origin of each value, what is missing and how to fix it.

    Return 2 if the config, a key or a theme has a mistake, else 1 if something is missing, else 0.
    """
    setup = Setup(flags, headless=False)
    found = asyncio.run(check_up(setup))
    code = MISTAKES if found.mistakes else 1 if found.missing else 0
    if as_json:
        print_json(
            {
                "settings": settings_as_data(setup.settings),
                "notes": setup.notes,
                "sandbox": found.sandbox.kind,
                "network": found.sandbox.network,
                "not_held": found.sandbox.not_held,
                "layers": found.layers,
                "left": [*found.left],
                "left_layers": found.left_layers,
                "copies": found.copies,
                "kept": found.kept,
                "variables_left_out": found.unseen,
                "survey": found.survey,
                "missing": [*found.missing, *found.mistakes],
                **found.surroundings.as_data(),
            }
        )
        return code
    for line in found.lines:
        _say(line, hang=_LABEL)
    _say()
    for line in setting_lines(setup.settings):
        _say(line)
    for line in found.problems:
        _say(f"!  {line}", hang=3)
    return code
