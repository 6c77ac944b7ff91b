"""Which run, and what is different when it goes on. No textual in here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from rundry.agent import Budget, GateMode, ResumeChanges, find_run

from .start import Setup, folder_of, given, workspace_of

_LIMITS = {"steps": "steps", "tokens": "tokens", "usd": "usd", "time": "seconds", "deadline": "deadline"}


def find(ref: str | None, flags: Mapping[str, object], *, ended: bool = False) -> Path:
    """The journal that `ref` names; without it this workspace's newest, unfinished ones first. Raises UserError."""
    folder, workspace = folder_of(flags), workspace_of(flags)
    del ended
    return find_run(ref, folder, workspace)


def changes_from(flags: Mapping[str, object], hint: str | None) -> ResumeChanges:
    """The options that were given besides, as changes. Raises UserError."""
    asked = given(flags)
    setup = Setup({**flags, "continue_": None}, headless=False)
    spec = setup.preview()
    limits = {_LIMITS[name]: _limit(spec.budget, _LIMITS[name]) for name in asked if name in _LIMITS}
    return ResumeChanges(
        limits=limits,
        model=setup.model if "model" in asked else None,
        gate=spec.gate_mode if "gate" in asked else None,
        unsandboxed_ok=asked.get("gate") == GateMode.AUTO.value,
        on_stall=cast("str | None", asked.get("on_stall")),
        hint=hint,
    )


def _limit(budget: Budget | None, name: str) -> float | None:
    return cast("float | None", getattr(budget, name)) if budget is not None else None
