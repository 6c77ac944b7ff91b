"""Make the run that a client asks for, with the limits of the command line."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rundry.agent import (
    GateMode,
    LimitValue,
    ModelSpec,
    RunSpec,
    Sandbox,
    UserError,
    ViewState,
    find_model,
    refuse_missing_key,
)

from ..start.new_run import Setup
from .allowed_runs import LIMITED, Allowed
from .mcp_access import allowed_folder
from .mcp_text import given

if TYPE_CHECKING:
    from .mcp_arguments import ResumeRun, StartRun

_TO_ASK = "handoff"
"""Without anybody to ask, a proposal stays open and the run is handed over."""


def require_usable(allowed: Allowed) -> None:
    """Raise RundryError for an option or a config with which no run could start in one of the allowed folders.

    The model is checked only if the command line names it: clients can also use the server without one, to read runs.
    """
    for folder in allowed.folders:
        setup = Setup({**allowed.flags, "cwd": str(folder), "loop": "goal"}, headless=True)
        if setup.folder.exists() and not setup.folder.is_dir():
            raise UserError(f"--runs-dir {setup.folder}: it is not a folder, so name another one")
        if allowed.flags.get("model") is not None and setup.model is not None:
            _require_possible(setup.model)


def _require_possible(model: ModelSpec) -> None:
    """Raise RundryError for a model whose provider is unknown or whose key is missing. Does not connect to it."""
    refuse_missing_key(model, os.environ)
    asyncio.run(find_model(model))


async def spec_for(allowed: Allowed, asked: StartRun, by: str) -> tuple[RunSpec, list[str]]:
    """Return the run that a client asks for and its notes. `by`: the client. Raises UserError.

    The client chooses neither the model, the rules, trust, the sandbox nor the guard: these come from the command line
    and the config, as in a terminal.
    """
    task = given(asked.task)
    if not task:
        raise UserError("the task is empty: say what the run has to do")
    checks = [given(command) for command in asked.until]
    if not all(checks):
        raise UserError("a check is empty: leave it out, or write a command line")
    unlisted = [command for command in checks if command not in allowed.checks]
    if unlisted and not allowed.any_check:
        listed = f"the checks that it lists ({'; '.join(allowed.checks)})" if allowed.checks else "none"
        raise UserError(
            f"the check {unlisted[0][:100]!r} would run a command without approval, and this server allows {listed}: "
            "the user has to start it with --until CMD or --allow-checks"
        )
    folder = allowed_folder(allowed, asked.folder)
    setup = Setup(_flags(allowed, asked, folder, checks), headless=True)
    if not allowed.covers(setup.workspace):  # it became a link meanwhile
        raise UserError(f"{setup.workspace} is not below a folder that this server allows")
    if unlisted:
        await _require_sandbox(setup)
    spec = setup.spec(task)
    gate = msgspec.structs.replace(spec.gate, unsandboxed_ok=False)
    spec = msgspec.structs.replace(
        spec,
        started_by=by,
        gate=gate,
        budget=allowed.bounded(spec.budget),
        usd_asked=asked.usd is not None or allowed.usd_asked,
    )
    return spec, [*setup.notes, f"started by {by} through rundry mcp"]


def limits_of(allowed: Allowed, asked: ResumeRun) -> dict[str, LimitValue]:
    """Return the new limits of a resumed run. Raises UserError for one above those of the command line."""
    minutes = None if asked.minutes is None else asked.minutes * 60
    named = {"steps": asked.steps, "tokens": asked.tokens, "usd": asked.usd, "seconds": minutes}
    for name, value in named.items():
        most = getattr(allowed.most, name)
        if value is not None and most is not None and value > most:
            raise UserError(f"a limit of {value:g} {name} is above the {most:g} that this server allows")
    return {name: value for name, value in named.items() if value is not None}


def require_limits(allowed: Allowed, state: ViewState, changed: Mapping[str, LimitValue]) -> None:
    """Raise UserError if a run would continue with limits above those of the command line."""
    for name in LIMITED:
        limit, most = changed.get(name, getattr(state.budget, name, None)), getattr(allowed.most, name)
        if most is None or (name == "usd" and not state.priced):
            continue
        if not isinstance(limit, (int, float)) or limit > most:
            shown = "no limit" if limit is None else f"a limit of {limit}"
            raise UserError(f"{state.run_id} has {shown} of {name}, above the {most:g} that this server allows")


def _flags(allowed: Allowed, asked: StartRun, folder: Path, checks: list[str]) -> dict[str, object]:
    flags: dict[str, object] = {
        **allowed.flags,
        "cwd": str(folder),
        "loop": "goal",
        "until": tuple(checks or allowed.checks),
        "on_ask": _TO_ASK,
        "gate": _gate(allowed, asked, folder).value,
    }
    limits: dict[str, object] = {"steps": asked.steps, "tokens": asked.tokens, "usd": asked.usd}
    if asked.minutes is not None:
        limits["time"] = f"{max(1, round(asked.minutes * 60))}s"
    return flags | {name: str(value) for name, value in limits.items() if value is not None}


def _gate(allowed: Allowed, asked: StartRun, folder: Path) -> GateMode:
    """Return the mode of the gate: as asked, else that of the config as far as the command line allows it."""
    if asked.gate is None:
        settings = Setup({**allowed.flags, "cwd": str(folder), "loop": "goal"}, headless=True).settings
        return allowed.narrower(settings.get("gate", GateMode) or GateMode.ASK)
    mode = GateMode(asked.gate)
    if allowed.is_too_wide(mode):
        how = "--allow-auto" if mode is GateMode.AUTO else f"--gate {mode.value}"
        raise UserError(f"gate {mode.value} is not allowed here: the user has to start the server with {how}")
    return mode


async def _require_sandbox(setup: Setup) -> None:
    """Raise UserError if a check would run without a sandbox: nobody approves a check before it runs."""
    hosts = setup.settings.texts("sandbox_host")
    sandbox = await Sandbox.detect(
        network=bool(setup.settings["network"].value), hosts=hosts, workspace=setup.workspace
    )
    if sandbox.kind is None:
        raise UserError(
            f"no sandbox works here ({sandbox.why_none}), so a check of a client would run unconfined: leave `until` "
            "out, or start the server with --until CMD"
        )
