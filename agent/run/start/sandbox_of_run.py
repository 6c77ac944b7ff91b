"""Choose the sandbox of a run's commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...sandbox.denied_paths import denied_paths, path_globs
from ...sandbox.hidden_places import HideRules, expand_home
from ...sandbox.sandbox import Sandbox
from ...settings.settings import config_file

if TYPE_CHECKING:
    from ...protocol import GatePolicy, Rule


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


async def detect_sandbox(
    gate: GatePolicy,
    workspace: Path,
    runs: Path,
    *,
    rules: Callable[[], Sequence[Rule]] | None = None,
    held_out: Sequence[str] = (),
) -> Sandbox:
    """Return the best sandbox of this machine, with the paths that the run hides.

    `runs`: the folder of the journals. `rules`: returns the present rules of the gate; default: those of the policy.
    `held_out`: globs of the files that only the second check can read.
    """
    hide_rules = hide_rules_of(gate, runs, rules, held_out)
    return await Sandbox.detect(
        hide_rules=hide_rules, network=gate.network, hosts=gate.sandbox.hosts, workspace=workspace
    )


def missing_guarantees(sandbox: Sandbox, rules: Sequence[Rule]) -> list[str]:
    """Return short descriptions of what the sandbox does not guarantee here, if it matters under these rules."""
    if sandbox.kind is None:
        return []
    return [one.short for one in sandbox.missing(denied=bool(path_globs(rules)))]
