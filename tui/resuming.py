"""Which run, and what is different when it goes on. No textual in here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rundry.agent import Budget, GateMode, ResumeChanges, UserError, find_run, list_runs

from .start import Setup, folder_of, workspace_of

_LIMITS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}


def find(ref: str | None, flags: Mapping[str, object]) -> Path:
    """The journal that `ref` names; without it this workspace's newest unfinished run. Raises UserError."""
    return find_run(ref, folder_of(flags), workspace_of(flags))


def find_any(ref: str | None, flags: Mapping[str, object]) -> Path:
    """The same, but without `ref` the newest run, ended or not. Raises UserError."""
    if ref is not None:
        return find(ref, flags)
    folder, workspace = folder_of(flags), str(workspace_of(flags))
    for line in list_runs(folder):
        if line.workspace == workspace:
            return Path(line.path)
    raise UserError(f"no run of {workspace} in {folder}: `rundry runs` lists all runs")


def changes_from(flags: Mapping[str, object], hint: str | None) -> ResumeChanges:
    """The options that were given besides, as changes. Raises UserError."""
    setup = Setup(flags, headless=False)
    asked = {name for name, setting in setup.settings.items() if setting.origin == "flag"}
    budget = setup.preview().budget or Budget()
    limits: dict[str, float | None] = {
        field: getattr(budget, field) for name, field in _LIMITS.items() if name in asked
    }
    mode = setup.settings.get("gate", GateMode) if "gate" in asked else None
    return ResumeChanges(
        limits=limits,
        model=setup.model if "model" in asked else None,
        gate=mode,
        unsandboxed_ok=mode is GateMode.AUTO,
        on_stall=setup.settings.get("on_stall", str) if "on_stall" in asked else None,
        hint=hint,
    )
