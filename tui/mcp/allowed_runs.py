"""What the command line of `rundry mcp` allows its clients, and the limits that it sets for their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from rundry.agent import Budget, GateMode, UserError, parse_duration, parse_money, parse_number

from ..start.run_folders import folder_of, workspace_of

Number = TypeVar("Number", int, float)

LIMITED = ("steps", "tokens", "usd", "seconds")
"""The limits of a run that the command line bounds."""
_WITHIN = {
    GateMode.READ: {GateMode.READ},
    GateMode.ASK: {GateMode.READ, GateMode.ASK},
    GateMode.EFFECTS: {GateMode.READ, GateMode.ASK, GateMode.EFFECTS},
    GateMode.EDITS: {GateMode.READ, GateMode.ASK, GateMode.EDITS},
    GateMode.AUTO: set(GateMode),
    GateMode.STAGE: {GateMode.READ, GateMode.STAGE},
}
"""By the mode: the modes that approve nothing that it does not approve too."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the command line of `rundry mcp` allows clients to do."""

    folders: Sequence[Path]
    """Clients see and start only runs below these folders. Their paths are resolved."""
    journals: Path
    """The folder with the journals."""
    most: Budget
    """The highest limits of one run. A limit that is None does not apply."""
    gate: GateMode
    """The widest mode of the gate."""
    approves: bool
    """Clients can approve and reject proposals."""
    any_run: bool
    """Clients can also control runs that no MCP client started."""
    checks: Sequence[str]
    """The checks of a run, if the client names none. A client can name these without `any_check`."""
    any_check: bool
    """Clients can name any check. It runs in the sandbox, without approval."""
    stops_on_exit: bool
    """The runs of the server stop when it exits."""
    at_once: int
    """Most runs of the server at the same time."""
    starts: int
    """Most runs that the server starts or resumes in its life."""
    usd_asked: bool = False
    """The user set the limit in USD, so a remote model without a known price is refused."""
    flags: Mapping[str, object] = field(default_factory=dict[str, object])
    """Options for the runs that the user set on the command line, such as the model."""

    def covers(self, workspace: str | Path) -> bool:
        """Return whether this resolved folder is one of the allowed ones, or below one."""
        return any(Path(workspace).is_relative_to(folder) for folder in self.folders)

    def is_too_wide(self, mode: GateMode) -> bool:
        """Return whether this mode approves more by itself than the command line allows."""
        return mode not in _WITHIN[self.gate]

    def narrower(self, mode: GateMode) -> GateMode:
        """Return this mode, or the allowed one if it is wider; if neither is within the other, `ask`."""
        if not self.is_too_wide(mode):
            return mode
        return self.gate if self.gate in _WITHIN[mode] else GateMode.ASK

    def bounded(self, budget: Budget) -> Budget:
        """Return the budget with no limit above those of the command line."""
        both = {name: (getattr(budget, name), getattr(self.most, name)) for name in LIMITED}
        least = {name: min((one for one in pair if one is not None), default=None) for name, pair in both.items()}
        return msgspec.structs.replace(budget, **least)


def read_allowed(flags: Mapping[str, object], folders: Sequence[str]) -> Allowed:
    """Read the command line. `folders`: none means the current one. Raises UserError."""
    resolved = [workspace_of({"cwd": folder}, "--folder") for folder in folders or (None,)]
    mode = GateMode(str(flags.get("gate") or GateMode.ASK))
    return Allowed(
        folders=resolved,
        journals=folder_of(flags),
        most=Budget(
            steps=_limit(flags, "max_steps", parse_number),
            tokens=_limit(flags, "max_tokens", parse_number),
            usd=_limit(flags, "max_usd", parse_money),
            seconds=_limit(flags, "max_time", parse_duration),
        ),
        gate=GateMode.AUTO if flags.get("allow_auto") else mode,
        approves=bool(flags.get("allow_approve")),
        any_run=bool(flags.get("any_run")),
        checks=tuple(str(one).strip() for one in cast("Sequence[object]", flags.get("until") or ())),
        any_check=bool(flags.get("allow_checks")),
        stops_on_exit=bool(flags.get("stop_on_exit")),
        at_once=_count(flags, "max_runs"),
        starts=_count(flags, "max_starts"),
        usd_asked=bool(flags.get("usd_asked")),
        flags={name: flags.get(name) for name in ("model", "api_base", "runs_dir")},
    )


def _limit(flags: Mapping[str, object], name: str, parse: Callable[[str], Number | None]) -> Number | None:
    try:
        found = parse(str(flags[name]))
    except UserError as error:
        raise UserError(f"--{name.replace('_', '-')}: {error}") from None
    if found is not None and found <= 0:
        raise UserError(f"--{name.replace('_', '-')} {flags[name]}: a run needs more than 0; write a number or none")
    return found


def _count(flags: Mapping[str, object], name: str) -> int:
    found = flags[name]
    assert isinstance(found, int)  # click checked it
    return found
