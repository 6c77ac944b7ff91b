"""What `rundry runs`, `models` and `doctor` print. No textual in here."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from rundry.agent import FREE, ModelLine, Sandbox, Survey, UserError, discover, list_runs

from .reducer.numbers import clock, plural, short
from .start import NO_MODEL, Setup, folder_of, workspace_of
from .text import one_line


def print_runs(flags: Mapping[str, object], *, as_json: bool) -> int:
    """A run a line, the newest first."""
    found = list_runs(folder_of(flags))
    if flags.get("cwd"):
        here = str(workspace_of(flags))
        found = [run for run in found if run.workspace == here]
    if as_json:
        _json(found)
        return 0
    if not found:
        print("no runs yet")
    for run in found:
        ended = run.reason or run.state
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started))
        about = one_line(run.error or run.task)[:60]
        print(f"{run.run_id}  {started}  {run.loop:<9} {ended:<12} {plural(run.steps, 'step'):>9}  {about}")
    return 0


def survey_lines(survey: Survey) -> list[str]:
    """What was looked for and what was found, a line each."""
    lines = [f"key      {key.variable} is set ({key.provider})" for key in survey.keys]
    for server in survey.servers:
        names = ", ".join(one_line(model.name) for model in server.models[:6]) or "no model"
        lines.append(f"server   {one_line(server.kind)} at {one_line(server.api_base)}: {names}")
    if not survey.keys:
        lines.append(f"no key   {_few(survey.variables_asked)}")
    if not survey.servers:
        lines.append(f"no server   {_few(survey.addresses_asked)}")
    return lines


def print_models(flags: Mapping[str, object], *, as_json: bool) -> int:
    """What can be reached from here."""
    asked = flags.get("api_base")
    survey = asyncio.run(discover(os.environ, addresses=[str(asked)] if asked else None))
    if as_json:
        _json(survey)
        return 0
    for key in survey.keys:
        print(f"{key.provider}  (key from {key.variable})")
        _print_models(key.models)
    for server in survey.servers:
        print(f"{one_line(server.kind)}  {one_line(server.api_base)}")
        _print_models(server.models)
    if not (survey.keys or survey.servers):
        for line in (*survey_lines(survey), NO_MODEL):
            print(line)
    return 0


def _print_models(models: Sequence[ModelLine]) -> None:
    for model in models:
        context = f"{short(model.context)} tokens" if model.context else "?"
        price = model.price
        cost = "price unknown" if price is None else f"{price.input * 1e6:.2f}/{price.output * 1e6:.2f} USD per million"
        print(f"  {one_line(model.name):<56} {context:>12}   {'free' if price == FREE else cost}")


def _few(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def print_doctor(flags: Mapping[str, object], *, as_json: bool) -> int:
    """What is set up, where each value came from, what is missing, what to do. 1 where something is missing."""
    setup = Setup(flags, headless=False)
    survey = asyncio.run(discover(os.environ))
    sandbox = asyncio.run(Sandbox.detect())
    missing = _missing(setup)
    if as_json:
        _json(
            {
                "settings": {name: {"value": s.value, "origin": s.origin} for name, s in setup.settings.items()},
                "notes": setup.notes,
                "sandbox": sandbox.kind,
                "survey": survey,
                "missing": missing,
            }
        )
        return 1 if missing else 0
    print(f"folder     {setup.workspace}")
    print(f"journals   {setup.folder}")
    print(f"sandbox    {sandbox.kind or sandbox.why_none}")
    for line in survey_lines(survey):
        print(line)
    print()
    for name, setting in setup.settings.items():
        print(f"{name:<14} {_shown(name, setting.value):<24} {setting.origin}")
    for line in (*setup.notes, *missing):
        print(f"!  {line}")
    return 1 if missing else 0


def _shown(name: str, value: object) -> str:
    """As it would be written on the command line."""
    if value is None or value in ([], {}):
        return "-"
    if name in ("time", "check_timeout") and isinstance(value, float):
        return clock(value)
    if isinstance(value, list):
        return one_line(", ".join(map(str, cast("list[object]", value))))
    return one_line(str(value))


def _missing(setup: Setup) -> list[str]:
    missing: list[str] = []
    if setup.model is None:
        missing.append(NO_MODEL)
    if shutil.which("git") is None:
        missing.append("git is not installed: what commands change cannot be undone")
    return missing


def _json(value: object) -> None:
    try:
        data = msgspec.json.encode(value)
    except TypeError as error:
        raise UserError(f"cannot be written as JSON: {error}") from None
    sys.stdout.buffer.write(data + b"\n")
