"""Choose the sandbox of a run's commands."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.real_paths import real_path
from ...sandbox.denied_paths import denied_paths, path_globs
from ...sandbox.hidden_places import HideRules, expand_home
from ...sandbox.sandbox import Sandbox
from ...settings.settings import config_file

if TYPE_CHECKING:
    from ...protocol import GatePolicy, Rule, RunSpec

_FRESH_SECONDS = 60.0
"""Seconds for which a trial tells about this machine as it is now."""


def hide_rules_of(
    gate: GatePolicy,
    runs: Path,
    rules: Callable[[], Sequence[Rule]] | None = None,
    held_out: Sequence[str] = (),
) -> HideRules:
    """Return the places that a run hides from commands and tools. The arguments are those of `detect_sandbox`."""

    def denied(root: Path) -> list[str]:
        return denied_paths(gate.rules if rules is None else rules(), root)

    return HideRules(
        own=(runs, config_file(os.environ).parent),
        hide=expand_home(gate.sandbox.hide),
        show=expand_home(gate.sandbox.show),
        denied=denied,
        held_out=tuple(held_out),
    )


@dataclass(frozen=True, slots=True)
class EarlyTrial:
    """A sandbox that is tried while other things about the run are checked, with its hidden places of that moment."""

    about: tuple[GatePolicy, Path, Path, Sequence[str]]
    """The policy, the workspace, the folder of the journals and the held out files for which it is tried."""
    began: float
    """By the monotonic clock."""
    trying: asyncio.Task[Sandbox]

    def holds_for(self, about: tuple[GatePolicy, Path, Path, Sequence[str]]) -> bool:
        """Return whether it is for this run, and new enough."""
        return self.about == about and time.monotonic() - self.began < _FRESH_SECONDS

    async def give_up(self) -> None:
        """End the trial of a run that does not begin. Its processes have ended when this returns."""
        self.trying.cancel()
        await asyncio.gather(self.trying, return_exceptions=True)


async def try_early(spec: RunSpec, runs: Path, before: EarlyTrial | None = None) -> EarlyTrial:
    """Begin to try the sandbox of a run that has no journal yet, unless `before` holds for it.

    `runs`: the folder of the journals. `before` is ended if it does not hold.
    """
    about = (spec.gate, real_path(spec.workspace), runs, tuple(spec.predicates.holdout_files))
    if before is not None and before.holds_for(about):
        return before
    if before is not None:
        await before.give_up()
    gate, workspace, runs, held_out = about
    trying = asyncio.ensure_future(detect_sandbox(gate, workspace, runs, held_out=held_out))
    return EarlyTrial(about, time.monotonic(), trying)


async def detect_sandbox(
    gate: GatePolicy,
    workspace: Path,
    runs: Path,
    *,
    rules: Callable[[], Sequence[Rule]] | None = None,
    held_out: Sequence[str] = (),
    early: EarlyTrial | None = None,
) -> Sandbox:
    """Return the best sandbox of this machine, with the paths that the run hides.

    `runs`: the folder of the journals. `rules`: returns the present rules of the gate; default: those of the policy.
    `held_out`: globs of the files that only the second check can read. `early`: is used if it is for the same run.
    """
    hide_rules = hide_rules_of(gate, runs, rules, held_out)
    if early is not None and early.holds_for((gate, workspace, runs, tuple(held_out))):
        return (await early.trying).hiding(hide_rules)
    return await Sandbox.detect(
        hide_rules=hide_rules, network=gate.network, hosts=gate.sandbox.hosts, workspace=workspace
    )


def missing_guarantees(sandbox: Sandbox, rules: Sequence[Rule]) -> list[str]:
    """Return short descriptions of what the sandbox does not guarantee here, if it matters under these rules."""
    if sandbox.kind is None:
        return []
    return [one.short for one in sandbox.missing(denied=bool(path_globs(rules)))]
