"""Count what the hooks of runs did, by hook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...protocol import HookPoint

if TYPE_CHECKING:
    from .run_tally import RunHookCount


class HookCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often one hook ran in all runs, and how often it refused or failed."""

    on: HookPoint
    command: str
    times: int
    refused: int
    failed: int
    runs: int


def by_hook(runs: Iterable[Sequence[RunHookCount]]) -> list[HookCount]:
    """Return the counts of all runs, the hook that ran most often first. `runs`: the counts of each run."""
    found: dict[tuple[HookPoint, str], HookCount] = {}
    for run in runs:
        for hook in run:
            key = (hook.on, hook.command)
            known = found.get(key) or HookCount(on=hook.on, command=hook.command, times=0, refused=0, failed=0, runs=0)
            found[key] = msgspec.structs.replace(
                known,
                times=known.times + sum(hook.results.values()),
                refused=known.refused + hook.results.get("refused", 0),
                failed=known.failed + hook.results.get("failed", 0),
                runs=known.runs + 1,
            )
    return sorted(found.values(), key=lambda each: (-each.times, each.on, each.command))
