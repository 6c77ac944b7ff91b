"""`rundry find --every`: make a run that repeats a search at fixed times. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rundry.agent import (
    LoopKind,
    RepeatSpec,
    RunSpec,
    SearchRequest,
    UserError,
    budget_is_set,
    budget_of,
    parse_duration,
)

from .find_setup import FindSetup
from .new_run import Setup

_LIMITS = ("steps", "tokens", "usd", "time", "deadline")
_LEAST = 1.0
"""Smallest number of seconds between two searches."""


class RepeatSetup(FindSetup):
    """The options of a repeated search. Limits of the command line are for the whole run, those of the file for one."""

    def __init__(self, wanted: SearchRequest, flags: Mapping[str, object], *, headless: bool) -> None:
        """Combine the flags with the spec file, and read the interval. Raises UserError."""
        if flags.get("resume"):
            raise UserError("--resume with --every: use `rundry resume RUN`; `rundry runs` lists the runs")
        self._every = _seconds(str(flags["every"]))
        limits = {name: flags[name] for name in (*_LIMITS, "cwd", "runs_dir") if flags.get(name) is not None}
        self._whole = Setup({**limits, "loop": "chat"}, headless=False, begins=False).settings
        if not budget_is_set(self._whole):
            raise UserError(
                "--every: a run with child runs needs an explicit budget for all searches together: add --steps, "
                "--tokens, --usd, --time or --deadline, with a value other than none"
            )
        own = {name: value for name, value in flags.items() if name not in (*_LIMITS, "every", "resume")}
        super().__init__(wanted, own, headless=headless)

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the whole run. Raises UserError."""
        spec = super().spec(task)
        assert spec.finder is not None  # it is that of a search
        repeat = RepeatSpec(every=self._every, task=spec.task, finder=spec.finder, budget=spec.budget)
        whole = budget_of(self._whole, LoopKind.REPEAT)
        return msgspec.structs.replace(
            spec, loop=LoopKind.REPEAT, finder=None, repeat=repeat, budget=whole, usd_asked=self._whole.is_set("usd")
        )


def _seconds(text: str) -> float:
    seconds = parse_duration(text)
    if seconds is None or seconds < _LEAST:
        raise UserError(f"--every {text}: give a time of at least 1s, such as 6h")
    return seconds
