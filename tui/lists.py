"""What `rundry runs`, `models` and `doctor` print. No textual in here."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Mapping

import msgspec

from rundry.agent import Sandbox, Survey, UserError, discover, list_runs

from .start import NO_MODEL, Setup, folder_of
from .text import one_line


def print_runs(flags: Mapping[str, object], *, as_json: bool) -> int:
    """A run a line, the newest first."""
    found = list_runs(folder_of(flags))
    if as_json:
        _json(found)
        return 0
    if not found:
        print("no runs yet")
    for run in found:
        ended = run.outcome or run.state
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started))
        print(f"{run.run_id}  {started}  {run.loop:<9} {ended:<12} {run.steps:>4} steps  {one_line(run.task)[:60]}")
    return 0


def survey_lines(survey: Survey) -> list[str]:
    """What was looked for and what was found, a line each."""
    lines = [f"key      {name} is set" for name in survey.keys]
    for server in survey.servers:
        names = ", ".join(one_line(model.name) for model in server.models[:6]) or "no model"
        lines.append(f"server   {one_line(server.kind)} at {one_line(server.api_base)}: {names}")
    return lines


def print_models(flags: Mapping[str, object], *, as_json: bool) -> int:
    """What can be reached from here."""
    del flags
    survey = asyncio.run(discover(os.environ))
    if as_json:
        _json(survey)
        return 0
    for line in survey_lines(survey) or [NO_MODEL]:
        print(line)
    return 0


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
    print(f"sandbox    {sandbox.kind or 'none: commands run unsandboxed; install bubblewrap'}")
    for line in survey_lines(survey):
        print(line)
    print()
    for name, setting in setup.settings.items():
        print(f"{name:<12} {one_line(str(setting.value)):<24} {setting.origin}")
    for line in (*setup.notes, *missing):
        print(f"!  {line}")
    return 1 if missing else 0


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
